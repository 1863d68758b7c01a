"""What a verdict is, and the ways to write one. Pure.

Numbers are those of the contract's table; "seen" and "read" name sections of what was seen on a
running server 4.22 and of what was read from its source.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

OWN: Final = "tests/"
"""What a test's name begins with that is our own; all others are names of conformance checks."""


class Kind(StrEnum):
    """Who keeps it from happening."""

    BEHAVIOUR = "behaviour"
    REGISTRATION = "registration"
    SITE = "site"
    NOT_MET = "cannot be met by an extension"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pitfall:
    """One row.

    Attributes:
        number: As in the contract, or "seen 2.3".
        situation: In a few words.
        kind: The verdict.
        by: Tests (conformance checks by their names, our own as `file::test`); of REGISTRATION
            checks of `verify`; of SITE the settings or checks that it advises on.
        answer: What is done about it, in a sentence.
        source: Of SITE and NOT_MET: what makes it so.
    """

    number: str
    situation: str
    kind: Kind
    by: tuple[str, ...] = ()
    answer: str
    source: str = ""


def behaviour(number: str, situation: str, answer: str, *by: str) -> Pitfall:
    """What the service does keeps it from happening."""
    return Pitfall(number=number, situation=situation, kind=Kind.BEHAVIOUR, answer=answer, by=by)


def registration(number: str, situation: str, answer: str, *by: str) -> Pitfall:
    """A check of `verify` finds it."""
    return Pitfall(number=number, situation=situation, kind=Kind.REGISTRATION, answer=answer, by=by)


def elsewhere(
    number: str, situation: str, kind: Kind, answer: str, source: str, *by: str
) -> Pitfall:
    """Nothing of ours can: the site is advised, or it cannot be met."""
    return Pitfall(
        number=number, situation=situation, kind=kind, answer=answer, source=source, by=by
    )
