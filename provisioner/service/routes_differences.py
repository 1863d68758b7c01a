"""Routes of differences between a site's books and ours."""

from dataclasses import dataclass

from provisioner.config import Role
from provisioner.operations.desk import Asked
from provisioner.operations.desk_differences import DifferenceDesk
from provisioner.ports.differences import Act, Finding
from provisioner.service.routes import Asking, Route


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceShown:
    """One difference; `id` is what an application names."""

    id: str
    kind: str
    instance: str
    name: str
    server: str | None
    there: str
    here: str
    cause: str
    remedy: str
    act: Act


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteShown:
    """How one site stood.

    Attributes:
        asked_s_ago: None: it never answered, or is not asked.
        doubt: Why the newest answer is not believed, or why there was none.
    """

    site: str
    asked_s_ago: float | None
    doubt: str
    differences: tuple[DifferenceShown, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SitesShown:
    """All sites."""

    sites: tuple[SiteShown, ...]
    version: int = 1


def difference_routes(desk: DifferenceDesk) -> tuple[Route, ...]:
    """The table."""

    async def look(_asking: Asking) -> SitesShown:
        return SitesShown(
            sites=tuple(
                SiteShown(
                    site=report.site,
                    asked_s_ago=ago,
                    doubt=report.doubt,
                    differences=tuple(map(_shown, report.findings)),
                )
                for report, ago in await desk.differences()
            )
        )

    async def apply(asking: Asking) -> Asked:
        identifier = asking.path["difference"]
        return await desk.apply_difference(identifier, asking.operator, dry_run=asking.dry_run)

    return (
        Route(
            method="GET",
            path="/v1/differences",
            role=Role.VIEWER,
            answer=look,
            summary="What differs between each CloudStack and us.",
            gives=SitesShown,
        ),
        Route(
            method="POST",
            path="/v1/differences/{difference}/apply",
            role=Role.OPERATOR,
            answer=apply,
            summary="Do what one difference waits for, if it is still so.",
            gives=Asked,
            dries=True,
        ),
    )


def _shown(finding: Finding) -> DifferenceShown:
    return DifferenceShown(
        id=finding.id,
        kind=finding.kind,
        instance=finding.instance,
        name=finding.name,
        server=finding.server,
        there=finding.there,
        here=finding.here,
        cause=finding.cause,
        remedy=finding.remedy,
        act=finding.act,
    )
