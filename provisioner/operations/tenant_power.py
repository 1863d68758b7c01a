"""Start, stop and reboot of what a tenant has, and what such a verb says besides."""

from dataclasses import dataclass, replace
from functools import partial

from provisioner.about import learned
from provisioner.config import Times
from provisioner.errors import ConflictError, ErrorCode, TransientError
from provisioner.operations.bell import CLOSED, Bell
from provisioner.operations.deploy import ALIVE
from provisioner.operations.doors import Records
from provisioner.operations.endings import failure_of
from provisioner.operations.power import REBOOT, START, START_FROM_OFF, STOP
from provisioner.operations.quarantine import CUT_OFF
from provisioner.operations.steps import StepList, new_operation
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import PowerAct
from provisioner.ports.machines import Answer, Certify
from provisioner.servers.allocation import (
    NOT_ASKED,
    Allocation,
    InstanceKey,
    InstanceRequest,
    Phase,
)
from provisioner.servers.model import Power, State
from provisioner.servers.operation import OperationRecord, Status
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds

LISTS = {PowerAct.ON: START, PowerAct.CYCLE: REBOOT}
WRITES = frozenset({Intent.REINSTALL, Intent.RESEED})
"""Power verbs wait for these, as they do for an installation: a disk is not left half written."""


def said(request: InstanceRequest) -> dict[str, object]:
    """What each verb of an instance may say anew: its name, where it is seen, and whose it is."""
    # an adopted one has no name before
    known: dict[str, object] = {"name": request.name} if request.name else {}
    known |= {} if request.host is None else {"host": request.host}
    known |= {"owner": request.owner} if request.owner else {}
    # asked in vain is on record too, and takes nothing from what is known of its owner
    return known | ({} if request.truth == NOT_ASKED else {"truth": request.truth})


async def mark(records: Records, allocation: Allocation, **fields: object) -> None:
    """Set fields of an allocation that no move changes."""
    await stored(partial(records.allocations.mark, allocation.id, **fields))


async def known(records: Records, allocation: Allocation) -> None:
    """Its caller has it: from here on a stop is a stop, and none that came before it counts."""
    await mark(records, allocation, known_to_caller=True, stop_grace_until=None)


async def not_quarantined(records: Records, allocation: Allocation) -> None:
    """Raises ConflictError INSTANCE_QUARANTINED."""
    server = await stored(records.servers.server, allocation.server)
    if server.state is State.QUARANTINED:
        raise ConflictError(
            ErrorCode.INSTANCE_QUARANTINED, "its server is quarantined: an operator must look"
        )


def _is_waited_for(running: OperationRecord) -> bool:
    return running.kind in WRITES or running.steps_name == CUT_OFF.name


