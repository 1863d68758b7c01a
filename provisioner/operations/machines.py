"""Bare metal as whole operations: what the verbs call. Writes intents, touches no hardware.

The rules of each verb are the architecture's ("State of a server"); the page reads in the
order of an instance's life: reserve, deploy, power, release, observe.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from provisioner.about import learned
from provisioner.config import Times
from provisioner.errors import (
    ConflictError,
    ErrorCode,
    InputError,
    OperatorError,
    RackwrightError,
    TransientError,
)
from provisioner.operations.bell import CLOSED, Bell
from provisioner.operations.deploy import DEPLOY
from provisioner.operations.doors import Records
from provisioner.operations.endings import failure_of
from provisioner.operations.failures import FailureMemory
from provisioner.operations.observing import Observer
from provisioner.operations.pool_images import image_of
from provisioner.operations.power import REBOOT, START, STOP
from provisioner.operations.power_steps import FENCE, fence_text
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import StepList, new_operation
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import PowerAct
from provisioner.ports.machines import Answer, Reserved
from provisioner.seed.volume import ROOM_BYTES
from provisioner.servers.allocation import (
    Allocation,
    InstanceKey,
    InstanceRequest,
    InstanceView,
    Phase,
)
from provisioner.servers.fit import why_unfit
from provisioner.servers.model import Power, ServerRecord, State
from provisioner.servers.operation import OperationRecord, Status
from provisioner.store.waiting import stored
from provisioner.units import HostLabel, MonotonicSeconds, OperationId, SiteName

MakeSeed = Callable[[InstanceRequest, ServerRecord, int], Awaitable[bytes]]
"""The last is the bytes of a sector of the disk: a file system is made for one size."""
CheckSeed = Callable[[InstanceRequest], None]


@dataclass(slots=True)
class BareMetal:
    """Our own engine of bare metal, behind the port `Machines`.

    Attributes:
        make_seed: The tenant's seed as a ready file system, with the server's own addresses.
        check_seed: Raises InputError for what is wrong with a request, all at once.
        held: Why this service hands out and frees nothing (invariant 16), "" otherwise.
        attached: How many creates wait now for each instance; a stop's grace respects them.
    """

    records: Records
    bell: Bell
    clock: Clock
    times: Times
    make_seed: MakeSeed
    check_seed: CheckSeed
    held: str = ""
    attached: dict[InstanceKey, int] = field(default_factory=dict)
    _failures: FailureMemory = field(init=False)

    def __post_init__(self) -> None:
        """The memory of failures is one for all verbs."""
        memory_s = self.times.failure_memory_s
        self._failures = FailureMemory(self.records.allocations, self.clock, memory_s)

    async def reserve(self, request: InstanceRequest) -> Reserved:
        """Keep a server for this instance and say its addresses."""
        self._not_held()
        known = request.image is not None
        image = await image_of(self.records.catalogue, request) if known else None
        reserve = partial(
            self.records.allocations.reserve,
            request,
            until=MonotonicSeconds(self.clock.monotonic() + self.times.reserve_for_s),
            now=self.clock.wall(),
            why_unfit=partial(
                why_unfit,
                networks=len(request.networks),
                image_bytes=image.image_bytes + ROOM_BYTES if image else None,
                sector_bytes=image.logical_sector_bytes if image else 0,
            ),
        )
        try:
            allocation = await stored(reserve)
        except (InputError, TransientError) as error:
            await self._give_back(request.key, error.brief)
            raise
        learned(server=allocation.server)
        server = await stored(self.records.servers.server, allocation.server)
        pairs = zip(request.networks, server.tenant_nics(), strict=False)
        macs = {network.nic_uuid: nic.mac for network, nic in pairs}
        return Reserved(server=server.name, macs=macs)

    async def deploy(self, request: InstanceRequest, *, until: MonotonicSeconds) -> Answer:
        """Install and start; an installed instance is started, never imaged again."""
        self._not_held()
        self.attached[request.key] = self.attached.get(request.key, 0) + 1
        try:
            return await self._installed(request, until)
        finally:
            self.attached[request.key] -= 1
            if not self.attached[request.key]:
                del self.attached[request.key]

    async def power(
        self, request: InstanceRequest, act: PowerAct, *, until: MonotonicSeconds
    ) -> Answer:
        """Start, stop or reboot what the tenant has."""
        self._not_held()
        allocation = await self._allocation(request.key)
        if act in {PowerAct.OFF, PowerAct.SOFT_OFF}:
            return await self._stop(request, allocation, until)
        running = await self._startable(allocation, request)
        lists = {PowerAct.ON: START, PowerAct.CYCLE: REBOOT}
        vlans = request.vlans() if request.networks else running.vlans()
        record = await self._command(running, lists[act], request, Power.ON, vlans)
        await self._done(record, until)
        await self._known(running)
        return Answer(text="started" if act is PowerAct.ON else "rebooted")

    async def release(self, key: InstanceKey, who: str, *, until: MonotonicSeconds) -> Answer:
        """End the allocation for good; the wipe goes on after the answer."""
        self._not_held()
        now, began = self.clock.wall(), self.clock.monotonic()
        operation = new_operation(RELEASE, who)
        end = partial(
            self.records.allocations.end_and_open,
            key,
            "deleted",
            operation,
            tombstone=True,
            now=now,
        )
        ended = await stored(end)
        if ended is None:
            return Answer(text="no server to give back")
        open_now = await self._operation(operation.id)
        if open_now is None:
            return Answer(text="the server was given back")
        learned(server=open_now.server, operation=open_now.id, epoch=open_now.epoch)
        answer_by = MonotonicSeconds(min(until, began + RELEASE_ANSWER_S))
        await self.bell.wait(operation.id, FENCE, until=answer_by)
        arrived = await stored(self.records.effects.arrivals)
        return Answer(text=fence_text(operation.id, arrived))

    async def observe(self, key: InstanceKey) -> InstanceView:
        """What is remembered of the instance; no controller is asked."""
        return await self._observer().instance(key)

    async def observe_host(self, site: SiteName, host: HostLabel) -> Mapping[str, InstanceView]:
        """All instances of a host at once, by name."""
        return await self._observer().host(site, host)

    def _observer(self) -> Observer:
        return Observer(records=self.records, clock=self.clock, times=self.times, held=self.held)

    async def _give_back(self, key: InstanceKey, reason: str) -> None:
        """A server that is only reserved is free at once: a wrong request must not keep it."""
        end = partial(
            self.records.allocations.end_and_open,
            key,
            reason,
            None,
            tombstone=False,
            now=self.clock.wall(),
            still=lambda allocation: allocation.phase is Phase.RESERVED,
        )
        await stored(end)

    # --- deploying ---------------------------------------------------------------------------
    async def _installed(self, request: InstanceRequest, until: MonotonicSeconds) -> Answer:
        allocation = await self._allocation(request.key)
        if allocation is not None and allocation.phase is Phase.ACTIVE:
            return await self.power(request, PowerAct.ON, until=until)
        await self._failures.check(request.key)
        if allocation is None or allocation.phase is not Phase.DEPLOYING:
            allocation = await self._open_deployment(request)
        else:
            await self._not_quarantined(allocation)
        await self._mark(allocation, stop_grace_until=None, **_host(request))
        return await self._await_deployment(allocation, until)

    async def _open_deployment(self, request: InstanceRequest) -> Allocation:
        image = await image_of(self.records.catalogue, request)
        vlans = request.vlans()
        self.check_seed(request)
        kept = await self.reserve(request)
        server = await stored(self.records.servers.server, kept.server)
        seed = await self.make_seed(request, server, image.logical_sector_bytes)
        operation = new_operation(DEPLOY, request.who)
        digest = await stored(self.records.seeds.put_seed, operation.id, seed)
        operation = replace(
            operation,
            parameters={
                "image": image.name,
                "vlans": vlans,
                "seed_sha256": digest,
                "seed_bytes": len(seed),
                "truth": request.truth,
            },
        )
        now = self.clock.wall()
        allocate = partial(
            self.records.allocations.allocate_and_open,
            request,
            image.name,
            operation,
            now=now,
            on=server.name,  # the seed carries this server's addresses
        )
        try:
            allocation = await stored(allocate)
        except RackwrightError:
            await stored(self.records.seeds.drop_seed, operation.id)
            raise
        if allocation.operation != operation.id:  # another create was quicker: wait with it
            await stored(self.records.seeds.drop_seed, operation.id)
        return allocation

    async def _await_deployment(self, allocation: Allocation, until: MonotonicSeconds) -> Answer:
        """Its end, or at the deadline: success once the first boot was asked for."""
        operation = allocation.operation
        if operation is None:
            raise OperatorError(ErrorCode.CANNOT_TELL, "a deployment without an operation")
        await self.bell.wait(operation, CLOSED, until=until)
        record = await stored(self.records.operations.operation, operation)
        learned(server=record.server, operation=operation, epoch=record.epoch)
        if record.status is Status.OPEN:
            now = await stored(self.records.allocations.by_id, allocation.id)
            if not now.first_boot_asked:
                return await self._still_installing(now)
        elif record.status is not Status.DONE:
            await self._failures.note(allocation.key)
            raise failure_of(record)
        await self._known(allocation)
        return Answer(text=f"running on {allocation.server}")

    async def _still_installing(self, allocation: Allocation) -> Answer:
        """By the pool's policy: a success that is true later, or a failure that is asked again."""
        pool = await stored(self.records.catalogue.pool, allocation.pool)
        if pool is None or pool.policy.at_deadline != INSTALLING:
            raise TransientError(
                ErrorCode.DEADLINE, "still installing; the installation goes on: ask again"
            )
        await self._known(allocation)
        return Answer(text=f"installing on {allocation.server}; it goes on")

    # --- power -------------------------------------------------------------------------------
    async def _startable(
        self, allocation: Allocation | None, request: InstanceRequest
    ) -> Allocation:
        if await stored(self.records.allocations.is_deleted, request.key):
            raise ConflictError(ErrorCode.INSTANCE_DELETED, "the instance was deleted")
        if allocation is None:
            raise ConflictError(ErrorCode.INSTANCE_UNKNOWN, "no server was ever given to it")
        if allocation.phase is Phase.ENDED:
            raise ConflictError(ErrorCode.INSTANCE_ENDED, "its server was given back")
        if allocation.phase is not Phase.ACTIVE:
            raise ConflictError(ErrorCode.INSTANCE_BUSY, f"it is {allocation.phase}: ask again")
        await self._not_quarantined(allocation)
        await self._remember_networks(allocation, request)
        return allocation

    async def _not_quarantined(self, allocation: Allocation) -> None:
        server = await stored(self.records.servers.server, allocation.server)
        if server.state is State.QUARANTINED:
            raise ConflictError(
                ErrorCode.INSTANCE_QUARANTINED, "its server is quarantined: an operator must look"
            )

    async def _remember_networks(self, allocation: Allocation, request: InstanceRequest) -> None:
        """A changed address or a new NIC stops nothing: it is recorded as needing a reseed."""
        if not request.networks:
            await self._mark(allocation, **_host(request))
            return
        before = [(n.address, n.prefix, n.gateway) for n in allocation.networks]
        after = [(n.address, n.prefix, n.gateway) for n in request.networks]
        reseed = allocation.needs_reseed or before != after
        asked = {"networks": request.networks, "needs_reseed": reseed, **_host(request)}
        await self._mark(allocation, **asked)

    async def _stop(
        self, request: InstanceRequest, allocation: Allocation | None, until: MonotonicSeconds
    ) -> Answer:
        if allocation is None or allocation.phase is Phase.ENDED:
            return Answer(text="nothing to stop")
        if not allocation.known_to_caller:
            grace = MonotonicSeconds(self.clock.monotonic() + self.times.stop_grace_s)
            await self._mark(allocation, stop_grace_until=grace)
            return Answer(text="not installed yet: nothing was touched")
        if await self._is_off_in_quarantine(allocation):
            await self._mark(allocation, wanted=Power.OFF)
            return Answer(text="off: its server is quarantined")
        await self._not_quarantined(allocation)
        if allocation.phase is Phase.DEPLOYING:
            # its create was answered at the deadline
            if not await self._deployment_ended(allocation, until):
                raise TransientError(ErrorCode.DEADLINE, "its installation goes on: ask again")
            allocation = await stored(self.records.allocations.by_id, allocation.id)
            return await self._stop(request, allocation, until)
        record = await self._command(allocation, STOP, request, Power.OFF, ())
        await self._done(record, until)
        return Answer(text="off, its port is in quarantine")

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
        wanted: Power,
        vlans: tuple[int, ...],
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
        )
        record = await stored(open_it)
        learned(operation=record.id, epoch=record.epoch)
        if record.id == operation.id:
            await self._mark(allocation, wanted=wanted, commanded_at=commanded_at)
        return record

    async def _done(self, record: OperationRecord, until: MonotonicSeconds) -> None:
        await self.bell.wait(record.id, CLOSED, until=until)
        ended = await stored(self.records.operations.operation, record.id)
        if ended.status is Status.OPEN:
            raise TransientError(ErrorCode.DEADLINE, f"{record.steps_name} goes on: ask again")
        if ended.status is not Status.DONE:
            raise failure_of(ended)

    # --- small things ------------------------------------------------------------------------
    def _not_held(self) -> None:
        if self.held:
            raise OperatorError(ErrorCode.SERVICE_HELD, f"the service is held: {self.held}")

    async def _allocation(self, key: InstanceKey) -> Allocation | None:
        found = await stored(self.records.allocations.allocation, key)
        if found is not None:
            learned(server=found.server)
        return found

    async def _known(self, allocation: Allocation) -> None:
        """From here on a stop is a stop, and none that came before it counts."""
        await self._mark(allocation, known_to_caller=True, stop_grace_until=None)

    async def _mark(self, allocation: Allocation, **fields: object) -> None:
        await stored(partial(self.records.allocations.mark, allocation.id, **fields))

    async def _operation(self, identifier: OperationId) -> OperationRecord | None:
        try:
            return await stored(self.records.operations.operation, identifier)
        except ConflictError:
            return None


def _host(request: InstanceRequest) -> dict[str, object]:
    """Where its caller sees it, where the verb says so."""
    return {} if request.host is None else {"host": request.host}


INSTALLING = "installing"
RELEASE_ANSWER_S = 10.0
