"""The commands of CloudStack's API with their parameters, as a real server listed them; pure.

Source: `commands.json`, from listApis of a management server 4.22 as Root Admin: 152 of its 730
commands; descriptions are shortened there.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from typing import Any


class ParameterType(StrEnum):
    """As listApis names them."""

    BOOLEAN = "boolean"
    DATE = "date"
    INTEGER = "integer"
    LIST = "list"
    LONG = "long"
    MAP = "map"
    SHORT = "short"
    STRING = "string"
    UUID = "uuid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter; `name` is written in lower case."""

    name: str
    type: ParameterType
    required: bool
    description: str
    since: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command.

    Attributes:
        roles: Which of "admin", "domainadmin" and "user" have it with the default roles.
    """

    name: str
    is_async: bool
    description: str
    since: str | None
    roles: frozenset[str]
    parameters: Mapping[str, Parameter]

    @property
    def wrapper(self) -> str:
        """The one key of its answers."""
        return f"{self.name.lower()}response"


@cache
def known_commands() -> Mapping[str, Command]:
    """All of the list, by name."""
    text = resources.files(__package__).joinpath("commands.json").read_text()
    return {name: _command(name, entry) for name, entry in json.loads(text).items()}


def _command(name: str, entry: Mapping[str, Any]) -> Command:
    parameters = [_parameter(each) for each in entry["params"]]
    return Command(
        name=name,
        is_async=entry["async"],
        description=entry["description"],
        since=entry.get("since"),
        roles=frozenset(entry["roles"]),
        parameters={each.name: each for each in parameters},
    )


def _parameter(entry: Mapping[str, Any]) -> Parameter:
    return Parameter(
        name=entry["name"],
        type=ParameterType(entry["type"]),
        required=entry.get("required", False),
        description=entry.get("description", ""),
        since=entry.get("since"),
    )
