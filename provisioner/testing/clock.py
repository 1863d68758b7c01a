"""A clock that tests own: time passes only while everybody sleeps."""

import asyncio
import heapq
import itertools

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds

SETTLE_ROUNDS = 20
"""Rounds of the event loop that runnable tasks get before time moves on."""


class FakeClock:
    """ports.Clock without waiting: the earliest sleeper wakes next, and time is then.

    Made for code whose every wait is a sleep on this clock. A task that waits for a socket, a
    thread or a child looks asleep for ever, and time runs past it.

    Args:
        wall: What `wall` says at the beginning.
        settle_s: Real seconds that threads get before time moves on, each time; 0 where nobody
            waits for a thread.
    """

    def __init__(self, wall: float = 1_800_000_000.0, *, settle_s: float = 0.0) -> None:
        self._began, self._set, self._passed, self._settle_s = wall, 0.0, 0.0, settle_s
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._pacer: asyncio.Task[None] | None = None

    def wall(self) -> WallSeconds:
        """Where it began, what passed since, and how far it was set."""
        return WallSeconds(self._began + self._passed + self._set)

    def monotonic(self) -> MonotonicSeconds:
        """Where it began, and what passed since."""
        return MonotonicSeconds(self._began + self._passed)

    def advance(self, duration: float) -> None:
        """Let time pass by hand, for code that does not sleep; sleepers wake when next run."""
        self._passed += duration

    def step_wall(self, duration: float) -> None:
        """Set the wall clock forward or back, as an administrator may."""
        self._set += duration

    async def sleep(self, duration: Seconds) -> None:
        """Return when all that sleeps less has woken and done its work."""
        if duration <= 0:
            await asyncio.sleep(0)
            return
        loop = asyncio.get_running_loop()
        woken = loop.create_future()
        heapq.heappush(self._sleepers, (self._passed + duration, next(self._order), woken))
        if self._pacer is None or self._pacer.done() or self._pacer.get_loop() is not loop:
            self._pacer = loop.create_task(self._pace())
        await woken

    async def _pace(self) -> None:
        while self._sleepers:
            await asyncio.sleep(self._settle_s)
            for _ in range(SETTLE_ROUNDS):
                await asyncio.sleep(0)
            while self._sleepers and self._sleepers[0][2].done():  # its task was cancelled
                heapq.heappop(self._sleepers)
            if self._sleepers:
                due, _, woken = heapq.heappop(self._sleepers)
                self._passed = max(self._passed, due)
                woken.set_result(None)
