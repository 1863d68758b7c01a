"""What operators tell of things that sites hold for us, and what is remembered of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_records import refuse_held
from provisioner.ports.clock import Clock
from provisioner.ports.journal import Audit
from provisioner.ports.registered import Registered, RegisteredRow
from provisioner.store.waiting import stored
from provisioner.units import SiteName


class RegisteredDesk(Protocol):
    """What sites hold for us; who registers there tells it here, step by step."""

    async def database_id(self) -> str:
        """What marks our objects at the sites."""
        ...

    async def registered(self, site: SiteName) -> tuple[RegisteredRow, ...]:
        """All of a site, retired ones too, oldest first."""
        ...

    async def begin_registered(
        self, site: SiteName, kind: str, name: str, facts: Mapping[str, str], by: Operator
    ) -> RegisteredRow:
        """Note that it is being made; a row of this name that has an id is retired."""
        ...

    async def settle_registered(
        self,
        number: int,
        outside_id: str,
        facts: Mapping[str, str],
        by: Operator,
        *,
        retired: bool,
    ) -> RegisteredRow:
        """It is there, under this id; `retired`: for no new user.

        Raises:
            InputError: REGISTRATION_ROW.
        """
        ...

    async def forget_registered(self, number: int, by: Operator) -> None:
        """It is no more."""
        ...


@dataclass(slots=True)
class Register:
    """Implements the desk's part for registrations.

    Attributes:
        sites: That the service's settings know.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    rows: Registered
    audit: Audit
    clock: Clock
    sites: frozenset[SiteName]
    held: str = ""

    async def database_id(self) -> str:
        """What marks our objects at the sites."""
        return await stored(self.rows.database_id)

    async def registered(self, site: SiteName) -> tuple[RegisteredRow, ...]:
        """All of a site, retired ones too, oldest first."""
        refuse_unknown(site, self.sites)
        return await stored(self.rows.rows, site)

    async def begin_registered(
        self, site: SiteName, kind: str, name: str, facts: Mapping[str, str], by: Operator
    ) -> RegisteredRow:
        """Note that it is being made."""
        refuse_held(self.held)
        refuse_unknown(site, self.sites)
        begin = partial(self.rows.begin, site, kind, name, facts, now=self.clock.wall())
        row = await stored(begin)
        await stored(self.audit.audit, by.who(), "begin registration", f"{site}/{kind}/{name}")
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
        """It is there, under this id."""
        refuse_held(self.held)
        now = self.clock.wall()
        settle = partial(self.rows.settle, number, outside_id, facts, retired=retired, now=now)
        row = await stored(settle)
        subject = f"{row.site}/{row.kind}/{row.name}"
        act = "retire registration" if retired else "register"
        await stored(self.audit.audit, by.who(), act, subject, outside_id)
        return row

    async def forget_registered(self, number: int, by: Operator) -> None:
        """It is no more."""
        refuse_held(self.held)
        await stored(self.rows.forget, number)
        await stored(self.audit.audit, by.who(), "forget registration", str(number))


def refuse_unknown(site: SiteName, sites: frozenset[SiteName]) -> None:
    """Raises InputError REGISTRATION_INVALID for a site that the settings do not know."""
    if site not in sites:
        known = ", ".join(sorted(sites)) or "none"
        text = f"site: {site} is not in the service's settings ([[extension.sites]]: {known})"
        raise InputError(ErrorCode.REGISTRATION_INVALID, text)
