"""One place in a payload: its value, its path, and what may be asked of it.

Pure. Lenient on what nobody asks for, strict on what is asked: a wrong type is an InputError
that names the path. Absent and null are the same: Gson leaves nulls out.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from provisioner.errors import ErrorCode, InputError

_KINDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a number"}


@dataclass(frozen=True, slots=True)
class Field:
    """A value with its path; nothing below it was looked at yet.

    Attributes:
        value: As the JSON parser gave it; None where the payload has nothing here.
        path: As a person writes it: `cloudstack.vm.details.nics[0].mac`.
    """

    value: object
    path: str = ""

    def __getitem__(self, key: str) -> "Field":
        """A member; of something absent every member is absent."""
        if self.value is None:
            return Field(None, self._below(key))
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return Field(self.value.get(key), self._below(key))

    def has(self, key: str) -> bool:
        """Whether the key is there, null included."""
        return isinstance(self.value, dict) and key in self.value

    def items(self) -> tuple["Field", ...]:
        """The elements of a list; of something absent none."""
        if self.value is None:
            return ()
        if not isinstance(self.value, list):
            self.refuse("a list")
        return tuple(Field(each, f"{self.path}[{n}]") for n, each in enumerate(self.value))

    def text(self, *, most: int = 255) -> str | None:
        """A text of printable characters in one line, or None."""
        value = self.lines(most=most)
        if value is not None and not value.isprintable():
            self.refuse("printable characters in one line")
        return value

    def lines(self, *, most: int) -> str | None:
        """A text of any characters, or None."""
        if self.value is None:
            return None
        if not isinstance(self.value, str):
            self.refuse("a text")
        if len(self.value) > most:
            self.refuse(f"at most {most} characters")
        return self.value

    def matching(self, pattern: re.Pattern[str], what: str) -> str | None:
        """A text that matches as a whole, or None."""
        value = self.text()
        if value is not None and not pattern.fullmatch(value):
            self.refuse(what)
        return value

    def number(self, least: int, most: int) -> int | None:
        """A whole number in this range, or None."""
        if self.value is None:
            return None
        if type(self.value) is not int:  # true is an int to Python, not to us
            self.refuse("a whole number")
        if not least <= self.value <= most:
            self.refuse(f"{least} to {most}")
        return self.value

    def truth(self) -> bool:
        """True or false; absent is false."""
        if self.value is None:
            return False
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def must(self, value: str | None, what: str) -> str:
        """The value, which has to be there."""
        if value is None:
            self.refuse(what)
        return value

    def refuse(self, wanted: str) -> NoReturn:
        """Say what was wanted here and what kind of thing was found; never the value itself."""
        found = "nothing" if self.value is None else _KINDS.get(type(self.value), "a number")
        text = f"{self.path or 'the payload'}: wanted {wanted}, found {found}"
        raise InputError(ErrorCode.PAYLOAD_FIELD, text)

    def _below(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key
