"""Routes of the leases of sites' registrations: one administrator at a time."""

from dataclasses import dataclass
from typing import Annotated

from provisioner.config import Role
from provisioner.operations.desk_registration_lease import LeaseDesk
from provisioner.ports.registration_lease import LONGEST_S
from provisioner.service.routes import Asking, Route
from provisioner.strict import between, matching
from provisioner.units import Seconds, SiteName, WallSeconds

Line = Annotated[str, matching(r"[^\x00-\x1f\x7f]{1,255}", "one line of 1 to 255 characters")]


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeRegistration:
    """What for, and for how long.

    Attributes:
        what: In words that help another administrator to find who this is.
        seconds: From now on; asking again prolongs it.
    """

    what: Line
    seconds: Annotated[float, between(1, LONGEST_S)]


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseAnswer:
    """Whose turn it is."""

    site: str
    who: str
    since: WallSeconds
    until: WallSeconds
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """Nobody's any more."""

    site: str
    version: int = 1


def registration_lease_routes(desk: LeaseDesk) -> tuple[Route, ...]:
    """The table."""

    async def take(asking: Asking) -> LeaseAnswer:
        told: TakeRegistration = asking.body
        lease = await desk.take_registration(
            SiteName(asking.path["site"]),
            asking.path["holder"],
            told.what,
            Seconds(told.seconds),
            asking.operator,
        )
        return LeaseAnswer(site=lease.site, who=lease.who, since=lease.since, until=lease.until)

    async def give_back(asking: Asking) -> GivenBack:
        site = SiteName(asking.path["site"])
        await desk.give_back_registration(site, asking.path["holder"])
        return GivenBack(site=site)

    path = "/v1/sites/{site}/registration/{holder}"
    return (
        Route(
            method="PUT",
            path=path,
            role=Role.ADMIN,
            answer=take,
            summary="Nobody else changes what a site holds for us, for so long.",
            gives=LeaseAnswer,
            takes=TakeRegistration,
        ),
        Route(
            method="DELETE",
            path=path,
            role=Role.ADMIN,
            answer=give_back,
            summary="Others may change it again.",
            gives=GivenBack,
        ),
    )
