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
from provisioner.operations.power_steps import FENCE, fence_text
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.operations.tenant_power import TenantPower, known, mark, not_quarantined, said
from provisioner.ports.clock import Clock
from provisioner.ports.controllers import PowerAct
from provisioner.ports.machines import Answer, Certify, Reserved, as_it_is
from provisioner.seed.volume import ROOM_BYTES
from provisioner.servers.allocation import (
    Allocation,
    InstanceKey,
    InstanceRequest,
    InstanceView,
    Phase,
    Protection,
)
from provisioner.servers.fit import why_unfit
from provisioner.servers.model import ServerRecord, State
from provisioner.servers.operation import OperationRecord, Status
from provisioner.store.waiting import stored
from provisioner.units import HostLabel, MonotonicSeconds, OperationId, ServerName, SiteName

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

    async def deploy(
        self, request: InstanceRequest, *, until: MonotonicSeconds, certify: Certify = as_it_is
    ) -> Answer:
        """Install and start; an installed instance is started, never imaged again."""
        self._not_held()
        self.attached[request.key] = self.attached.get(request.key, 0) + 1
        try:
            return await self._installed(request, until, certify)
        finally:
            self.attached[request.key] -= 1
            if not self.attached[request.key]:
                del self.attached[request.key]

    async def power(
        self,
        request: InstanceRequest,
        act: PowerAct,
        *,
        until: MonotonicSeconds,
        certify: Certify = as_it_is,
    ) -> Answer:
        """Start, stop or reboot what the tenant has."""
        self._not_held()
        allocation = await self._allocation(request.key)
        power = TenantPower(
            records=self.records, bell=self.bell, clock=self.clock, times=self.times
        )
        if act in {PowerAct.OFF, PowerAct.SOFT_OFF}:
            return await power.off(request, allocation, until)
        return await power.on(request, allocation, act, until, certify)

    async def release(
        self,
        key: InstanceKey,
        who: str,
        *,
        until: MonotonicSeconds,
        protection: Protection = Protection.NOT_ASKED,
    ) -> Answer:
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
            protection=protection,
        )
        ended = await stored(end)
        if ended is None:
            return Answer(text="no server to give back")
        open_now = await self._operation(operation.id)
        if open_now is None:
            return Answer(text=await self._without_release(ended.server, who))
        learned(server=open_now.server, operation=open_now.id, epoch=open_now.epoch)
        answer_by = MonotonicSeconds(min(until, began + RELEASE_ANSWER_S))
        await self.bell.wait(operation.id, FENCE, until=answer_by)
        arrived = await stored(self.records.effects.arrivals)
        return Answer(text=fence_text(operation.id, arrived))

    async def _without_release(self, name: ServerName, who: str) -> str:
        """What a `delete` says that opened no release.

        One more quarantine sees the server off, now that nobody has it: `status` rests on that.
        """
        server = await stored(self.records.servers.server, name)
        if server.state is State.QUARANTINED:
            again, now = new_operation(QUARANTINE, who), self.clock.wall()
            await stored(partial(self.records.operations.open, name, again, now=now))
            return "its server is in quarantine and stays there, not wiped, until somebody looks"
        return "the server was given back"

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
    async def _installed(
        self, request: InstanceRequest, until: MonotonicSeconds, certify: Certify
    ) -> Answer:
        allocation = await self._allocation(request.key)
        if allocation is not None and allocation.phase is Phase.ACTIVE:
            return await self.power(request, PowerAct.ON, until=until, certify=certify)
        await self._failures.check(request.key)
        if allocation is None or allocation.phase is not Phase.DEPLOYING:
            allocation = await self._open_deployment(await certify(request, None))
        else:
            await not_quarantined(self.records, allocation)
        await mark(self.records, allocation, stop_grace_until=None, **said(request))
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
        await known(self.records, allocation)
        return Answer(text=f"running on {allocation.server}")

    async def _still_installing(self, allocation: Allocation) -> Answer:
        """By the pool's policy: a success that is true later, or a failure that is asked again."""
        pool = await stored(self.records.catalogue.pool, allocation.pool)
        if pool is None or pool.policy.at_deadline != INSTALLING:
            raise TransientError(
                ErrorCode.DEADLINE, "still installing; the installation goes on: ask again"
            )
        await known(self.records, allocation)
        return Answer(text=f"installing on {allocation.server}; it goes on")

    # --- small things ------------------------------------------------------------------------
    def _not_held(self) -> None:
        if self.held:
            raise OperatorError(ErrorCode.SERVICE_HELD, f"the service is held: {self.held}")

    async def _allocation(self, key: InstanceKey) -> Allocation | None:
        found = await stored(self.records.allocations.allocation, key)
        if found is not None:
            learned(server=found.server)
        return found

    async def _operation(self, identifier: OperationId) -> OperationRecord | None:
        try:
            return await stored(self.records.operations.operation, identifier)
        except ConflictError:
            return None


INSTALLING = "installing"
RELEASE_ANSWER_S = 10.0
