"""What operators ask of servers: intents written down, never an act of its own."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.evidence.document import utc
from provisioner.operations.desk import (
    Adopt,
    Asked,
    EndMaintenance,
    Inspect,
    Maintain,
    Operator,
    PlannedStep,
    Provide,
    Quarantine,
    Rebaseline,
    Retire,
    ServerAct,
    Verify,
)
from provisioner.operations.desk_records import refuse_held
from provisioner.operations.doors import Records
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.quarantine import QUARANTINE, RETIRE
from provisioner.operations.rebaseline import REBASELINE
from provisioner.operations.rehearsal import Rehearse
from provisioner.operations.release import CLEAN, refuse_unknown_disks
from provisioner.operations.server_change import Change, proof_of
from provisioner.operations.steps import StepList, new_operation
from provisioner.ports.clock import Clock
from provisioner.ports.journal import Audit
from provisioner.secret import Secret
from provisioner.servers.adoption import refuse_adoption
from provisioner.servers.allocation import InstanceKey
from provisioner.servers.manifest import ServerEntry
from provisioner.servers.model import MacRole, Maintenance, ServerRecord, State
from provisioner.servers.operation import NewOperation
from provisioner.servers.states import Intent, next_move
from provisioner.servers.turns import Pace
from provisioner.store.waiting import stored
from provisioner.units import ServerName, SiteName

BOOTS_AGENT = frozenset({Intent.INSPECT, Intent.REBASELINE, Intent.CLEAN})


@dataclass(slots=True)
class Servers:
    """Implements the desk's part for servers.

    Attributes:
        rehearse: The steps and calls of a list, where all goes well.
        ramdisk: Raises RAMDISK_MISSING; asked before a server is touched that must boot it.
        pace: How long a protected instance's disks are held.
        held: Why nothing may change now (invariant 16), "" otherwise.
        by_hand: Nobody moves the switch ports, so no card can serve both networks.
        sites: Those that the service answers.
    """

    records: Records
    audit: Audit
    clock: Clock
    rehearse: Rehearse
    ramdisk: Callable[[], object]
    pace: Pace
    held: str = ""
    by_hand: bool = False
    sites: frozenset[SiteName] = frozenset()

    async def servers(self) -> tuple[ServerRecord, ...]:
        """All, by name."""
        return await stored(self.records.servers.servers)

    async def server(self, name: ServerName) -> ServerRecord:
        """One of them."""
        return await stored(self.records.servers.server, name)

    async def enrol(
        self, entry: ServerEntry, password: Secret, by: Operator, *, dry_run: bool
    ) -> Asked:
        """Remember it and open its verification."""
        record = entry.record(self.clock.monotonic())
        self._cards_can_serve(record)
        if await stored(self.records.catalogue.pool, record.pool) is None:
            raise InputError(
                ErrorCode.POOL_UNKNOWN, f"there is no pool {record.pool}: make it first"
            )
        if dry_run:
            return await self._rehearsed(record, new_operation(VERIFY, by.who()), VERIFY)
        self._not_held()
        await stored(self.records.servers.enrol, record, password)
        await stored(self.audit.audit, by.who(), "enrol", record.name)
        return await self._open(record, VERIFY, by, "is enrolled and being verified")

    async def change(
        self, name: ServerName, change: Change, by: Operator, *, dry_run: bool
    ) -> Asked:
        """Correct what was said at enrolment, and prove that it is the same machine."""
        record = await self.server(name)
        running = await stored(
            partial(self.records.operations.operations, open_only=True, server=name)
        )
        living = await stored(self.records.allocations.living)
        allocated = any(each.server == name for each in living)
        steps = proof_of(record, busy=bool(running), allocated=allocated)
        changed = change.of(record)
        if change.nics is not None:
            self._cards_can_serve(changed)
        if dry_run:
            return await self._rehearsed(changed, new_operation(steps, by.who()), steps)
        self._not_held()
        if steps.kind in BOOTS_AGENT:
            self.ramdisk()
        fields = {each: getattr(changed, each) for each in ("controller", "identity", "nics")}
        if change.password is not None:
            fields["password"] = change.password
        await stored(partial(self.records.servers.change, name, **fields))
        was = change.replaced(record)
        await stored(self.audit.audit, by.who(), "change", name, change.words() + was)
        text = f"is changed{was}, and must be the same machine"
        return await self._open(changed, steps, by, text)

    async def act(self, name: ServerName, act: ServerAct, by: Operator, *, dry_run: bool) -> Asked:
        """Write the intent."""
        record = await self.server(name)
        if isinstance(act, Maintain | EndMaintenance):
            return await self._maintain(record, act, by, dry_run=dry_run)
        if isinstance(act, Adopt):
            return await self._adopt(record, act, by, dry_run=dry_run)
        steps, text, parameters = _wanted(record, act)
        move = next_move(record.state, steps.kind)  # refuses what leads nowhere
        if isinstance(act, Provide):
            refuse_unknown_disks(record, steps, act.erase)
        hold = await self._hold_on(name) if steps.kind in BOOTS_AGENT else ""
        if dry_run:
            if move is None and await self._runs_already(name, steps):
                text = f"{name}: {steps.name} runs already and would go on; nothing would be opened"
                return Asked(text=text, server=name, dry_run=True)
            operation = replace(new_operation(steps, by.who()), parameters=parameters)
            return await self._rehearsed(record, operation, steps, hold)
        self._not_held()
        if steps.kind in BOOTS_AGENT:
            self.ramdisk()
        await stored(self.audit.audit, by.who(), steps.name, name, _detail(parameters))
        return await self._open(record, steps, by, text + hold, parameters)

    async def _hold_on(self, name: ServerName) -> str:
        """That the wipe waits, how long, and who ends it; "" where nobody's disks are held."""
        kept = await stored(self.records.turns.held, name)
        if kept is None or kept.ended_at is None:
            return ""
        until = self.pace.held_until(kept.ended_at)
        if until <= self.clock.wall():
            return ""
        return (
            f"; but the wipe waits until {utc(until)}: instance {_named(kept.key)} was protected "
            "when it was deleted, or nobody knew; `rackwright operation release` lets it go on"
        )

    async def _runs_already(self, name: ServerName, steps: StepList) -> bool:
        every = self.records.operations.operations
        running = await stored(partial(every, open_only=True, server=name))
        return any(each.kind is steps.kind for each in running)

    async def _maintain(
        self, record: ServerRecord, act: Maintain | EndMaintenance, by: Operator, *, dry_run: bool
    ) -> Asked:
        maintenance, text, why = None, "may be handed out again", "ended"
        if isinstance(act, Maintain):
            why = f"reason: {act.reason}"
            now = self.clock.wall()
            maintenance = Maintenance(reason=act.reason, by=by.who(), since=now)
            text = "is not handed out until its maintenance ends"
        if not dry_run:
            self._not_held()
            change = partial(self.records.servers.change, record.name, maintenance=maintenance)
            await stored(change)
            await stored(self.audit.audit, by.who(), "maintenance", record.name, why)
        return Asked(text=f"{record.name} {text}", server=record.name, dry_run=dry_run)

    async def _adopt(
        self, record: ServerRecord, act: Adopt, by: Operator, *, dry_run: bool
    ) -> Asked:
        """At once, and without a call: whoever runs there runs on."""
        if act.site not in self.sites:
            known = ", ".join(sorted(self.sites)) or "none"
            text = f"there is no site {act.site}; [extension] sites has {known}"
            raise InputError(ErrorCode.SITE_UNKNOWN, text)
        key = InstanceKey(site=act.site, instance=act.instance)
        if dry_run:
            await self._could_adopt(record, key)
        else:
            self._not_held()
            now = self.clock.wall()
            adopt = partial(self.records.allocations.adopt, key, record.name, by.who(), now=now)
            await stored(adopt)
            await stored(
                self.audit.audit, by.who(), "adopt", record.name, f"instance: {_named(key)}"
            )
        return Asked(
            text=f"{record.name} is given to instance {_named(key)} as it runs; nothing is called",
            server=record.name,
            dry_run=dry_run,
        )

    async def _could_adopt(self, record: ServerRecord, key: InstanceKey) -> None:
        """Raises what the adoption would raise now."""
        records = self.records
        running = partial(records.operations.operations, open_only=True, server=record.name)
        living = await stored(records.allocations.living)
        refuse_adoption(
            record,
            key,
            busy=bool(await stored(running)),
            has=next((each.server for each in living if each.key == key), None),
            deleted=await stored(records.allocations.is_deleted, key),
        )

    async def _open(
        self,
        record: ServerRecord,
        steps: StepList,
        by: Operator,
        text: str,
        parameters: dict[str, object] | None = None,
    ) -> Asked:
        operation = replace(new_operation(steps, by.who()), parameters=parameters or {})
        now = self.clock.wall()
        opened = await stored(self.records.operations.open, record.name, operation, now=now)
        return Asked(
            text=f"{record.name} {text}",
            server=record.name,
            dry_run=False,
            operation=opened.id,
            steps=tuple(PlannedStep(name=name) for name in opened.steps),
        )

    async def _rehearsed(
        self, record: ServerRecord, operation: NewOperation, steps: StepList, more: str = ""
    ) -> Asked:
        planned = await self.rehearse(record, operation, steps)
        return Asked(
            text=f"{record.name}: {steps.name} would be opened{more}",
            server=record.name,
            dry_run=True,
            steps=planned,
        )

    def _cards_can_serve(self, record: ServerRecord) -> None:
        booting = record.provisioning_nic()
        if self.by_hand and MacRole.TENANT in booting.roles:
            text = (
                f"{record.name}: nics: {booting.mac} has both roles, provisioning and tenant, and "
                "with ports.adapter manual nobody moves its port: each needs a card of its own"
            )
            raise InputError(ErrorCode.MANIFEST_INVALID, text)

    def _not_held(self) -> None:
        refuse_held(self.held)


