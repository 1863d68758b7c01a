"""Calls to one controller: bounded in time, journaled, counted, repeated while it is busy."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.operations.breaker import Breaker, Credentials
from provisioner.ports.clock import Clock
from provisioner.ports.journal import CallJournal
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, Seconds, ServerName

log = logging.getLogger(__name__)
T = TypeVar("T")

SHORTEST_LIMIT_S = 1.0
STRAGGLER_S = 2.0
"""How long a call that was given up may take to end, before it keeps its controller fenced."""
BUSY_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 8.0, 8.0)
"""Some controllers are busy for 20 s after a job of their own."""


@dataclass(slots=True, kw_only=True)
class ControllerCalls:
    """How one conversation calls.

    Attributes:
        where: The controller, for messages.
        limit: For one call, whatever the library waits for; infinite where time is made up.
        journal: None: the calls are not noted.
        stragglers: Calls that were given up and have not ended: a thread cannot be killed.
    """

    server: ServerName
    where: str
    credentials: Credentials
    breaker: Breaker
    clock: Clock
    journal: CallJournal | None
    limit: Seconds
    jitter: Callable[[], float]
    stragglers: set[asyncio.Task[Any]] = field(default_factory=set)

    async def make(
        self,
        text: str,
        call: Callable[[], Awaitable[T]],
        *,
        until: MonotonicSeconds | None = None,
        longest: Seconds | None = None,
    ) -> T:
        """Call; again while the controller says that it is busy, and for no other reason.

        Args:
            text: The call in one line.
            call: Made at most seven times.
            until: Neither the call nor its repetition goes on after it.
            longest: For a call that is many requests, where that is more than `limit`.

        Raises:
            RackwrightError: As the controller said; CONTROLLER_BREAKER without a call.
        """
        for pause in BUSY_PAUSES_S:
            try:
                return await self._once(text, call, until, longest)
            except TransientError as error:
                if error.code is not ErrorCode.CONTROLLER_BUSY or self._past(until, pause):
                    raise
            await self.clock.sleep(Seconds(pause * (0.75 + self.jitter() / 2.0)))
        return await self._once(text, call, until, longest)

    async def note(self, text: str, outcome: str) -> None:
        """Into the journal."""
        if self.journal is not None:
            await stored(self.journal.call, self.server, "controller", text, outcome)

    async def within(self, limit: Seconds, call: Awaitable[T]) -> T:
        """The result, or CONTROLLER_UNREACHABLE at the limit; the call is ended or remembered."""
        if math.isinf(limit):
            return await call
        task = asyncio.ensure_future(call)
        timer = asyncio.ensure_future(self.clock.sleep(limit))
        try:
            await asyncio.wait({task, timer}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            timer.cancel()
            if not task.done():
                await self._give_up(task)
        raise TransientError(
            ErrorCode.CONTROLLER_UNREACHABLE, f"{self.where} did not answer within {limit:.0f} s"
        )

    def when_all_ended(self, then: Callable[[], None]) -> None:
        """Now, or when the last call that was given up has ended: until then nobody may act."""
        waiting = {task for task in self.stragglers if not task.done()}
        if not waiting:
            then()
            return
        log.warning("%s stays fenced: a call that was given up still runs", self.where)

        def ended(task: "asyncio.Task[Any]") -> None:
            waiting.discard(task)
            if not task.cancelled():
                task.exception()
            if not waiting:
                then()

        for task in tuple(waiting):
            task.add_done_callback(ended)

    async def _once(
        self,
        text: str,
        call: Callable[[], Awaitable[T]],
        until: MonotonicSeconds | None,
        longest: Seconds | None,
    ) -> T:
        self.breaker.check(self.where, self.credentials)
        limit = max(float(self.limit), longest or 0.0)
        if until is not None and not math.isinf(limit):
            limit = max(SHORTEST_LIMIT_S, min(limit, until - self.clock.monotonic()))
        try:
            result = await self.within(Seconds(limit), call())
        except RackwrightError as error:
            self.breaker.failed(error, self.credentials)
            await self.note(text, str(error))
            raise
        self.breaker.answered()
        await self.note(text, "ok")
        return result

    def _past(self, until: MonotonicSeconds | None, pause: float) -> bool:
        return until is not None and self.clock.monotonic() + pause >= until

    async def _give_up(self, task: "asyncio.Future[Any]") -> None:
        task.cancel()
        await asyncio.wait({task}, timeout=STRAGGLER_S)
        if not task.done():
            assert isinstance(task, asyncio.Task)
            self.stragglers.add(task)
