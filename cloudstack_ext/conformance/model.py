"""What a check is, and how it ends. Pure but for the registry that the checks' modules fill."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from cloudstack_ext.management_server.entry_point import Called

if TYPE_CHECKING:
    from cloudstack_ext.conformance.stage import Stage

Act = Callable[["Stage"], Awaitable[None]]
SHOWN_MOST = 200
"""Characters of an output in a verdict."""


class Outcome(StrEnum):
    """How a check ended; NOT_JUDGED: the extension gave no occasion to see it."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_JUDGED = "not judged"


class FailedError(Exception):
    """The extension did not do what the check wants; its text says what was seen."""


class NotJudgedError(Exception):
    """There was nothing to judge; its text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One test of the suite.

    Attributes:
        name: In the words of its function.
        pitfalls: Numbers of the contract's table of pitfalls, and sections of what was seen on a
            running server, as "seen i.3", or read from source, as "read 2.12".
        act: Raises FailedError or NotJudgedError.
        why: What a management server would do with the wrong answer.
    """

    name: str
    pitfalls: tuple[str, ...]
    act: Act
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Of one check; `detail` is "" where it passed."""

    name: str
    outcome: Outcome
    pitfalls: tuple[str, ...]
    detail: str


CHECKS: list[Check] = []
"""In the order in which they run."""


def check(*pitfalls: str) -> Callable[[Act], Act]:
    """Put a function into the suite, under its own name and with its docstring as the reason."""

    def put(act: Act) -> Act:
        name = act.__name__.replace("_", " ")
        why = " ".join((act.__doc__ or "").split())
        CHECKS.append(Check(name=name, pitfalls=pitfalls, act=act, why=why))
        return act

    return put


def must(truth: bool, what: str) -> None:  # noqa: FBT001 reads as a sentence
    """Raise FailedError unless it is so."""
    if not truth:
        raise FailedError(what)


def must_succeed(called: Called, what: str) -> None:
    """Exit 0 before the end of its wait."""
    must(not called.failure, f"{what}: wanted exit 0, got {shown(called)}")


def must_fail(called: Called, what: str) -> None:
    """Any other exit, by itself: what is killed at the end of its wait said nothing."""
    clear = bool(called.failure) and called.exit is not None
    must(clear, f"{what}: wanted a failure of its own, got {shown(called)}")


def shown(called: Called) -> str:
    """How it ended, in one line."""
    if called.exit is None or called.held:
        return called.failure
    return f"exit {called.exit}, {' '.join(called.output.split())[:SHOWN_MOST]!r}"
