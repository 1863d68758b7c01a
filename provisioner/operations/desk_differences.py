"""What operators ask about differences between a site's books and ours."""

from dataclasses import dataclass
from functools import partial
from typing import Protocol

from provisioner.operations.desk import Asked, Operator
from provisioner.operations.desk_records import refuse_held
from provisioner.operations.doors import Records
from provisioner.operations.rehearsal import Rehearse
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.ports.clock import Clock
from provisioner.ports.differences import Differences, Report
from provisioner.ports.journal import Audit
from provisioner.store.waiting import stored
from provisioner.units import ServerName


class DifferenceDesk(Protocol):
    """Differences, and what a person does about them."""

    async def differences(self) -> tuple[tuple[Report, float | None], ...]:
        """Each site's last report, with how many seconds ago it was asked."""
        ...

    async def apply_difference(self, identifier: str, by: Operator, *, dry_run: bool) -> Asked:
        """Do what it waits for, if it is still so."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Implements DifferenceDesk.

    Attributes:
        held: Why nothing may be released (invariant 16), "" otherwise.
    """

    of: Differences
    records: Records
    audit: Audit
    clock: Clock
    rehearse: Rehearse
    held: str = ""

    async def differences(self) -> tuple[tuple[Report, float | None], ...]:
        """Each site's last report, with how many seconds ago it was asked."""
        now = self.clock.monotonic()
        return tuple(
            (report, None if report.at is None else round(now - report.at, 1))
            for report in self.of.reports()
        )

    async def apply_difference(self, identifier: str, by: Operator, *, dry_run: bool) -> Asked:
        """Do what it waits for, if it is still so: a release is all that ever waits."""
        if dry_run:
            _, finding = await self.of.still(identifier)
            server = finding.server or ServerName("")
            record = await stored(self.records.servers.server, server)
            steps = await self.rehearse(record, new_operation(RELEASE, by.who()), RELEASE)
            text = f"{finding.name} is released, its server {server} wiped"
            return Asked(text=text, server=server, dry_run=True, steps=steps)
        refuse_held(self.held)
        finding = await self.of.apply(identifier, by.who())
        server = finding.server or ServerName("")
        subject = f"{finding.instance} on {server}"
        await stored(self.audit.audit, by.who(), f"apply {finding.kind}", subject, finding.cause)
        every = self.records.operations.operations
        opened = await stored(partial(every, open_only=True, server=server))
        return Asked(
            text=f"{finding.name} is released, its server {server} is being wiped",
            server=server,
            dry_run=False,
            operation=opened[0].id if opened else None,
        )
