"""Waiting without threads: an event a waiter, one query a second for all of them.

The truth is a row (an arrival, a closed operation); the event only wakes. So a waiter looks
first, then waits, and one round a second finds rows that another process wrote. Rings come
from the listeners' loop while waiters sit in the engine's, hence the loop with each event.
"""

import asyncio
import logging
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from provisioner.errors import RackwrightError
from provisioner.ports.clock import Clock
from provisioner.ports.operations import Effects, Operations
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, OperationId, Seconds

log = logging.getLogger(__name__)

CLOSED = "closed"
"""The arrival that every operation has in the end; it has no row of its own."""

EVERY = 1_000_000

_Waiter = tuple[asyncio.AbstractEventLoop, asyncio.Event]


@dataclass(slots=True)
class Bell:
    """Rings for arrivals and for operations that ended.

    Attributes:
        heard_at: When the agent of an operation last said anything, on the monotonic clock;
            of this process only: after a start an agent gets the whole silence anew.
    """

    effects: Effects
    operations: Operations
    clock: Clock
    heard_at: dict[OperationId, MonotonicSeconds] = field(default_factory=dict)
    _waiters: dict[tuple[OperationId, str], list[_Waiter]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def ring(self, operation: OperationId, what: str) -> None:
        """Record an arrival and wake who waits for it; from any thread, as often as one likes."""
        self.effects.arrived(operation, what)
        self.heard(operation)
        self._wake({(operation, what)})

    def heard(self, operation: OperationId) -> None:
        """The agent of this operation is alive."""
        self.heard_at[operation] = self.clock.monotonic()

    def closed(self, operation: OperationId) -> None:
        """An operation ended: whoever waits for anything of it looks again."""
        self.heard_at.pop(operation, None)
        self._wake({key for key in list(self._waiters) if key[0] == operation})

    async def wait(self, operation: OperationId, what: str, *, until: MonotonicSeconds) -> bool:
        """True when it arrived, or the operation closed, before `until`."""
        loop, event = asyncio.get_running_loop(), asyncio.Event()
        key, waiter = (operation, what), (loop, event)
        self._waiters[key].append(waiter)
        try:
            while True:
                event.clear()  # before the look: a ring during it is not lost
                if await self._there(operation, what):
                    return True
                left = until - self.clock.monotonic()
                if left <= 0:
                    return False
                try:
                    async with asyncio.timeout(left):
                        await event.wait()
                except TimeoutError:
                    return await self._there(operation, what)
        finally:
            self._waiters[key].remove(waiter)
            if not self._waiters[key]:
                del self._waiters[key]

    async def round(self) -> None:
        """Wake all whose row is there; called once a second."""
        waiting = set(self._waiters)
        if not waiting:
            return
        arrivals = await stored(self.effects.arrivals)
        every = partial(self.operations.operations, open_only=True, most=EVERY)
        still_open = {each.id for each in await stored(every)}
        self._wake({key for key in waiting if key in arrivals or key[0] not in still_open})

    async def run(self) -> None:
        """Rounds for as long as the service lives; one that fails is tried again."""
        while True:
            try:
                await self.round()
            except RackwrightError as error:
                log.warning("bell: %s", error)
            await self.clock.sleep(Seconds(1.0))

    async def _there(self, operation: OperationId, what: str) -> bool:
        if what != CLOSED and (operation, what) in await stored(self.effects.arrivals):
            return True
        record = await stored(self.operations.operation, operation)
        return record.status != "open"

    def _wake(self, keys: set[tuple[OperationId, str]]) -> None:
        for key in keys:
            for loop, event in list(self._waiters.get(key, ())):
                if not loop.is_closed():
                    loop.call_soon_threadsafe(event.set)
