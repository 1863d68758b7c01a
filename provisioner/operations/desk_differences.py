"""What operators ask about differences between a site's books and ours."""

from dataclasses import dataclass
from typing import Protocol

from provisioner.operations.desk import Operator
from provisioner.operations.desk_records import refuse_held
from provisioner.ports.clock import Clock
from provisioner.ports.differences import Differences, Finding, Report
from provisioner.ports.journal import Audit
from provisioner.store.waiting import stored


class DifferenceDesk(Protocol):
    """Differences, and what a person does about them."""

    async def differences(self) -> tuple[tuple[Report, float | None], ...]:
        """Each site's last report, with how many seconds ago it was asked."""
        ...

    async def apply_difference(self, identifier: str, by: Operator) -> Finding:
        """Do what it waits for, if it is still so."""
        ...


@dataclass(frozen=True, slots=True)
class Compared:
    """Implements DifferenceDesk.

    Attributes:
        held: Why nothing may be released (invariant 16), "" otherwise.
    """

    of: Differences
    audit: Audit
    clock: Clock
    held: str = ""

    async def differences(self) -> tuple[tuple[Report, float | None], ...]:
        """Each site's last report, with how many seconds ago it was asked."""
        now = self.clock.monotonic()
        return tuple(
            (report, None if report.at is None else round(now - report.at, 1))
            for report in self.of.reports()
        )

    async def apply_difference(self, identifier: str, by: Operator) -> Finding:
        """Do what it waits for, if it is still so."""
        refuse_held(self.held)
        finding = await self.of.apply(identifier, by.who())
        subject = f"{finding.instance} on {finding.server}"
        await stored(self.audit.audit, by.who(), f"apply {finding.kind}", subject, finding.cause)
        return finding
