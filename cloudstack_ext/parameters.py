"""Parameters and answers of CloudStack's API as plain values. Pure."""

from collections.abc import Mapping
from typing import Any

Answer = Mapping[str, Any]
"""What stands inside the answer's one wrapper."""
Value = str | int | bool
Parameters = Mapping[str, Value]


def numbered(name: str, values: Mapping[str, str]) -> dict[str, Value]:
    """A map as CloudStack takes it: `details[0].key`, all keys under one index."""
    return {f"{name}[0].{key}": value for key, value in values.items()}


def listed(name: str, rows: tuple[Mapping[str, str], ...]) -> dict[str, Value]:
    """A list of maps as CloudStack takes it: `parameters[1].name`."""
    return {
        f"{name}[{number}].{key}": value
        for number, row in enumerate(rows)
        for key, value in row.items()
    }
