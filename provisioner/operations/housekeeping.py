"""What ends by itself: reservations, the grace of a stop, and operations nobody will run."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from provisioner.about import about
from provisioner.errors import ConflictError, ErrorCode, RackwrightError
from provisioner.operations.bell import EVERY
from provisioner.operations.doors import Records
from provisioner.operations.machines import BareMetal
from provisioner.operations.port_steps import TO_NOWHERE
from provisioner.operations.quarantine import CUT_OFF, QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.runner import Follow
from provisioner.operations.steps import StepList, new_operation
from provisioner.ports.clock import Clock
from provisioner.servers.allocation import Allocation, Phase
from provisioner.servers.model import Power, ServerRecord, State
from provisioner.servers.operation import OperationRecord, Outcome, Status
from provisioner.servers.states import FOLLOWS, Ending, Intent
from provisioner.store.waiting import stored
from provisioner.units import OperationId, Seconds, WallSeconds

log = logging.getLogger(__name__)
ROUND_S = Seconds(5.0)
FORGET_EVERY_S = 3600.0
DAY_S = 86400.0
KEPT_S = 30 * DAY_S
LOOK_EVERY_S = 60.0
AGAIN_S = 300.0
"""From when a failed quarantine is first seen to the next try."""

CUTS_OFF = {State.QUARANTINED: QUARANTINE, State.ACTIVE: CUT_OFF}
"""By what a server in this state is switched off and cut off, where nothing may run on it."""

Forget = Callable[[WallSeconds], int]
"""Deletes what is older than that moment; how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Something that is kept for a number of days."""

    what: str
    days: int
    forget: Forget


@dataclass(slots=True)
class Housekeeping:
    """Rounds of a few seconds; each change is a whole move of its own.

    Attributes:
        forget: Some of what the durable engine remembers.
        kept: What an administrator said how long to keep.
    """

    records: Records
    machines: BareMetal
    clock: Clock
    forget: Forget
    kept: tuple[Kept, ...] = ()
    _forgot_at: float = 0.0
    _looked_at: float = 0.0
    _failed: dict[OperationId, float] = field(default_factory=dict)

    async def run(self) -> None:
        """For as long as the service lives; a round that fails is tried again."""
        while True:
            try:
                await self.round()
            except RackwrightError as error:
                log.warning("housekeeping: %s", error)
            await self.clock.sleep(ROUND_S)

    async def round(self) -> None:
        """End what is over."""
        if self.machines.held:
            return
        await self._forget()
        await self._quarantine_again()
        for allocation in await stored(self.records.allocations.living):
            reason = self._over(allocation)
            if reason:
                key = allocation.key
                with about(site=key.site, instance=key.instance, server=allocation.server):
                    await self._try_to_end(allocation, reason)

    async def _forget(self) -> None:
        """The durable engine's rows of what ended long ago, and what is kept for days only."""
        now = self.clock.monotonic()
        if now - self._forgot_at >= FORGET_EVERY_S:
            self._forgot_at = now
            wall = self.clock.wall()
            await asyncio.to_thread(self.forget, WallSeconds(wall - KEPT_S))
            for each in self.kept:
                await self._let_go(each, WallSeconds(wall - each.days * DAY_S))

    async def _let_go(self, kept: Kept, before: WallSeconds) -> None:
        try:
            gone = await asyncio.to_thread(kept.forget, before)
        except (OSError, RackwrightError) as error:  # tried again in an hour
            log.warning("housekeeping: %s stay: %s", kept.what, error)
        else:
            if gone:
                log.info("%d %s older than %d days are gone", gone, kept.what, kept.days)

    async def _quarantine_again(self) -> None:
        """A quarantine that failed has left a server perhaps running, perhaps connected (5).

        So has what cuts a server off after a failed reinstall, reseed or rescue of its tenant.
        One that did all but see it off waits until a controller says again how it is.
        """
        now = self.clock.monotonic()
        if now - self._looked_at < LOOK_EVERY_S:
            return
        self._looked_at = now
        for server in await stored(self.records.servers.servers):
            steps = CUTS_OFF.get(server.state)
            if steps is not None and await self._is_to_be_tried(server, steps):
                log.warning("%s again", steps.name, extra={"server": server.name})
                new = new_operation(steps, "housekeeping: the last one failed")
                wall = self.clock.wall()
                await stored(partial(self.records.operations.open, server.name, new, now=wall))

    async def _is_to_be_tried(self, server: ServerRecord, steps: StepList) -> bool:
        every = self.records.operations.operations
        last = await stored(partial(every, server=server.name, most=1))
        if not last or last[0].steps_name != steps.name:
            return False
        failed = last[0].status in {Status.FAILED, Status.CANCELLED}
        if not failed or self._seen_for(last[0].id) < AGAIN_S:
            return False
        return server.power.power is not Power.UNKNOWN or not await self._is_cut_off(last[0])

    async def _is_cut_off(self, quarantine: OperationRecord) -> bool:
        effects = await stored(self.records.effects.effects, quarantine.id)
        return any(each.step == TO_NOWHERE.name and each.done is not None for each in effects)

    def _seen_for(self, failed: OperationId) -> float:
        now = self.clock.monotonic()
        return now - self._failed.setdefault(failed, now)

    def _over(self, allocation: Allocation) -> str:
        now = self.clock.monotonic()
        if self.machines.attached.get(allocation.key, 0) > 0:
            return ""
        grace = None if allocation.known_to_caller else allocation.stop_grace_until
        if grace is not None and now >= grace:
            return "stopped before it was installed, and not asked for again"
        if allocation.phase is Phase.RESERVED and now >= (allocation.reserved_until or now):
            return "the reservation is over"
        return ""

    async def _try_to_end(self, allocation: Allocation, reason: str) -> None:
        """One that cannot be ended now keeps no other from its end."""
        try:
            await self._end(allocation, reason)
        except RackwrightError as error:
            log.warning("housekeeping: %s", error)

    async def _end(self, allocation: Allocation, reason: str) -> None:
        log.info("allocation ends: %s", reason)
        end = partial(
            self.records.allocations.end_and_open,
            allocation.key,
            reason,
            new_operation(RELEASE, f"{allocation.key.site}: {reason}"),
            tombstone=False,
            now=self.clock.wall(),
            still=lambda living: bool(self._over(living)),  # a create may come in this moment
        )
        await stored(end)


