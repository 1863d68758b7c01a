"""Who changes what a site holds for us, for now: one at a time, and never for ever."""

from dataclasses import dataclass
from typing import Final, Protocol

from provisioner.units import SiteName, WallSeconds

LONGEST_S: Final = 600.0
"""Nobody is given more at once; who needs longer asks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationLease:
    """One holder's time at one site.

    Attributes:
        holder: Of one run of one command; nobody else knows it.
        who: As the service knows who asks.
        what: What is being done, and where, in that one's own words.
        since: When the holder came.
        until: The end, unless it is asked for again.
    """

    site: SiteName
    holder: str
    who: str
    what: str
    since: WallSeconds
    until: WallSeconds

    def bars(self, holder: str, now: WallSeconds) -> bool:
        """Whether another one has to wait.

        One that ends later than anybody is given stems from before the clock was set back.
        """
        return self.holder != holder and 0 < self.until - now <= LONGEST_S


class RegistrationLeases(Protocol):
    """Those of all sites."""

    def take(self, asked: RegistrationLease) -> RegistrationLease:
        """Take it, or hold it for longer, from `asked.since` on.

        Returns:
            The one in force afterwards: another holder's, where that bars.
        """
        ...

    def give_back(self, site: SiteName, holder: str) -> None:
        """It is held no more; well too where another one has it by now."""
        ...
