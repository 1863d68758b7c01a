"""Parameters of one call, checked against the command's list; pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.commands import Command, ParameterType

_ENTRY = re.compile(r"([^\[]+)\[(\d+)\]\.(.+)", re.DOTALL)
_NUMBERS = (ParameterType.INTEGER, ParameterType.LONG, ParameterType.SHORT)
_LENGTHS: Mapping[str, Mapping[str, int]] = {
    "addAnnotation": {"annotation": 255},
    "createExtension": {"description": 255, "path": 255},
}
"""Most characters. Source: seen (annotation); listApis of createExtension."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """What was given, of what the command knows: CloudStack drops the rest without a word.

    Attributes:
        texts: By name in lower case.
        entries: Of each map, its indices in order: `details[0].a=1` is {"details": [{"a": "1"}]}.
    """

    command: str
    texts: Mapping[str, str]
    entries: Mapping[str, tuple[Mapping[str, str], ...]]

    def text(self, name: str) -> str | None:
        """None where it was not given."""
        return self.texts.get(name)

    def needed(self, name: str) -> str:
        """A required one, which `read_values` has seen."""
        return self.texts[name]

    def number(self, name: str) -> int | None:
        """None where it was not given, or is empty."""
        text = self.texts.get(name)
        return int(text) if text else None

    def flag(self, name: str) -> bool | None:
        """Java's reading: whatever is not "true" is false."""
        text = self.texts.get(name)
        return None if text is None else text.lower() == "true"

    def words(self, name: str) -> tuple[str, ...] | None:
        """A list's elements; () where it is empty."""
        text = self.texts.get(name)
        return None if text is None else tuple(each for each in text.split(",") if each)

    def map(self, name: str) -> dict[str, str] | None:
        """All entries of a map as one; None where none was given."""
        entries = self.entries.get(name)
        return (
            None
            if entries is None
            else {key: text for each in entries for key, text in each.items()}
        )

    def rows(self, name: str) -> tuple[Mapping[str, str], ...] | None:
        """A map whose entries are objects of their own."""
        return self.entries.get(name)


def read_values(command: Command, given: Mapping[str, str]) -> Values:
    """What a call says.

    Raises:
        RefusalError: 431: a required one is not there, a number is none, a text is too long.
    """
    texts: dict[str, str] = {}
    entries: dict[str, dict[int, dict[str, str]]] = {}
    for name, text in given.items():
        entry = _ENTRY.fullmatch(name)
        if entry is None:
            texts[name.lower()] = text
        else:
            rows = entries.setdefault(entry[1].lower(), {})
            rows.setdefault(int(entry[2]), {})[entry[3]] = text
    for parameter in command.parameters.values():
        if parameter.required and parameter.name not in texts | entries:
            raise refusals.missing(command.name, parameter.name)
        text = texts.get(parameter.name, "")
        if parameter.type in _NUMBERS and text and not re.fullmatch(r"[+-]?\d+", text):
            raise refusals.bad_value(command.name, parameter.name, text)
        most = _LENGTHS.get(command.name, {}).get(parameter.name)
        if most is not None and len(text) > most:
            raise refusals.too_long(command.name, parameter.name, most)
    known = command.parameters
    return Values(
        command=command.name,
        texts={name: text for name, text in texts.items() if name in known},
        entries={
            name: tuple(rows[index] for index in sorted(rows))
            for name, rows in entries.items()
            if name in known
        },
    )
