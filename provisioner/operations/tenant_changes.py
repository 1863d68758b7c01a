"""Reinstall, reseed and rescue as they are asked for: ports.instance_changes.InstanceChanges.

What can be refused is refused before anything is opened: an operation of these switches the
tenant's system off, and one that fails leaves it off.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from provisioner.operations.doors import Records
from provisioner.operations.endings import failure_of
from provisioner.operations.machines import CheckSeed, MakeSeed
from provisioner.operations.pool_images import image_of
from provisioner.operations.reinstall import (
    REINSTALL,
    REINSTALL_STOPPED,
    RESEED,
    RESEED_STOPPED,
    installed_disk,
)
from provisioner.operations.rescue import RESCUE
from provisioner.operations.steps import new_operation
from provisioner.operations.tenant_power import TenantPower, mark, refuse_half_written, said
from provisioner.operations.walks import walk_of
from provisioner.ports.catalogue import ImageRecord
from provisioner.ports.clock import Clock
from provisioner.ports.machines import Certify
from provisioner.ports.tenant_desk import Walk
from provisioner.seed.nocloud import hostname_of
from provisioner.servers.allocation import Allocation, InstanceRequest
from provisioner.servers.model import Power, ServerRecord, State
from provisioner.servers.operation import NewOperation, OperationRecord, Status
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, OperationId

MOST_OPERATIONS = 50
SEED_ID_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Implements ports.instance_changes.InstanceChanges.

    Attributes:
        make_seed: As machines.BareMetal has it, and check_seed too.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    records: Records
    bell: Bell
    clock: Clock
    times: Times
    make_seed: MakeSeed
    check_seed: CheckSeed
    held: str = ""

    async def reinstall(
        self, request: InstanceRequest, *, ends: Power, certify: Certify, until: MonotonicSeconds
    ) -> Walk:
        """The image that it has, or the one that the certified request names."""
        allocation, server = await self._changeable(request)
        request = await certify(_as_remembered(request, allocation), allocation.size)
        image = await self._image(request, allocation)
        steps = REINSTALL if ends is Power.ON else REINSTALL_STOPPED
        operation = new_operation(steps, request.who)
        seed = await self._seed(request, server, image.logical_sector_bytes)
        more = {"image": image.name, "vlans": _vlans(request, ends)}
        operation = await self._with_seed(operation, seed, request, more)
        return await self._walked(allocation, operation, request, ends, until)

    async def reseed(
        self, request: InstanceRequest, *, ends: Power, certify: Certify, until: MonotonicSeconds
    ) -> Walk:
        """Under an id of its own: a system takes only a seed for new that has another one."""
        allocation, server = await self._changeable(request, needs_whole_disk=True)
        request = await certify(_as_remembered(request, allocation), allocation.size)
        steps = RESEED if ends is Power.ON else RESEED_STOPPED
        operation = new_operation(steps, request.who)
        number = operation.id[:SEED_ID_DIGITS]
        request = replace(request, seed_id=f"{request.key.instance}-{number}")
        disk = installed_disk(server, server.baseline)
        seed = await self._seed(request, server, disk.logical_sector_bytes)
        more = {"vlans": _vlans(request, ends)}
        operation = await self._with_seed(operation, seed, request, more)
        return await self._walked(allocation, operation, request, ends, until)

    async def rescue(self, request: InstanceRequest, *, until: MonotonicSeconds) -> Walk:
        """With the instance's keys, in its networks."""
        standing = await self._standing(request)
        if standing is not None:
            return standing
        allocation, _ = await self._changeable(request)
        request = _as_remembered(request, allocation)
        if not request.ssh_keys:
            text = "the instance has no SSH key, and nobody could log in: reinstall helps without"
            raise InputError(ErrorCode.KEYS_MISSING, text)
        self.check_seed(request)
        parameters = {
            "vlans": _vlans(request, Power.ON),
            "hostname": hostname_of(request),
            "keys": [key.strip() for key in request.ssh_keys],
        }
        operation = replace(new_operation(RESCUE, request.who), parameters=parameters)
        return await self._walked(allocation, operation, request, Power.ON, until)

    # --- what is refused at once -------------------------------------------------------------
    async def _changeable(
        self, request: InstanceRequest, *, needs_whole_disk: bool = False
    ) -> tuple[Allocation, ServerRecord]:
        if self.held:
            raise OperatorError(ErrorCode.SERVICE_HELD, f"the service is held: {self.held}")
        found = await stored(self.records.allocations.allocation, request.key)
        allocation = await self._power().startable(request.key, found)
        server = await stored(self.records.servers.server, allocation.server)
        learned(server=server.name)
        if server.state is State.RESCUE:
            text = "a rescue system runs: stop, start or reboot it first"
            raise ConflictError(ErrorCode.STATE_CONFLICT, text)
        installed_disk(server, server.baseline)
        every = self.records.operations.operations
        if not await stored(partial(every, open_only=True, server=server.name)):
            self._answers(server)
            if needs_whole_disk:
                refuse_half_written(allocation)
        return allocation, server

    def _answers(self, server: ServerRecord) -> None:
        """One whose power nobody can read would end cut off, and its system with it."""
        age_s = abs(self.clock.monotonic() - server.power.at)
        if server.power.power is Power.UNKNOWN or age_s > self.times.reading_too_old_s:
            text = "its machine does not say whether it is on: nothing was touched, ask again"
            raise TransientError(ErrorCode.CONTROLLER_UNREACHABLE, text)

    async def _standing(self, request: InstanceRequest) -> Walk | None:
        """The rescue system that runs already."""
        found = await stored(self.records.allocations.allocation, request.key)
        if found is None or found.ended_at is not None:
            return None
        server = await stored(self.records.servers.server, found.server)
        if server.state is not State.RESCUE:
            return None
        every = self.records.observations.operations_of
        for each in await stored(every, request.key, MOST_OPERATIONS):
            if each.kind is Intent.RESCUE and each.status is Status.DONE:
                return await walk_of(self.records, each)
        return None

    # --- what it is made of ------------------------------------------------------------------
    async def _image(self, request: InstanceRequest, allocation: Allocation) -> ImageRecord:
        """Of the pool's map where another one is asked for, else the very one that it has."""
        if request.image is not None:
            return await image_of(self.records.catalogue, request)
        image = None
        if allocation.image is not None:
            image = await stored(self.records.catalogue.image, allocation.image)
        if image is None:
            text = "the image that it has is not there any more: name another one"
            raise InputError(ErrorCode.IMAGE_MISSING, text)
        return image

    async def _seed(
        self, request: InstanceRequest, server: ServerRecord, sector_bytes: int
    ) -> bytes:
        self.check_seed(request)
        return await self.make_seed(request, server, sector_bytes)

    async def _with_seed(
        self,
        operation: NewOperation,
        seed: bytes,
        request: InstanceRequest,
        more: Mapping[str, object],
    ) -> NewOperation:
        """Kept encrypted until it is handed out; deleted with the end of its operation."""
        digest = await stored(self.records.seeds.put_seed, operation.id, seed)
        told = {"seed_sha256": digest, "seed_bytes": len(seed), "truth": request.truth}
        return replace(operation, parameters={**more, **told})

    # --- begun, or attached ------------------------------------------------------------------
    async def _walked(
        self,
        allocation: Allocation,
        operation: NewOperation,
        request: InstanceRequest,
        wanted: Power,
        until: MonotonicSeconds,
    ) -> Walk:
        commanded_at = self.clock.monotonic()
        record = await self._opened(allocation, operation)
        if record.id == operation.id:
            asked = {"commanded_at": commanded_at, "wanted": wanted, **said(request)}
            await mark(self.records, allocation, **asked)
        await self.bell.wait(record.id, CLOSED, until=until)
        ended = await stored(self.records.operations.operation, record.id)
        if ended.status not in {Status.OPEN, Status.DONE}:
            raise failure_of(ended)
        return await walk_of(self.records, ended)

    async def _opened(self, allocation: Allocation, operation: NewOperation) -> OperationRecord:
        open_it = partial(
            self.records.operations.open,
            allocation.server,
            operation,
            now=self.clock.wall(),
            of=allocation.id,
            alone=True,
        )
        try:
            record = await stored(open_it)
        except RackwrightError:
            await self._forget(operation.id)
            raise
        if record.id != operation.id:
            await self._forget(operation.id)
        learned(operation=record.id, epoch=record.epoch)
        return record

    async def _forget(self, operation: OperationId) -> None:
        await stored(self.records.seeds.drop_seed, operation)

    def _power(self) -> TenantPower:
        return TenantPower(records=self.records, bell=self.bell, clock=self.clock, times=self.times)


def _as_remembered(request: InstanceRequest, allocation: Allocation) -> InstanceRequest:
    """What an action's payload does not carry."""
    return replace(
        request,
        name=request.name or allocation.name,
        pool=allocation.pool,
        networks=allocation.networks,
        hostname=allocation.hostname or None,
    )


def _vlans(request: InstanceRequest, ends: Power) -> tuple[int, ...]:
    """One that ends off may have none: its next start says them.

    Raises:
        InputError: VLAN_MISSING.
    """
    if ends is Power.ON:
        return request.vlans()
    return tuple(int(each.vlan) for each in request.networks if each.vlan is not None)
