"""Desks in memory: enough of a service for those who ask it, and no hardware.

Acts are remembered and answered with a fixed plan. `refuse` makes the next change fail as told.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from provisioner.errors import ConflictError, ErrorCode, InputError, RackwrightError
from provisioner.operations.desk import (
    Adopt,
    Asked,
    EndMaintenance,
    JournalCall,
    Maintain,
    OperationView,
    Operator,
    PlannedCall,
    PlannedStep,
    Readiness,
    ServerAct,
    Stage,
)
from provisioner.operations.desk_hosts import HostBook
from provisioner.operations.server_change import Change
from provisioner.operations.whole_desk import Desk
from provisioner.ports.catalogue import ImageRecord
from provisioner.ports.clock import Clock
from provisioner.ports.differences import Report
from provisioner.ports.journal import AuditEntry
from provisioner.ports.registered import RegisteredRow
from provisioner.ports.registration_lease import RegistrationLease
from provisioner.ports.site_keys import SiteKey
from provisioner.secret import Secret
from provisioner.servers.manifest import ServerEntry
from provisioner.servers.model import Maintenance, Pool, ServerRecord
from provisioner.servers.operation import OperationRecord, Status
from provisioner.servers.states import Ending, Intent
from provisioner.servers.turns import Turn
from provisioner.testing.hosts import memory_book
from provisioner.testing.register import MemoryRegister
from provisioner.testing.registration_leases import MemoryLeases
from provisioner.units import ImageName, OperationId, ServerName, SiteName, WallSeconds

SITE = SiteName("lab")
PLAN = (
    PlannedStep(
        name="off",
        calls=(
            PlannedCall(door="controller", text="identity"),
            PlannedCall(door="controller", text="power off"),
        ),
    ),
    PlannedStep(name="wipe"),
)


@dataclass(slots=True, kw_only=True)
class MemoryDesk:
    """All five desks of one imagined service.

    Attributes:
        asked: Every change that was asked for, in order: who, what, dry run or not.
        refuse: Raised by the next change, once.
    """

    clock: Clock
    kept: dict[ServerName, ServerRecord] = field(default_factory=dict)
    passwords: dict[ServerName, Secret] = field(default_factory=dict)
    running: dict[OperationId, OperationRecord] = field(default_factory=dict)
    pool_map: dict[str, Pool] = field(default_factory=dict)
    image_map: dict[str, ImageRecord] = field(default_factory=dict)
    chain: list[Mapping[str, Any]] = field(default_factory=list)
    key: str = ""
    journal: list[JournalCall] = field(default_factory=list)
    acts: list[AuditEntry] = field(default_factory=list)
    state: Readiness = field(default_factory=Readiness)
    site: SiteName = SITE
    turns: list[Turn] = field(default_factory=list)
    asked: list[tuple[str, object, bool]] = field(default_factory=list)
    refuse: RackwrightError | None = None
    held_outside: dict[int, RegisteredRow] = field(default_factory=dict)
    api_keys: dict[SiteName, SiteKey] = field(default_factory=dict)
    compared: tuple[Report, ...] = ()
    gpu_hosts: HostBook = field(default_factory=memory_book)
    turns_outside: dict[SiteName, RegistrationLease] = field(default_factory=dict)

    def desk(self) -> Desk:
        """As the API takes it."""
        return Desk(
            servers=self,
            operations=self,
            catalogue=self,
            records=self,
            registered=MemoryRegister(self.held_outside, self._now, self._change),
            leases=MemoryLeases(self.turns_outside, self._now),
            site_keys=self,
            differences=self,
            hosts=self.gpu_hosts,
        )

    def finish(self, operation: OperationId, status: Status = Status.DONE) -> None:
        """End an operation, as a runner would."""
        record = self.running[operation]
        ending = Ending.DONE if status is Status.DONE else None
        self.running[operation] = replace(
            record, status=status, ending=ending, ended_at=self.clock.wall()
        )

    # --- servers
    async def servers(self) -> tuple[ServerRecord, ...]:
        """All, by name."""
        return tuple(self.kept[name] for name in sorted(self.kept))

    async def server(self, name: ServerName) -> ServerRecord:
        """One of them."""
        if name not in self.kept:
            raise ConflictError(ErrorCode.SERVER_UNKNOWN, f"there is no server {name!r}")
        return self.kept[name]

    async def enrol(
        self, entry: ServerEntry, password: Secret, by: Operator, *, dry_run: bool
    ) -> Asked:
        """Remember it and open a verification."""
        self._change(by, entry, dry_run=dry_run)
        name = ServerName(entry.name)
        if name in self.kept:
            raise ConflictError(ErrorCode.SERVER_EXISTS, f"{name} is enrolled already")
        if not dry_run:
            self.kept[name] = entry.record(self.clock.monotonic())
            self.passwords[name] = password
        return self._opened(name, Intent.VERIFY, by, dry_run=dry_run)

    async def change(
        self, name: ServerName, change: Change, by: Operator, *, dry_run: bool
    ) -> Asked:
        """Make it so."""
        self._change(by, change, dry_run=dry_run)
        changed = change.of(await self.server(name))
        if not dry_run:
            self.kept[name] = changed
            if change.password is not None:
                self.passwords[name] = change.password
        return self._opened(name, Intent.INSPECT, by, dry_run=dry_run)

    async def act(self, name: ServerName, act: ServerAct, by: Operator, *, dry_run: bool) -> Asked:
        """Remember what was asked."""
        self._change(by, act, dry_run=dry_run)
        record = await self.server(name)
        if isinstance(act, Adopt):
            if act.site != self.site:
                raise InputError(ErrorCode.SITE_UNKNOWN, f"there is no site {act.site}")
            return Asked(text=f"{name} is given away", server=name, dry_run=dry_run)
        if isinstance(act, Maintain | EndMaintenance):
            if not dry_run:
                self.kept[name] = replace(record, maintenance=self._maintenance(act, by))
            return Asked(text=f"{name}: done", server=name, dry_run=dry_run)
        return self._opened(name, Intent.CLEAN, by, dry_run=dry_run)

    # --- operations
    async def operations(
        self, *, open_only: bool, server: ServerName | None, most: int
    ) -> tuple[OperationRecord, ...]:
        """Newest first."""
        found = [
            each
            for each in reversed(self.running.values())
            if (not open_only or each.status is Status.OPEN) and server in {None, each.server}
        ]
        return tuple(found[:most])

    async def operation(self, operation: OperationId) -> OperationView:
        """With two stages, the first of them done."""
        if operation not in self.running:
            raise ConflictError(ErrorCode.OPERATION_UNKNOWN, f"there is no operation {operation!r}")
        record = self.running[operation]
        stages = (
            Stage(
                name="off",
                began_at=record.opened_at,
                ended_at=WallSeconds(record.opened_at + 2),
                seconds=2.0,
                beginnings=1,
            ),
            Stage(name="wipe", began_at=None, ended_at=None, seconds=None),
        )
        return OperationView(record=record, stages=stages)

    async def cancel(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """End it."""
        self._change(by, operation, dry_run=dry_run)
        record = (await self.operation(operation)).record
        if record.status is not Status.OPEN:
            raise ConflictError(ErrorCode.OPERATION_ENDED, f"{operation} has ended")
        if not dry_run:
            self.finish(operation, Status.CANCELLED)
        return Asked(text="cancelled", server=record.server, dry_run=dry_run, operation=operation)

    async def retry(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """Open the same again."""
        self._change(by, operation, dry_run=dry_run)
        record = (await self.operation(operation)).record
        return self._opened(record.server, record.kind, by, dry_run=dry_run)

    async def release(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """Remember what was asked."""
        self._change(by, ("release", operation), dry_run=dry_run)
        record = (await self.operation(operation)).record
        if record.status is not Status.OPEN:
            raise ConflictError(ErrorCode.OPERATION_ENDED, f"{operation} has ended")
        return Asked(text="goes on", server=record.server, dry_run=dry_run, operation=operation)

    async def bundle(self, operation: OperationId) -> bytes:
        """Some bytes."""
        await self.operation(operation)
        return b"\x1f\x8bbundle"

    # --- pools and images
    async def pools(self) -> tuple[Pool, ...]:
        """All, by name."""
        return tuple(self.pool_map[name] for name in sorted(self.pool_map))

    async def put_pool(self, pool: Pool, by: Operator) -> None:
        """Keep it."""
        self._change(by, pool, dry_run=False)
        self.pool_map[pool.name] = pool

    async def images(self) -> tuple[ImageRecord, ...]:
        """All, by name."""
        return tuple(self.image_map[name] for name in sorted(self.image_map))

    async def put_image(self, image: ImageRecord, by: Operator) -> None:
        """Keep it."""
        self._change(by, image, dry_run=False)
        self.image_map[image.name] = image

    async def remove_image(self, name: ImageName, by: Operator) -> ImageRecord:
        """Forget it."""
        self._change(by, name, dry_run=False)
        if name not in self.image_map:
            raise InputError(ErrorCode.IMAGE_UNKNOWN, f"there is no image {name!r}")
        return self.image_map.pop(name)

    # --- records
    async def evidence(self) -> tuple[Mapping[str, Any], ...]:
        """The chain as it was given."""
        return tuple(self.chain)

    async def evidence_key(self) -> str:
        """As it was given."""
        return self.key

    async def calls(
        self, *, server: ServerName | None, since: WallSeconds, most: int
    ) -> tuple[JournalCall, ...]:
        """Of the journal as it was given."""
        found = [c for c in self.journal if server in {None, c.server} and c.at >= since]
        return tuple(found[-most:])

    async def audited(
        self, *, server: ServerName | None, since: WallSeconds, most: int
    ) -> tuple[AuditEntry, ...]:
        """As they were given, newest first."""
        found = [a for a in self.acts if server in {None, a.subject} and a.at >= since]
        return tuple(found[::-1][:most])

    async def readiness(self) -> Readiness:
        """As it was set."""
        return self.state

    async def waiting(self) -> tuple[Turn, ...]:
        """As they were given."""
        return tuple(self.turns)

    def _change(self, by: Operator, what: object, *, dry_run: bool) -> None:
        self.asked.append((by.who(), what, dry_run))
        if self.refuse is not None:
            error, self.refuse = self.refuse, None
            raise error

    def _now(self) -> WallSeconds:
        return self.clock.wall()

    def _maintenance(self, act: Maintain | EndMaintenance, by: Operator) -> Maintenance | None:
        if isinstance(act, EndMaintenance):
            return None
        return Maintenance(reason=act.reason, by=by.who(), since=self.clock.wall())

    def _opened(self, name: ServerName, kind: Intent, by: Operator, *, dry_run: bool) -> Asked:
        if dry_run:
            return Asked(text=f"{kind} of {name}", server=name, dry_run=True, steps=PLAN)
        identifier = OperationId(str(UUID(int=len(self.running) + 1, version=4)))
        self.running[identifier] = OperationRecord(
            id=identifier,
            kind=kind,
            steps_name=f"{kind}/1",
            steps=tuple(step.name for step in PLAN),
            server=name,
            epoch=self.kept[name].epoch,
            who=by.who(),
            status=Status.OPEN,
            opened_at=self.clock.wall(),
            parameters={},
        )
        return Asked(
            text=f"{kind} of {name} began",
            server=name,
            dry_run=False,
            operation=identifier,
            steps=PLAN,
        )

    async def site_key(self, site: SiteName) -> SiteKey | None:
        """As it was put."""
        return self.api_keys.get(site)

    async def put_site_key(self, key: SiteKey, by: Operator) -> None:
        """Kept."""
        self._change(by, key.site, dry_run=False)
        self.api_keys[key.site] = key

    async def remove_site_key(self, site: SiteName, by: Operator) -> bool:
        """Forgotten."""
        self._change(by, site, dry_run=False)
        return self.api_keys.pop(site, None) is not None

    async def differences(self) -> tuple[tuple[Report, float | None], ...]:
        """As told; each asked a minute ago."""
        return tuple((each, None if each.at is None else 60.0) for each in self.compared)

    async def apply_difference(self, identifier: str, by: Operator, *, dry_run: bool) -> Asked:
        """The one of that name, if it was told: a release begins."""
        self._change(by, identifier, dry_run=dry_run)
        for report in self.compared:
            for finding in report.findings:
                if finding.id == identifier and finding.server is not None:
                    return self._opened(finding.server, Intent.RELEASE, by, dry_run=dry_run)
        text = f"there is no difference {identifier} (now)"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
