"""An event loop whose time is its own: a wait ends at once, and it is later then.

For code that waits by asyncio itself (timeouts, events) beside waiting by the clock. What
asyncio hands to a thread runs at once and in order, so a walk is the same each time.
"""

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, TypeVarTuple, Unpack

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds

Ts = TypeVarTuple("Ts")


class _Jump(selectors.DefaultSelector):
    """Waits for nothing: where the loop would sleep, time passes."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; else it is later."""
        if timeout == 0:  # somebody can run: no need to look who else could
            return []
        ready = super().select(0)
        if ready:
            return ready
        if timeout is None:
            raise RuntimeError("everybody waits for something that nobody will do")
        self.passed += timeout
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """Made for one thread; whoever waits for a socket or a child here waits in vain."""

    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        """Seconds that were waited."""
        return self._jump.passed

    def run_in_executor(
        self, executor: object, func: Callable[[Unpack[Ts]], Any], *args: *Ts
    ) -> asyncio.Future[Any]:
        """The call is made where it is handed over; others get their turn before it returns."""
        del executor
        ended = self.create_future()
        settle: Callable[[Any], None] = ended.set_result
        outcome: Any
        try:
            outcome = func(*args)
        except Exception as error:  # noqa: BLE001 as an executor does
            settle, outcome = ended.set_exception, error

        def give_back() -> None:
            if not ended.cancelled():
                settle(outcome)

        self.call_soon(give_back)
        return ended


class VirtualClock:
    """ports.Clock of a VirtualLoop.

    Args:
        loop: Whose time it shows.
        wall: What `wall` says at the beginning.
    """

    def __init__(self, loop: VirtualLoop, wall: float = 1_800_000_000.0) -> None:
        self._loop, self._began, self._set = loop, wall, 0.0

    def wall(self) -> WallSeconds:
        """Where it began, what was waited since, and how far it was set."""
        return WallSeconds(self._began + self._loop.time() + self._set)

    def monotonic(self) -> MonotonicSeconds:
        """Where it began, and what was waited since."""
        return MonotonicSeconds(self._began + self._loop.time())

    def step_wall(self, duration: float) -> None:
        """Set the wall clock forward or back, as an administrator may."""
        self._set += duration

    async def sleep(self, duration: Seconds) -> None:
        """At once for the test, in its turn for the loop."""
        await asyncio.sleep(duration)
