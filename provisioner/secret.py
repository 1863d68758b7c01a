"""A value that no log, repr or traceback shows."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A password, token or key.

    Attributes:
        _value: The text itself; read it with `reveal` where it is handed over, nowhere else.
    """

    _value: str

    def reveal(self) -> str:
        """The text itself."""
        return self._value

    def __repr__(self) -> str:
        """Three stars, whatever is inside."""
        return "***"

    def __str__(self) -> str:
        """Three stars, whatever is inside."""
        return "***"

    @classmethod
    def of_line(cls, text: str) -> Self:
        """The first line of a secret file, without its line end."""
        return cls(text.partition("\n")[0].rstrip("\r"))
