"""What goes wrong on purpose: which call, and how. The only way to make the server misbehave."""

import threading
from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """What the caller meets."""

    CUT = "cut"
    """The connection ends without an answer."""
    SILENT = "silent"
    """No answer for `seconds`, then the connection ends."""
    ERROR = "error"
    """HTTP status and errorcode `code`; 401 and 432 with CloudStack's words."""
    NOT_JSON = "not JSON"
    """HTTP status `code` with a page of HTML, as a proxy in between answers."""
    EMPTY = "empty"
    """200 with an empty answer, whatever there is."""
    ENDLESS_JOB = "endless job"
    """The job is begun and never ends."""
    JOB_WITHOUT_RESULT = "job without result"
    """The job ends without one, as after a restart of the management server."""
    JOB_FAILS = "job fails"
    """The job ends with `code` and `text`."""


class When(StrEnum):
    """Before or after the server has done what the call asks."""

    BEFORE = "before"
    AFTER = "after"


JOB_FAULTS = (FaultKind.ENDLESS_JOB, FaultKind.JOB_WITHOUT_RESULT, FaultKind.JOB_FAILS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that goes wrong.

    Attributes:
        call: Of which call: counted from 1 over the server's life; None: of any.
        command: Of which command; None: of any.
        times: How often; None: until it is taken away.
        text: `errortext`; None: CloudStack's own.
    """

    kind: FaultKind
    when: When = When.BEFORE
    call: int | None = None
    command: str | None = None
    times: int | None = 1
    code: int = 530
    text: str | None = None
    seconds: float = 3600.0

    def fits(self, number: int, command: str) -> bool:
        """Whether it is this call's."""
        return self.call in {None, number} and self.command in {None, command}


class Faults:
    """Those that wait for their call; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[Fault, int | None]] = []

    def add(self, fault: Fault) -> None:
        """It meets the next call that fits, and as many more as it says."""
        with self._lock:
            self._waiting.append((fault, fault.times))

    def clear(self) -> None:
        """From now on all goes well."""
        with self._lock:
            self._waiting.clear()

    def take(self, number: int, command: str) -> Fault | None:
        """What this call meets: the first that fits."""
        with self._lock:
            for index, (fault, left) in enumerate(self._waiting):
                if not fault.fits(number, command):
                    continue
                if left is not None:
                    self._waiting[index : index + 1] = [(fault, left - 1)] if left > 1 else []
                return fault
        return None
