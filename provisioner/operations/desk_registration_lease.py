"""One registration at a time: who changes what a site holds for us takes a lease first."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from provisioner.errors import ErrorCode, TransientError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_records import refuse_held
from provisioner.operations.desk_registered import refuse_unknown
from provisioner.ports.registration_lease import RegistrationLease, RegistrationLeases
from provisioner.store.waiting import stored
from provisioner.units import Seconds, SiteName, WallSeconds


class LeaseDesk(Protocol):
    """Leases of sites' registrations."""

    async def take_registration(
        self, site: SiteName, holder: str, what: str, within: Seconds, by: Operator
    ) -> RegistrationLease:
        """Nobody else may change it for so long; to be asked for again before each change.

        Raises:
            TransientError: REGISTRATION_BUSY: somebody else has it; says who, and how long.
        """
        ...

    async def give_back_registration(self, site: SiteName, holder: str) -> None:
        """Done."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Leases:
    """Implements the desk's part for leases.

    Attributes:
        now: By the clock of this machine, which is the only one that counts.
        sites: That the service's settings know.
        held: Why nothing may change now (invariant 16), "" otherwise.
    """

    leases: RegistrationLeases
    now: Callable[[], WallSeconds]
    sites: frozenset[SiteName]
    held: str = ""

    async def take_registration(
        self, site: SiteName, holder: str, what: str, within: Seconds, by: Operator
    ) -> RegistrationLease:
        """Nobody else may change it for so long."""
        refuse_held(self.held)
        refuse_unknown(site, self.sites)
        now = self.now()
        asked = RegistrationLease(
            site=site,
            holder=holder,
            who=by.who(),
            what=what,
            since=now,
            until=WallSeconds(now + within),
        )
        found = await stored(self.leases.take, asked)
        if found.holder != holder:
            raise TransientError(ErrorCode.REGISTRATION_BUSY, busy_words(found, now))
        return found

    async def give_back_registration(self, site: SiteName, holder: str) -> None:
        """Done."""
        refuse_unknown(site, self.sites)
        await stored(self.leases.give_back, site, holder)


def busy_words(lease: RegistrationLease, now: WallSeconds) -> str:
    """Who has it since when, and what to do."""
    return (
        f"site {lease.site}: {lease.who} changes its registration since {_moment(lease.since)}"
        f" ({lease.what}); ask again when that has ended; if it was killed, its turn ends by"
        f" itself at {_moment(lease.until)}, in {lease.until - now:.0f} s"
    )


def _moment(at: WallSeconds) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