def _named(key: InstanceKey) -> str:
    return f"{key.site}/{key.instance}"


def _detail(parameters: Mapping[str, object]) -> str:
    """What people read in the audit."""
    said = {
        key: ", ".join(value) if isinstance(value, list) else value
        for key, value in parameters.items()
        if value
    }
    return "; ".join(f"{key}: {value}" for key, value in said.items())


def _wanted(
    record: ServerRecord, act: Verify | Inspect | Rebaseline | Provide | Quarantine | Retire
) -> tuple[StepList, str, dict[str, object]]:
    """The list of steps that an act opens, what it says, and its parameters."""
    match act:
        case Verify():
            return VERIFY, "is being verified", {}
        case Inspect() if record.state in {State.ENROLLED, State.VERIFYING}:
            return VERIFY, "is being verified, then inspected", {}
        case Inspect():
            return INSPECT, "is being inspected", {}
        case Rebaseline():
            text = "is inspected anew, then wiped, then offered"
            return _rebaselined(record), text, {"reason": act.reason, "erase": list(act.erase)}
        case Provide():
            return _provided(record), "is being wiped, then offered", {"erase": list(act.erase)}
        case Quarantine():
            return QUARANTINE, "goes off and into quarantine", {"reason": act.reason}
        case Retire():
            return RETIRE, "is taken out of service", {"reason": act.reason}


def _rebaselined(record: ServerRecord) -> StepList:
    """The same from any state: which of them allows it is the table's to say.

    Raises:
        ConflictError: STATE_CONFLICT: there is none that could be replaced.
    """
    next_move(record.state, REBASELINE.kind)
    if record.baseline is None:
        text = f"{record.name} has no baseline yet: `rackwright server provide` takes the first one"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    return REBASELINE


def _provided(record: ServerRecord) -> StepList:
    """What leads to an offer from here; inspection and wipe follow by themselves.

    Raises:
        ConflictError: STATE_CONFLICT: a word on the disks would not be heard now.
    """
    if record.state is State.VERIFYING:
        raise ConflictError(ErrorCode.STATE_CONFLICT, f"{record.name} is being verified: ask again")
    if record.identity is None:  # nobody has said yet which machine this is (invariant 13)
        return VERIFY
    return INSPECT if record.baseline is None or record.state is State.ENROLLED else CLEAN