def close_lost(
    records: Records,
    lost: Callable[[Iterable[str]], Mapping[str, str]],
    follow: Follow,
    clock: Clock,
) -> int:
    """Close open operations that the engine will not run again; how many.

    Called at each start, after the engine's launch and before the listeners open: a server
    whose operation nobody runs is quarantined, which switches it off.
    """
    still_open = records.operations.operations(open_only=True, most=EVERY)
    gone = lost([each.id for each in still_open])
    for identifier, how in gone.items():
        record = records.operations.operation(OperationId(identifier))
        outcome = Outcome(
            ending=Ending.MACHINE,
            code=ErrorCode.OPERATION_LOST,
            brief="the operation was lost and nobody can tell how far it came",
            detail=how,
        )
        records.operations.close(record.id, outcome, follow(record, outcome), now=clock.wall())
        # a verification has touched nothing; whoever runs there may be somebody's (13)
        if record.kind is not Intent.VERIFY and (record.kind, outcome.ending) not in FOLLOWS:
            _quarantine(records, record, clock)
    return len(gone)


def _quarantine(records: Records, record: OperationRecord, clock: Clock) -> None:
    """Off and cut off also where an ending by itself leads to nothing: a power verb."""
    new = new_operation(QUARANTINE, f"lost {record.kind}")
    with contextlib.suppress(ConflictError):  # it is retired, or a newer operation has it
        records.operations.open(record.server, new, now=clock.wall())
