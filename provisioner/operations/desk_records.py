"""What operators see of operations, the catalogue and what was written down."""

import io
import json
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Protocol

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.operations.bell import EVERY, Bell
from provisioner.operations.consoles import Keepsakes
from provisioner.operations.desk import (
    Asked,
    JournalCall,
    OperationView,
    Operator,
    PlannedStep,
    Readiness,
    Stage,
)
from provisioner.operations.doors import Records
from provisioner.operations.lists import BY_NAME, follow
from provisioner.operations.rehearsal import Rehearse
from provisioner.operations.release import refuse_unknown_disks
from provisioner.operations.steps import new_operation
from provisioner.operations.turn_steps import LET_GO, TURN
from provisioner.ports.catalogue import ImageRecord
from provisioner.ports.clock import Clock
from provisioner.ports.journal import Audit, AuditEntry, CallHistory
from provisioner.servers.model import Pool
from provisioner.servers.operation import Effect, OperationRecord, Outcome, Status
from provisioner.servers.states import Ending, Intent, next_move
from provisioner.servers.turns import Turn
from provisioner.store.waiting import stored
from provisioner.units import ImageName, OperationId, ServerName, WallSeconds


class Kept(Keepsakes, Protocol):
    """With the names of what is there."""

    def names(self, operation: OperationId) -> tuple[str, ...]:
        """What is kept of an operation."""
        ...


@dataclass(slots=True)
class Operations:
    """Implements the desk's part for operations.

    Attributes:
        rehearse: The steps and calls of a list, where all goes well.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    records: Records
    audit: Audit
    clock: Clock
    bell: Bell
    kept: Kept
    rehearse: Rehearse
    held: str = ""

    async def operations(
        self, *, open_only: bool, server: ServerName | None, most: int
    ) -> tuple[OperationRecord, ...]:
        """Newest first."""
        every = self.records.operations.operations
        return await stored(every, open_only=open_only, server=server, most=most)

    async def operation(self, operation: OperationId) -> OperationView:
        """One, with its stages."""
        record = await stored(self.records.operations.operation, operation)
        effects = await stored(self.records.effects.effects, operation)
        return OperationView(record=record, stages=stages(record, effects, self.clock.wall()))

    async def cancel(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """Seen before its next step."""
        record = await stored(self.records.operations.operation, operation)
        if record.status is not Status.OPEN:
            raise ConflictError(ErrorCode.OPERATION_ENDED, f"the operation is {record.status}")
        if record.kind is Intent.QUARANTINE:
            raise ConflictError(
                ErrorCode.STATE_CONFLICT, "a quarantine is what makes the server safe: let it end"
            )
        planned: tuple[PlannedStep, ...] = ()
        if dry_run:
            planned = await self._after_cancel(record)
        else:
            refuse_held(self.held)
            cancel = partial(
                self.records.operations.cancel, operation, by.who(), follow, now=self.clock.wall()
            )
            await stored(cancel)
            await stored(self.audit.audit, by.who(), "cancel", operation)
            self.bell.closed(operation)
        return Asked(
            text="cancelled before its next step",
            server=record.server,
            dry_run=dry_run,
            operation=operation,
            steps=planned,
        )

    async def _after_cancel(self, record: OperationRecord) -> tuple[PlannedStep, ...]:
        """What would follow, as the store decides it."""
        begun = await stored(self.records.effects.effects, record.id)
        ending = Ending.MACHINE if begun else Ending.INPUT
        make = follow(record, Outcome(ending=ending, code=ErrorCode.CANCELLED))
        if make is None:
            return ()
        server = await stored(self.records.servers.server, record.server)
        new = make(server)
        return await self.rehearse(server, new, BY_NAME[new.steps_name])

    async def retry(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """The same list again, where the server's state allows it."""
        record = await stored(self.records.operations.operation, operation)
        if record.status is Status.OPEN:
            raise ConflictError(ErrorCode.STATE_CONFLICT, "the operation is still open")
        steps = BY_NAME.get(record.steps_name)
        server = await stored(self.records.servers.server, record.server)
        if steps is None or record.allocation is not None:
            raise ConflictError(
                ErrorCode.STATE_CONFLICT, "an instance's operation is asked for again by its verb"
            )
        next_move(server.state, record.kind)
        await self._still_said(record)
        refuse_unknown_disks(server, steps, record.parameters.get("erase", ()))
        again = replace(new_operation(steps, by.who()), parameters=record.parameters)
        if dry_run:
            planned = await self.rehearse(server, again, steps)
            text = "would be opened again"
            return Asked(text=text, server=server.name, dry_run=True, steps=planned)
        refuse_held(self.held)
        now = self.clock.wall()
        opened = await stored(self.records.operations.open, server.name, again, now=now)
        await stored(self.audit.audit, by.who(), "retry", operation)
        return Asked(text="opened again", server=server.name, dry_run=False, operation=opened.id)

    async def _still_said(self, record: OperationRecord) -> None:
        """What a person said of its disks was said of another machine, or another time (13)."""
        every = partial(self.records.operations.operations, server=record.server, most=EVERY)
        for newer in await stored(every):
            if newer.id == record.id:
                return
            if newer.kind is Intent.VERIFY:
                raise ConflictError(
                    ErrorCode.STATE_CONFLICT,
                    f"{record.server} was enrolled or verified anew since then: ask for it anew",
                )

    async def release(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """Whatever it waits for, it waits no more."""
        record = await stored(self.records.operations.operation, operation)
        turn = await stored(self.records.turns.turn, operation)
        planned: tuple[PlannedStep, ...] = ()
        if dry_run:
            planned = await self._after_its_turn(record)
        else:
            refuse_held(self.held)
            await stored(self.records.turns.let_go, operation, by.who())
            why = f"it waited: {turn.waits_for}" if turn.waits_for else "before its turn came"
            await stored(self.audit.audit, by.who(), "release", operation, why)
            await stored(self.bell.ring, operation, LET_GO)
        return Asked(
            text=f"{record.server} is wiped without waiting for its turn",
            server=record.server,
            dry_run=dry_run,
            operation=operation,
            steps=planned,
        )

    async def _after_its_turn(self, record: OperationRecord) -> tuple[PlannedStep, ...]:
        """The rest of the release, as it goes on."""
        server = await stored(self.records.servers.server, record.server)
        steps = BY_NAME[record.steps_name]
        again = replace(new_operation(steps, record.who), parameters=record.parameters)
        planned = await self.rehearse(server, again, steps)
        names = [each.name for each in planned]
        return planned[names.index(TURN.name) + 1 :]

    async def bundle(self, operation: OperationId) -> bytes:
        """A tar.gz of the record, its stages, and all files kept beside it."""
        view = await self.operation(operation)
        files = {
            "operation.json": json.dumps(asdict(view), indent=2, default=str).encode(),
            **{name: self.kept.read(operation, name) for name in self.kept.names(operation)},
        }
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode="w:gz") as tar:
            for name, content in files.items():
                entry = tarfile.TarInfo(f"{operation}/{name}")
                entry.size = len(content)
                entry.mtime = int(view.record.opened_at)
                tar.addfile(entry, io.BytesIO(content))
        return made.getvalue()


