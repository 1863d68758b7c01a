"""The log of calls: one JSON line each, without secrets."""

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

_HIDDEN = frozenset({"password", "userdata", "secretkey"})
_LEFT_OUT = frozenset({"command", "response", "apikey", "signature", "signatureversion", "expires"})
HIDDEN = "***"


class Outcome(StrEnum):
    """How a call ended."""

    ANSWERED = "answered"
    REFUSED = "refused"
    CUT_BEFORE = "cut before"
    """The caller got no answer, and nothing was done."""
    CUT_AFTER = "cut after"
    """The caller got no answer, and all was done."""
    FALSE = "false answer"
    """A fault answered; `acted` says whether anything was done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call.

    Attributes:
        number: From 1, in the order in which the calls came.
        at: Seconds since 1970.
        account: Of the key; None: it was nobody's.
        acted: Whether the server did what was asked.
        error: `errorcode` of the answer; None: there is none.
        job: Id of the job that it began.
    """

    number: int
    at: float
    command: str
    parameters: Mapping[str, str]
    account: str | None
    outcome: Outcome
    acted: bool
    error: int | None = None
    job: str | None = None


class Calls:
    """All calls since the start.

    Args:
        path: Gets a line a call, appended; None: no file.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._number = 0
        self._records: list[CallRecord] = []

    def next_number(self) -> int:
        """Of a call that has just come."""
        with self._lock:
            self._number += 1
            return self._number

    def add(self, record: CallRecord) -> None:
        """Once it is decided how it ends: before the caller can know it."""
        with self._lock:
            self._records.append(record)
            if self.path is not None:
                line = json.dumps(asdict(record), sort_keys=True) + "\n"
                handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
                with os.fdopen(handle, "w") as file:
                    file.write(line)

    def all(self) -> tuple[CallRecord, ...]:
        """In the order in which they ended."""
        with self._lock:
            return tuple(self._records)

    def named(self, command: str) -> tuple[CallRecord, ...]:
        """Of one command."""
        return tuple(each for each in self.all() if each.command == command)


def shown(parameters: Mapping[str, str]) -> dict[str, str]:
    """Without what every call has, and with secrets hidden."""
    return {
        name: HIDDEN if name.lower() in _HIDDEN else text
        for name, text in parameters.items()
        if name.lower() not in _LEFT_OUT
    }
