"""What whoever has an instance may ask and do beside its verbs: ports.tenant_desk.TenantDesk.

Answers come from what is remembered; what was another's, or another machine's, is in none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from provisioner.about import learned
from provisioner.config import Times
from provisioner.errors import ConflictError, ErrorCode, OperatorError
from provisioner.hardware.inventory import Inventory
from provisioner.operations import port_steps
from provisioner.operations.bell import CLOSED, Bell
from provisioner.operations.consoles import Keepsakes, last_lines
from provisioner.operations.doors import Records
from provisioner.operations.endings import failure_of
from provisioner.operations.observing import Observer
from provisioner.operations.tenant_power import TenantPower
from provisioner.operations.walks import walk_of
from provisioner.ports.clock import Clock
from provisioner.ports.machines import Answer
from provisioner.ports.tenant_desk import Console, Port, Story, Walk
from provisioner.servers.allocation import Allocation, InstanceKey, InstanceRequest, Phase
from provisioner.servers.model import Maintenance, Placement
from provisioner.servers.operation import OperationRecord, Status
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, WallSeconds

MOST_OPERATIONS = 50
PORTS_MOVED = frozenset(
    step.name
    for step in (
        port_steps.TO_TENANT,
        port_steps.TO_PROVISIONING,
        port_steps.TO_QUARANTINE,
        port_steps.AT_REST,
        port_steps.TO_NOWHERE,
    )
)

Certify = Callable[[Mapping[str, Any], InstanceKey, WallSeconds], Mapping[str, Any]]
"""A wipe's record, who is told, and when its tenancy began -> the signed statement."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenants:
    """Implements ports.tenant_desk.TenantDesk.

    Attributes:
        kept: What operations keep beside their rows.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    records: Records
    bell: Bell
    clock: Clock
    times: Times
    kept: Keepsakes
    certify: Certify
    held: str = ""

    async def story(self, key: InstanceKey) -> Story:
        """How the instance is, and what was done with it."""
        observer = Observer(
            records=self.records, clock=self.clock, times=self.times, held=self.held
        )
        view = await observer.instance(key)
        told = Story(view=view, now=self.clock.monotonic())
        allocation = await stored(self.records.allocations.allocation, key)
        if allocation is None:
            return told
        operations = await self._operations(key)
        reading, port = None, None
        if allocation.phase is not Phase.ENDED:
            learned(server=allocation.server)
            server = await stored(self.records.servers.server, allocation.server)
            reading, port = server.power, await self._port(allocation, operations)
        return Story(
            view=view,
            now=told.now,
            operations=operations,
            newest=await walk_of(self.records, operations[0]) if operations else None,
            reading=reading,
            port=port,
        )

    async def console(self, key: InstanceKey, most: int) -> Console:
        """The last lines kept with its newest operation that has any."""
        for operation in await self._operations(key):
            text = await stored(last_lines, self.kept, operation.id, most)
            if text:
                return Console(operation=operation.id, lines=tuple(text.split("\n")))
        return Console()

    async def inventory(self, key: InstanceKey) -> Inventory:
        """What inspection found in its machine."""
        allocation = await self._living(key)
        server = await stored(self.records.servers.server, allocation.server)
        if server.baseline is None:
            raise OperatorError(ErrorCode.FACTS_DIFFER, "its machine was never inspected")
        return server.baseline

    async def certificate(self, key: InstanceKey) -> Mapping[str, Any]:
        """While it has the server nobody wipes that, so the newest wipe is the one before it.

        An adopted server was never inspected: what is on record was a namesake's.
        """
        allocation = await self._living(key)
        server = await stored(self.records.servers.server, allocation.server)
        record = await stored(self.records.evidence.newest_of, allocation.server)
        if record is None or server.baseline is None:
            raise ConflictError(
                ErrorCode.EVIDENCE_UNKNOWN, "no wipe of its machine is on record: ask your operator"
            )
        return self.certify(record, key, allocation.created_at)

    async def power_cycle(self, request: InstanceRequest, *, until: MonotonicSeconds) -> Walk:
        """Restart what runs, or attach to a restart that goes on."""
        self._not_held()
        power = TenantPower(
            records=self.records, bell=self.bell, clock=self.clock, times=self.times
        )
        allocation = await stored(self.records.allocations.allocation, request.key)
        record = await power.cycle_alone(request, allocation)
        await self.bell.wait(record.id, CLOSED, until=until)
        ended = await stored(self.records.operations.operation, record.id)
        if ended.status not in {Status.OPEN, Status.DONE}:
            raise failure_of(ended)
        return await walk_of(self.records, ended)

    async def cordon(self, key: InstanceKey, who: str, reason: str | None) -> Answer:
        """Keep its machine back after this instance; None ends that."""
        self._not_held()
        server = await stored(self.records.servers.server, (await self._living(key)).server)
        before = server.maintenance
        if before is not None and not before.by.startswith(f"{key.site}: "):
            text = "an operator keeps its machine back, and an operator ends that"
            raise ConflictError(ErrorCode.STATE_CONFLICT, text)
        if reason is None and before is None:
            return Answer(text="it was not cordoned")
        after = None
        if reason is not None:
            after = Maintenance(reason=reason, by=who, since=self.clock.wall())
        await stored(partial(self.records.servers.change, server.name, maintenance=after))
        if after is None:
            return Answer(text="its machine may be handed out again after this instance")
        return Answer(text="its machine is handed to nobody after this instance")

    # --- small things ------------------------------------------------------------------------
    def _not_held(self) -> None:
        if self.held:
            raise OperatorError(ErrorCode.SERVICE_HELD, f"the service is held: {self.held}")

    async def _living(self, key: InstanceKey) -> Allocation:
        found = await stored(self.records.allocations.allocation, key)
        if found is None:
            raise ConflictError(ErrorCode.INSTANCE_UNKNOWN, "no server was ever given to it")
        if found.phase is Phase.ENDED:
            raise ConflictError(ErrorCode.INSTANCE_ENDED, "its server was given back")
        learned(server=found.server)
        return found

    async def _operations(self, key: InstanceKey) -> tuple[OperationRecord, ...]:
        return await stored(self.records.observations.operations_of, key, MOST_OPERATIONS)

    async def _port(
        self, allocation: Allocation, operations: tuple[OperationRecord, ...]
    ) -> Port | None:
        """As its last move was read back."""
        for operation in operations:
            if operation.allocation != allocation.id:
                return None
            for effect in reversed(await stored(self.records.effects.effects, operation.id)):
                if effect.step in PORTS_MOVED and effect.done is not None:
                    return Port(placement=_placement(effect.result), at=effect.done)
        return None


def _placement(result: Mapping[str, Any]) -> Placement:
    """Of what each port leads to, the widest: the others of its cards lead nowhere."""
    words = {str(each).partition(" ")[0] for each in result.values()}
    wide = (Placement.TENANT, Placement.PROVISIONING, Placement.UNKNOWN, Placement.SHUT)
    return next((each for each in wide if each.value in words), Placement.QUARANTINE)
