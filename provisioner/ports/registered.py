"""What was made for us in somebody else's system: our name of it, and theirs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from provisioner.units import SiteName, WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredRow:
    """One object that a site holds for us.

    Attributes:
        kind: A word of whoever registers.
        outside_id: As the site calls it; None while it is being made.
        facts: What it was made with, for those who meet its id later.
        retired: Another one took its place; something may still use it.
        at: When the row last changed.
    """

    number: int
    site: SiteName
    kind: str
    name: str
    outside_id: str | None
    facts: dict[str, str]
    retired: bool
    at: WallSeconds


class Registered(Protocol):
    """The rows of all sites."""

    def database_id(self) -> str:
        """Of this database, once and for ever: what marks our objects outside."""
        ...

    def rows(self, site: SiteName) -> tuple[RegisteredRow, ...]:
        """All of a site, retired ones too, oldest first."""
        ...

    def begin(
        self, site: SiteName, kind: str, name: str, facts: Mapping[str, str], *, now: WallSeconds
    ) -> RegisteredRow:
        """Note that it is being made; a row of this name that has an id is retired."""
        ...

    def settle(
        self,
        number: int,
        outside_id: str,
        facts: Mapping[str, str],
        *,
        retired: bool,
        now: WallSeconds,
    ) -> RegisteredRow:
        """It is there, under this id, made with these facts; `retired`: for no new user.

        Raises:
            InputError: REGISTRATION_ROW: no such row.
        """
        ...

    def forget(self, number: int) -> None:
        """It is no more; no such row is well too."""
        ...
