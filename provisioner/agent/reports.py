"""Progress and journal on their way to the service, in a thread of their own.

Standard library only.
"""

import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from provisioner.agent.calls import CONFLICT, Calls, Pace, RefusedError
from provisioner.agent.connection import LOST

_MOST_JOURNAL_BYTES = 48 << 10
_MOST_LINE = 1000
_MOST_LINES = 2000
_ESCAPED = 6
"""Bytes that JSON may need for one character."""


@dataclass(slots=True, kw_only=True)
class _Running:
    """The order that reports belong to.

    Attributes:
        waiting: Newest progress of each disk that has not gone out.
        last: What went out last, sent again as a sign of life.
    """

    number: int
    epoch: int
    sent_at: float
    waiting: dict[str, dict[str, Any]] = field(default_factory=dict)
    last: dict[str, Any] | None = None
    revoked: bool = False


class Reports:
    """Thread-safe. Whoever reports never waits for the network."""

    def __init__(self, calls: Calls, pace: Pace) -> None:
        """Nothing runs yet."""
        self._calls = calls
        self._pace = pace
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._lines: deque[str] = deque(maxlen=_MOST_LINES)

    def begin(self, number: int, epoch: int) -> None:
        """Progress belongs to this order from now on."""
        with self._lock:
            self._running = _Running(number=number, epoch=epoch, sent_at=time.monotonic())

    def end(self) -> None:
        """Send what waits, each once, and report no more."""
        self.send(most=_MOST_LINES)
        with self._lock:
            self._running = None

    def is_revoked(self) -> bool:
        """The service has closed the order that runs."""
        running = self._running
        return running is not None and running.revoked

    def progress(self, disk: str, done_bytes: int, total_bytes: int, note: str) -> None:
        """Keep it for the next round, in the place of an older one of the same disk."""
        body = {
            "disk": disk or None,
            "done_bytes": done_bytes,
            "total_bytes": total_bytes,
            "note": note[:_MOST_LINE],
        }
        with self._lock:
            if self._running is not None:
                self._running.waiting[disk] = body

    def journal(self, line: str) -> None:
        """Print it on the console, and keep it for the next round."""
        clean = "".join(each if each.isprintable() else "?" for each in line[:_MOST_LINE])
        up = time.clock_gettime(time.CLOCK_BOOTTIME)
        print(f"agent [{up:.2f}] {clean}", flush=True)  # noqa: T201 the console is its log
        with self._lock:
            self._lines.append(clean)

    def send_for_ever(self) -> None:
        """The reporting thread: one progress a round, which makes at most two a second."""
        while True:
            time.sleep(self._pace.report)
            self.send(most=1)

    def send(self, *, most: int) -> None:
        """Send journal lines and waiting progress; what is lost stays for the next round."""
        try:
            self._send_lines()
            for _ in range(most):
                if not self._send_progress():
                    break
        except (*LOST, RefusedError):
            pass  # the loop makes the same calls, and knows what to do about refusals

    def _send_lines(self) -> None:
        with self._lock:
            lines, size = [], 0
            while self._lines and size < _MOST_JOURNAL_BYTES:
                lines.append(self._lines.popleft())
                size += len(lines[-1]) * _ESCAPED
        sent = not lines
        try:
            if lines:
                self._calls.once("POST", "/agent/v1/journal", {"lines": lines})
                sent = True
        finally:
            if not sent:
                with self._lock:
                    self._lines.extendleft(reversed(lines))

    def _send_progress(self) -> bool:
        """Whether there was one that waited."""
        with self._lock:
            running = self._running
            if running is None or running.revoked:
                return False
            disk = next(iter(running.waiting), None)
            body = running.last if disk is None else running.waiting.pop(disk)
            if disk is None and time.monotonic() - running.sent_at < self._pace.beat:
                return False
        body = body or {"disk": None, "done_bytes": 0, "total_bytes": 0, "note": ""}
        head = {"order": running.number, "epoch": running.epoch}
        try:
            answer = self._calls.once("POST", "/agent/v1/progress", {**head, **body})
        except (*LOST, RefusedError):
            with self._lock:
                if disk is not None:
                    running.waiting.setdefault(disk, body)
            raise
        with self._lock:
            running.last, running.sent_at = body, time.monotonic()
            running.revoked |= answer.status == CONFLICT
        return disk is not None
