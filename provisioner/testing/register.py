"""The desk of what sites hold for us, in memory: any site is known."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk import Operator
from provisioner.ports.registered import RegisteredRow
from provisioner.units import SiteName, WallSeconds


class _Change(Protocol):
    """Remembers that a change was asked for, and fails as told."""

    def __call__(self, by: Operator, what: object, *, dry_run: bool) -> None: ...


@dataclass(slots=True)
class MemoryRegister:
    """Implements RegisteredDesk."""

    rows: dict[int, RegisteredRow]
    now: Callable[[], WallSeconds]
    change: _Change

    async def database_id(self) -> str:
        """Always the same."""
        return "00000000-0000-4000-8000-000000000001"

    async def registered(self, site: SiteName) -> tuple[RegisteredRow, ...]:
        """All of a site."""
        return tuple(row for row in self.rows.values() if row.site == site)

    async def begin_registered(
        self, site: SiteName, kind: str, name: str, facts: Mapping[str, str], by: Operator
    ) -> RegisteredRow:
        """The older row of this name is retired, or goes on being made."""
        self.change(by, (site, kind, name), dry_run=False)
        number = max(self.rows, default=0) + 1
        for row in await self.registered(site):
            if (row.kind, row.name) == (kind, name):
                if row.outside_id is None:
                    number = row.number
                else:
                    self.rows[row.number] = replace(row, retired=True)
        row = RegisteredRow(
            number=number,
            site=site,
            kind=kind,
            name=name,
            outside_id=None,
            facts=dict(facts),
            retired=False,
            at=self.now(),
        )
        self.rows[number] = row
        return row

    async def settle_registered(
        self,
        number: int,
        outside_id: str,
        facts: Mapping[str, str],
        by: Operator,
        *,
        retired: bool,
    ) -> RegisteredRow:
        """Raises InputError REGISTRATION_ROW."""
        self.change(by, (number, outside_id), dry_run=False)
        if number not in self.rows:
            raise InputError(ErrorCode.REGISTRATION_ROW, f"nothing is registered under {number}")
        row = replace(
            self.rows[number],
            outside_id=outside_id,
            facts=dict(facts),
            retired=retired,
            at=self.now(),
        )
        self.rows[number] = row
        return row

    async def forget_registered(self, number: int, by: Operator) -> None:
        """No such row is well too."""
        self.change(by, number, dry_run=False)
        self.rows.pop(number, None)