def refuse_half_written(allocation: Allocation) -> None:
    """Raises ConflictError REINSTALL_NEEDED."""
    if allocation.needs_reinstall:
        text = "a reinstall did not come to its end: run reinstall again, or delete the instance"
        raise ConflictError(ErrorCode.REINSTALL_NEEDED, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantPower:
    """Commands to what is installed."""

    records: Records
    bell: Bell
    clock: Clock
    times: Times

    async def on(
        self,
        request: InstanceRequest,
        allocation: Allocation | None,
        act: PowerAct,
        until: MonotonicSeconds,
        certify: Certify,
    ) -> Answer:
        """Start or reboot; only a start is certified anew."""
        running = await self.startable(request.key, allocation)
        running = await self._undisturbed(running, until)
        refuse_half_written(running)
        if act is PowerAct.ON:
            request = await certify(request, running.size)
        await self._remember_asked(running, request)
        vlans = request.vlans() if request.networks else running.vlans()
        steps = START_FROM_OFF if running.off_first else LISTS[act]
        record = await self._command(running, steps, request, Power.ON, vlans)
        await self._done(record, until)
        await known(self.records, running)
        return Answer(text="started" if act is PowerAct.ON else "rebooted")

    async def cycle_alone(
        self, request: InstanceRequest, allocation: Allocation | None
    ) -> OperationRecord:
        """A reboot of what is on, into its own networks; not waited for.

        It supersedes nothing, and what is wanted stays as it is: a stop may come beside it.

        Raises:
            ConflictError: INSTANCE_BUSY, STATE_CONFLICT, INSTANCE_QUARANTINED, INSTANCE_ENDED ...
        """
        running = await self.startable(request.key, allocation)
        if await self._running(running) is None:  # what goes on is named, not what it leaves
            refuse_half_written(running)
        if running.wanted is not Power.ON:
            raise ConflictError(ErrorCode.STATE_CONFLICT, "it is stopped: start it instead")
        steps = START_FROM_OFF if running.off_first else REBOOT
        return await self._command(running, steps, request, None, running.vlans(), alone=True)

    async def off(
        self, request: InstanceRequest, allocation: Allocation | None, until: MonotonicSeconds
    ) -> Answer:
        """Off, gracefully first; what CloudStack never had is left alone for a while."""
        if allocation is None or allocation.phase is Phase.ENDED:
            return Answer(text="nothing to stop")
        if not allocation.known_to_caller:
            grace = MonotonicSeconds(self.clock.monotonic() + self.times.stop_grace_s)
            await mark(self.records, allocation, stop_grace_until=grace)
            return Answer(text="not installed yet: nothing was touched")
        if await self._is_off_in_quarantine(allocation):
            await mark(self.records, allocation, wanted=Power.OFF)
            return Answer(text="off: its server is quarantined")
        await not_quarantined(self.records, allocation)
        if allocation.phase is Phase.DEPLOYING:
            # its create was answered at the deadline
            if not await self._deployment_ended(allocation, until):
                raise TransientError(ErrorCode.DEADLINE, "its installation goes on: ask again")
            allocation = await stored(self.records.allocations.by_id, allocation.id)
            return await self.off(request, allocation, until)
        if await self._ends_off(allocation):
            await mark(self.records, allocation, wanted=Power.OFF)
            return Answer(text="it is off as soon as what writes its disk has ended")
        allocation = await self._undisturbed(allocation, until)
        record = await self._command(allocation, STOP, request, Power.OFF, ())
        await self._done(record, until)
        return Answer(text="off, its port is in quarantine")

    async def startable(self, key: InstanceKey, allocation: Allocation | None) -> Allocation:
        """The allocation of what is installed.

        Raises:
            ConflictError: INSTANCE_DELETED, INSTANCE_UNKNOWN, INSTANCE_ENDED, INSTANCE_BUSY,
                INSTANCE_QUARANTINED.
        """
        if await stored(self.records.allocations.is_deleted, key):
            raise ConflictError(ErrorCode.INSTANCE_DELETED, "the instance was deleted")
        if allocation is None:
            raise ConflictError(ErrorCode.INSTANCE_UNKNOWN, "no server was ever given to it")
        if allocation.phase is Phase.ENDED:
            raise ConflictError(ErrorCode.INSTANCE_ENDED, "its server was given back")
        if allocation.phase is not Phase.ACTIVE:
            by = f" by operation {allocation.operation}" if allocation.operation else ""
            raise ConflictError(ErrorCode.INSTANCE_BUSY, f"it is {allocation.phase}{by}: ask again")
        await not_quarantined(self.records, allocation)
        return allocation

    async def _undisturbed(self, allocation: Allocation, until: MonotonicSeconds) -> Allocation:
        """As it is when nothing writes its disks, or is still making it safe, any more.

        Raises:
            ConflictError: INSTANCE_BUSY: it goes on at the deadline.
        """
        running = await self._running(allocation)
        while running is not None and _is_waited_for(running):
            await self.bell.wait(running.id, CLOSED, until=until)
            if (await stored(self.records.operations.operation, running.id)).status is Status.OPEN:
                text = f"{running.steps_name} goes on, operation {running.id}: ask again"
                raise ConflictError(ErrorCode.INSTANCE_BUSY, text)
            running = await self._running(allocation)
        return await stored(self.records.allocations.by_id, allocation.id)

    async def _ends_off(self, allocation: Allocation) -> bool:
        """CloudStack stops what it takes for stopped, after a start of it that was refused."""
        running = await self._running(allocation)
        return running is not None and running.kind in WRITES and ALIVE.name not in running.steps

    async def _running(self, allocation: Allocation) -> OperationRecord | None:
        every = self.records.operations.operations
        found = await stored(partial(every, open_only=True, server=allocation.server))
        return next((each for each in found if each.allocation == allocation.id), None)

    async def _remember_asked(self, allocation: Allocation, request: InstanceRequest) -> None:
        """A changed address or a new NIC stops nothing: it is recorded as needing a reseed."""
        if not request.networks:
            await mark(self.records, allocation, **said(request))
            return
        before = [(n.address, n.prefix, n.gateway) for n in allocation.networks]
        after = [(n.address, n.prefix, n.gateway) for n in request.networks]
        reseed = allocation.needs_reseed or before != after
        asked = {"networks": request.networks, "needs_reseed": reseed, **said(request)}
        await mark(self.records, allocation, **asked)

    async def _deployment_ended(self, allocation: Allocation, until: MonotonicSeconds) -> bool:
        assert allocation.operation is not None
        await self.bell.wait(allocation.operation, CLOSED, until=until)
        record = await stored(self.records.operations.operation, allocation.operation)
        return record.status is not Status.OPEN

    async def _is_off_in_quarantine(self, allocation: Allocation) -> bool:
        """What switched it off was not this command, so it is read, and not long ago."""
        server = await stored(self.records.servers.server, allocation.server)
        is_young = abs(self.clock.monotonic() - server.power.at) <= self.times.reading_too_old_s
        is_off = server.power.power is Power.OFF and is_young
        return server.state is State.QUARANTINED and is_off

    async def _command(
        self,
        allocation: Allocation,
        steps: StepList,
        request: InstanceRequest,
        wanted: Power | None,
        vlans: tuple[int, ...],
        *,
        alone: bool = False,
    ) -> OperationRecord:
        """What is wanted changes only where the operation could be opened, or runs already."""
        commanded_at = self.clock.monotonic()
        operation = replace(new_operation(steps, request.who), parameters={"vlans": vlans})
        open_it = partial(
            self.records.operations.open,
            allocation.server,
            operation,
            now=self.clock.wall(),
            of=allocation.id,
            alone=alone,
        )
        record = await stored(open_it)
        learned(operation=record.id, epoch=record.epoch)
        if record.id == operation.id:
            wish = {} if wanted is None else {"wanted": wanted}
            await mark(self.records, allocation, commanded_at=commanded_at, **wish)
        return record

    async def _done(self, record: OperationRecord, until: MonotonicSeconds) -> None:
        await self.bell.wait(record.id, CLOSED, until=until)
        ended = await stored(self.records.operations.operation, record.id)
        if ended.status is Status.OPEN:
            raise TransientError(ErrorCode.DEADLINE, f"{record.steps_name} goes on: ask again")
        if ended.status is not Status.DONE:
            raise failure_of(ended)
