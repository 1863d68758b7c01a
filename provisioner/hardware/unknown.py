"""What no text says is a value of its own: neither None, which is "there is none", nor zero.

Standard library only.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A fact that is not known.

    Attributes:
        unknown: Why not, in a few words.
    """

    unknown: str


NOT_SAID: Final = Unknown(unknown="no text says it")
MALFORMED: Final = Unknown(unknown="what the text says cannot be read")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A text that is not what it should be.

    Attributes:
        path: The file on the host, or the command, with the line where it has many.
        text: What was expected there.
    """

    path: str
    text: str


Complain = Callable[[str, str], None]
"""Takes path and text of a problem; reading goes on."""


def known(value: T | Unknown) -> T | None:
    """The value, or None where it is not known: where both lead to the same."""
    return None if isinstance(value, Unknown) else value


def of_optional(value: T | None) -> T | Unknown:
    """Not said where there is nothing."""
    return NOT_SAID if value is None else value
