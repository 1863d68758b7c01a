"""An event loop whose time is its own: a wait ends at once, and it is later then.

For code that waits by asyncio itself (timeouts, events) beside waiting by the clock. What
asyncio hands to a thread runs at once and in order, so a walk is the same each time.
"""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds

P = ParamSpec("P")
R = TypeVar("R")


class _AtOnce(ThreadPoolExecutor):
    """No thread: the call is made where it is handed over."""

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Ended when it returns."""
        done: Future[R] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 as an executor does
            done.set_exception(error)
        return done


class _Jump(selectors.DefaultSelector):
    """Waits for nothing: where the loop would sleep, time passes."""

    passed = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; else it is later."""
        ready = super().select(0)
        if ready or timeout == 0:
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
        self.set_default_executor(_AtOnce(max_workers=1))

    def time(self) -> float:
        """Seconds that were waited."""
        return self._jump.passed


class VirtualClock:
    """ports.Clock of a VirtualLoop.

    Args:
        loop: Whose time it shows.
        wall: What `wall` says at the beginning.
    """

    def __init__(self, loop: VirtualLoop, wall: float = 1_800_000_000.0) -> None:
        self._loop, self._wall = loop, wall

    def wall(self) -> WallSeconds:
        """Where it began, and what was waited since."""
        return WallSeconds(self._wall + self._loop.time())

    def monotonic(self) -> MonotonicSeconds:
        """What was waited."""
        return MonotonicSeconds(self._loop.time())

    async def sleep(self, duration: Seconds) -> None:
        """At once for the test, in its turn for the loop."""
        await asyncio.sleep(duration)