def refuse_held(held: str) -> None:
    """Raises ConflictError SERVICE_HELD: nothing may change (invariant 16)."""
    if held:
        raise ConflictError(ErrorCode.SERVICE_HELD, f"the service is held: {held}")


def stages(
    record: OperationRecord, effects: tuple[Effect, ...], now: WallSeconds
) -> tuple[Stage, ...]:
    """Every step of the list with its times, those to come included. Pure."""
    by_step = {each.step: each for each in effects}
    return tuple(_stage(name, by_step.get(name), record, now) for name in record.steps)


def _stage(name: str, effect: Effect | None, record: OperationRecord, now: WallSeconds) -> Stage:
    if effect is None:
        return Stage(name=name, began_at=None, ended_at=None, seconds=None)
    until = effect.done or record.ended_at or now
    return Stage(
        name=name,
        began_at=effect.begun,
        ended_at=effect.done,
        seconds=round(until - effect.begun, 3),
        beginnings=effect.beginnings,
    )


@dataclass(slots=True)
class Shelf:
    """Implements the desk's part for pools and images.

    Attributes:
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    records: Records
    audit: Audit
    held: str = ""

    async def pools(self) -> tuple[Pool, ...]:
        """All, by name."""
        return await stored(self.records.catalogue.pools)

    async def put_pool(self, pool: Pool, by: Operator) -> None:
        """Make or replace; its map names imported images only."""
        refuse_held(self.held)
        known = {each.name for each in await stored(self.records.catalogue.images)}
        missing = sorted(set(pool.images.values()) - known)
        if missing:
            raise InputError(
                ErrorCode.IMAGE_MISSING, f"not imported: {', '.join(missing)}; import them first"
            )
        await stored(self.records.catalogue.put_pool, pool)
        await stored(self.audit.audit, by.who(), "put pool", pool.name)

    async def images(self) -> tuple[ImageRecord, ...]:
        """All, by name."""
        return await stored(self.records.catalogue.images)

    async def put_image(self, image: ImageRecord, by: Operator) -> None:
        """Remember an imported image."""
        refuse_held(self.held)
        if not (image.folder / "blocks.json").is_file():
            raise InputError(ErrorCode.IMAGE_MISSING, f"no imported image lies in {image.folder}")
        await stored(self.records.catalogue.put_image, image)
        await stored(self.audit.audit, by.who(), "put image", image.name)

    async def remove_image(self, name: ImageName, by: Operator) -> ImageRecord:
        """Out of use; its name stays taken by its bytes."""
        refuse_held(self.held)
        removed = await stored(self.records.catalogue.remove_image, name)
        await stored(self.audit.audit, by.who(), "remove image", name)
        return removed


@dataclass(slots=True)
class Written:
    """Implements the desk's part for evidence, calls, audit and health.

    Attributes:
        public_key: Of the evidence key in use, PEM.
    """

    records: Records
    journal: CallHistory
    audit: Audit
    held: str
    public_key: str
    missing: Callable[[], tuple[str, ...]]
    left_alone: Callable[[], tuple[ServerName, ...]]

    async def evidence(self) -> tuple[Mapping[str, Any], ...]:
        """The whole chain."""
        return await stored(self.records.evidence.records)

    async def evidence_key(self) -> str:
        """For comparing, never for verifying."""
        return self.public_key

    async def calls(
        self, *, server: ServerName | None, since: WallSeconds, most: int
    ) -> tuple[JournalCall, ...]:
        """Of the journal, oldest first."""
        found = await stored(self.journal.calls, server=server, since=since, most=most)
        return tuple(
            JournalCall(
                at=each.at,
                server=each.server,
                door=each.door,
                text=each.text,
                outcome=each.outcome,
            )
            for each in found
        )

    async def audited(
        self, *, server: ServerName | None, since: WallSeconds, most: int
    ) -> tuple[AuditEntry, ...]:
        """Who did what, newest first."""
        return await stored(self.audit.entries, server=server, since=since, most=most)

    async def readiness(self) -> Readiness:
        """Asked now."""
        return Readiness(held=self.held, missing=self.missing(), breakers=self.left_alone())

    async def waiting(self) -> tuple[Turn, ...]:
        """Releases whose wipe waits."""
        return await stored(self.records.turns.waiting)
