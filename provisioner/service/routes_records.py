"""Routes of what was written down, and of how the service is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from provisioner.config import Role
from provisioner.operations.desk import JournalCall, Readiness
from provisioner.operations.whole_desk import Desk
from provisioner.ports.journal import AuditEntry
from provisioner.service.metrics import MEDIA_TYPE, Metrics
from provisioner.service.openapi import document
from provisioner.service.routes import MOST_ROWS, Asking, Parameter, Route
from provisioner.service.routes_servers import named_server
from provisioner.store.codec import plain
from provisioner.units import WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceList:
    """Signed records, oldest first, as they were stored: verify them, do not trust them.

    Attributes:
        untrusted_key: PEM; out of the same hands as the records, so it proves nothing.
    """

    records: tuple[dict[str, Any], ...]
    untrusted_key: str
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CallList:
    """Calls to controllers, ports, boot services and agents, oldest first."""

    calls: tuple[JournalCall, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditList:
    """Who did what, newest first."""

    acts: tuple[AuditEntry, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """The process answers."""

    alive: bool = True
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Whether it does its work, and what keeps it."""

    ready: bool
    readiness: Readiness
    version: int = 1


_CALLS: Final = {
    "server": Parameter(kind=str, text="Only calls for this server."),
    "since": Parameter(kind=float, text="Only calls since then, in seconds since 1970."),
    "most": Parameter(kind=int, text="At most so many, the newest; 1000 where nothing is said."),
}

_AUDIT: Final = {
    "server": Parameter(
        kind=str, text="Only acts on this server, on its operations, and of who had it."
    ),
    "since": Parameter(kind=float, text="Only acts since then, in seconds since 1970."),
    "most": Parameter(kind=int, text="At most so many, the newest; 100 where nothing is said."),
}


def record_routes(desk: Desk, metrics: Metrics) -> tuple[Route, ...]:
    """The table, without the document."""

    async def evidence(_asking: Asking) -> EvidenceList:
        found = tuple(dict(each) for each in await desk.records.evidence())
        return EvidenceList(records=found, untrusted_key=await desk.records.evidence_key())

    async def calls(asking: Asking) -> CallList:
        found = await desk.records.calls(
            server=await named_server(desk.servers, asking),
            since=WallSeconds(asking.query.get("since", 0.0)),
            most=min(asking.query.get("most", 1000), MOST_ROWS),
        )
        return CallList(calls=found)

    async def audited(asking: Asking) -> AuditList:
        found = await desk.records.audited(
            server=await named_server(desk.servers, asking),
            since=WallSeconds(asking.query.get("since", 0.0)),
            most=min(asking.query.get("most", 100), MOST_ROWS),
        )
        return AuditList(acts=found)

    async def alive(_asking: Asking) -> Alive:
        return Alive()

    async def ready(_asking: Asking) -> Response:
        found = await desk.records.readiness()
        answer = Ready(ready=found.is_ready(), readiness=found)
        return JSONResponse(plain(answer), 200 if answer.ready else 503)

    async def measured(_asking: Asking) -> Response:
        breakers = (await desk.records.readiness()).breakers
        waiting = await desk.records.waiting()
        text = metrics.text(await desk.servers.servers(), breakers, waiting)
        return Response(text, media_type=MEDIA_TYPE)

    look = Role.VIEWER
    return (
        Route(
            method="GET",
            path="/v1/evidence",
            role=look,
            answer=evidence,
            summary="The chain of wipe records.",
            gives=EvidenceList,
        ),
        Route(
            method="GET",
            path="/v1/calls",
            role=look,
            answer=calls,
            summary="What was said to controllers and ports.",
            gives=CallList,
            query=_CALLS,
        ),
        Route(
            method="GET",
            path="/v1/audit",
            role=Role.OPERATOR,
            answer=audited,
            summary="Who did what, newest first.",
            gives=AuditList,
            query=_AUDIT,
        ),
        Route(
            method="GET",
            path="/v1/health",
            role=None,
            answer=alive,
            summary="Whether the process answers.",
            gives=Alive,
        ),
        Route(
            method="GET",
            path="/v1/ready",
            role=look,
            answer=ready,
            summary="Whether it does its work; 503 where not, with the same body.",
            gives=Ready,
        ),
        Route(
            method="GET",
            path="/metrics",
            role=look,
            answer=measured,
            summary="For Prometheus.",
            gives=MEDIA_TYPE,
        ),
    )


def document_route(others: Sequence[Route]) -> Route:
    """The description of all routes, this one included."""

    async def described(_asking: Asking) -> Response:
        return JSONResponse(document([*others, own]))

    own = Route(
        method="GET",
        path="/v1/openapi.json",
        role=Role.VIEWER,
        answer=described,
        summary="This document.",
        gives=dict[str, Any],
    )
    return own
