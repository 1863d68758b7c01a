"""The desk of leases in memory: any site is known."""

from collections.abc import Callable
from dataclasses import dataclass

from provisioner.errors import ErrorCode, TransientError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_registration_lease import busy_words
from provisioner.ports.registration_lease import RegistrationLease
from provisioner.units import Seconds, SiteName, WallSeconds


@dataclass(slots=True)
class MemoryLeases:
    """Implements LeaseDesk."""

    kept: dict[SiteName, RegistrationLease]
    now: Callable[[], WallSeconds]

    async def take_registration(
        self, site: SiteName, holder: str, what: str, within: Seconds, by: Operator
    ) -> RegistrationLease:
        """Raises TransientError REGISTRATION_BUSY."""
        now, there = self.now(), self.kept.get(site)
        if there is not None and there.bars(holder, now):
            raise TransientError(ErrorCode.REGISTRATION_BUSY, busy_words(there, now))
        same = there is not None and there.holder == holder
        self.kept[site] = RegistrationLease(
            site=site,
            holder=holder,
            who=by.who(),
            what=what,
            since=there.since if there is not None and same else now,
            until=WallSeconds(now + within),
        )
        return self.kept[site]

    async def give_back_registration(self, site: SiteName, holder: str) -> None:
        """Well too where another one has it by now."""
        there = self.kept.get(site)
        if there is not None and there.holder == holder:
            del self.kept[site]
