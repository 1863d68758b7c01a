"""Reads the power of all servers, again and again, and notices one that runs and must not."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from provisioner.about import about
from provisioner.errors import ErrorCode, OperatorError, RackwrightError
from provisioner.operations.conversation import Conversations
from provisioner.ports.clock import Clock
from provisioner.ports.operations import Operations
from provisioner.ports.servers import Servers
from provisioner.secret import Secret
from provisioner.servers.model import Power, PowerReading, ServerRecord, State
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, Seconds, ServerName

log = logging.getLogger(__name__)

SOURCE = "loop"
AT_ONCE = 100
"""Controllers asked at the same time."""
LOOK_LIMIT_S = 8.0
"""Less than `delete` has for its fence: the loop holds no controller for longer."""
EARLY_S = 0.5
"""A server whose time comes so soon is read now."""
ALL = 1_000_000
MOVING = frozenset(
    {State.VERIFYING, State.INSPECTING, State.CLEANING, State.DEPLOYING, State.RELEASING}
)
OWNED = frozenset({State.RESERVED, State.DEPLOYING, State.ACTIVE, State.RESCUE})
"""States of a server that a tenant has; in each other one a dirty server must be off."""

Stray = Callable[[ServerRecord], Awaitable[None]]


class PowerLoop:
    """Rounds over all verified servers.

    Args:
        servers: Where servers come from and readings go.
        operations: A server with an open one is read more often, and is never a stray.
        conversations: Shared with the operations: a controller that one of them speaks with is
            left out of the round.
        clock: Time.
        every: Between two readings of a server at rest.
        every_moving: The same in transition; also the time of a round.
        on_stray: Told of each dirty server without an owner or operation that was seen on
            (invariant 4); must switch it off, and may be told again.
    """

    def __init__(
        self,
        *,
        servers: Servers,
        operations: Operations,
        conversations: Conversations,
        clock: Clock,
        every: Seconds,
        every_moving: Seconds,
        on_stray: Stray,
    ) -> None:
        self._servers, self._operations = servers, operations
        self._conversations, self._clock = conversations, clock
        self._every, self._every_moving, self._on_stray = every, every_moving, on_stray
        self._read_at: dict[ServerName, float] = {}
        self._places = asyncio.Semaphore(AT_ONCE)

    async def run(self) -> None:
        """For as long as the service lives; a round that fails is tried again."""
        while True:
            began = self._clock.monotonic()
            try:
                await self.round()
            except RackwrightError as error:
                log.warning("power loop: %s", error)
            passed = self._clock.monotonic() - began
            await self._clock.sleep(Seconds(max(EARLY_S, self._every_moving - passed)))

    async def round(self) -> Mapping[ServerName, PowerReading]:
        """Read who is due, all at once; what was read, stored in one transaction."""
        busy = await self._with_operation()
        due = [each for each in await stored(self._servers.servers) if self._is_due(each, busy)]
        passwords = await stored(self._passwords, due)
        looked = await asyncio.gather(*(self._look_at(each, passwords[each.name]) for each in due))
        readings = {
            server.name: reading
            for server, reading in zip(due, looked, strict=True)
            if reading is not None
        }
        if readings:
            await stored(self._servers.note_readings, readings)
        await self._tell_of_strays(readings)
        return readings

    async def _with_operation(self) -> frozenset[ServerName]:
        ask = partial(self._operations.operations, open_only=True, most=ALL)
        return frozenset(each.server for each in await stored(ask))

    def _is_due(self, server: ServerRecord, busy: frozenset[ServerName]) -> bool:
        if server.driver is None or server.state is State.RETIRED:
            return False
        moving = server.name in busy or server.state in MOVING
        pause = self._every_moving if moving else self._every
        last = self._read_at.get(server.name)
        return last is None or self._clock.monotonic() - last >= pause - EARLY_S

    def _passwords(
        self, servers: Iterable[ServerRecord]
    ) -> dict[ServerName, Secret | OperatorError]:
        """One that cannot be opened keeps no other server from being looked at."""
        found: dict[ServerName, Secret | OperatorError] = {}
        for each in servers:
            try:
                found[each.name] = self._servers.password(each.name)
            except OperatorError as error:
                found[each.name] = error
        return found

    async def _look_at(
        self, server: ServerRecord, password: Secret | OperatorError
    ) -> PowerReading | None:
        with about(server=server.name):
            return await self._look(server, password)

    async def _look(
        self, server: ServerRecord, password: Secret | OperatorError
    ) -> PowerReading | None:
        async with self._places:
            # nothing is awaited between this question and the turn
            if self._conversations.is_taken(server):
                return None
            self._read_at[server.name] = self._clock.monotonic()
            at = self._clock.monotonic()
            if isinstance(password, OperatorError):
                return _unknown(at, str(password))
            try:
                async with self._conversations.to(
                    server, password, source=SOURCE, quiet=True
                ) as talk:
                    return await talk.power(until=MonotonicSeconds(at + LOOK_LIMIT_S))
            except RackwrightError as error:
                why = str(error)
            except Exception as error:  # one controller's answer must not end the loop of all
                log.exception("reading %s", server.name)
                why = f"{ErrorCode.INTERNAL}: {type(error).__name__}"
            return _unknown(at, why)

    async def _tell_of_strays(self, readings: Mapping[ServerName, PowerReading]) -> None:
        on = [name for name, reading in readings.items() if reading.power is Power.ON]
        if not on:
            return
        busy = await self._with_operation()
        strays = {each.name for each in await stored(self._servers.servers) if is_stray(each)}
        for name in on:
            if name not in strays:  # most are somebody's: one look at all tells it
                continue
            server = await stored(self._servers.server, name)
            if readings[name].is_overtaken_by(server.power):  # invariant 8
                continue
            if is_stray(server) and name not in busy:
                log.warning("%s runs without an owner and is dirty", name, extra={"server": name})
                await self._tell_of(server)

    async def _tell_of(self, server: ServerRecord) -> None:
        """One that cannot be acted upon now is seen again in the next round; so are the others."""
        try:
            await self._on_stray(server)
        except RackwrightError as error:
            log.warning("is not switched off: %s", error, extra={"server": server.name})


def _unknown(at: MonotonicSeconds, why: str) -> PowerReading:
    return PowerReading(power=Power.UNKNOWN, at=at, source=SOURCE, why=why)


def is_stray(server: ServerRecord) -> bool:
    """On, this server must be switched off: dirty, nobody's, and not found on at enrolment."""
    untouched = server.state is State.ENROLLED and server.found_on
    return server.dirty and server.state not in OWNED and not untouched
