"""Routes of the keys by which sites are asked about their instances."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from provisioner.config import Role
from provisioner.operations.desk import SiteKeyDesk
from provisioner.ports.site_keys import SiteKey
from provisioner.secret import Secret
from provisioner.service.routes import Asking, Route
from provisioner.strict import matching
from provisioner.units import SiteName, WallSeconds

Endpoint = Annotated[str, matching(r"https?://[^\s]{1,2000}[^\s/]", "https://…/client/api")]
Word = Annotated[str, matching(r"[\x21-\x7e]{1,255}", "one word of at most 255 characters")]
Pem = Annotated[str, matching(r"(?s).{0,65536}", "a certificate in PEM of at most 64 KiB")]


@dataclass(frozen=True, slots=True, kw_only=True)
class PutSiteKey:
    """A key and where it is good.

    Attributes:
        ca: PEM, where the system does not know the CA of the endpoint.
    """

    endpoint: Endpoint
    key: Word
    secret: Word
    ca: Pem = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteKeyAnswer:
    """What is remembered, but for the secret; `key` is None where a site is not asked."""

    site: str
    endpoint: str | None
    key: str | None
    changed_at: WallSeconds | None
    version: int = 1


def site_key_routes(desk: SiteKeyDesk, now: Callable[[], WallSeconds]) -> tuple[Route, ...]:
    """The table."""

    async def look(asking: Asking) -> SiteKeyAnswer:
        site = SiteName(asking.path["site"])
        found = await desk.site_key(site)
        return _answer(site, found)

    async def put(asking: Asking) -> SiteKeyAnswer:
        told: PutSiteKey = asking.body
        key = SiteKey(
            site=SiteName(asking.path["site"]),
            endpoint=told.endpoint,
            key=told.key,
            secret=Secret(told.secret),
            ca=told.ca,
            changed_at=now(),
        )
        await desk.put_site_key(key, asking.operator)
        return _answer(key.site, key)

    async def remove(asking: Asking) -> SiteKeyAnswer:
        site = SiteName(asking.path["site"])
        await desk.remove_site_key(site, asking.operator)
        return _answer(site, None)

    path = "/v1/sites/{site}/key"
    return (
        Route(
            method="GET",
            path=path,
            role=Role.VIEWER,
            answer=look,
            summary="By which key a site is asked.",
            gives=SiteKeyAnswer,
        ),
        Route(
            method="PUT",
            path=path,
            role=Role.ADMIN,
            answer=put,
            summary="Ask a site by this key from now on.",
            gives=SiteKeyAnswer,
            takes=PutSiteKey,
        ),
        Route(
            method="DELETE",
            path=path,
            role=Role.ADMIN,
            answer=remove,
            summary="Ask a site no more.",
            gives=SiteKeyAnswer,
        ),
    )


def _answer(site: SiteName, found: SiteKey | None) -> SiteKeyAnswer:
    return SiteKeyAnswer(
        site=site,
        endpoint=found.endpoint if found else None,
        key=found.key if found else None,
        changed_at=found.changed_at if found else None,
    )
