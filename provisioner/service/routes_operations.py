"""Routes of operations: look, follow, end, begin again, and take everything along."""

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, fields
from typing import Any, Final, Protocol

from starlette.responses import Response, StreamingResponse

from provisioner.config import Role
from provisioner.errors import ErrorCode
from provisioner.operations.desk import Asked, OperationDesk, OperationView, Operator, Stage
from provisioner.operations.whole_desk import Desk
from provisioner.ports.clock import Clock
from provisioner.servers.operation import OperationRecord, Status
from provisioner.servers.states import Ending, Intent
from provisioner.service.routes import MOST_ROWS, Asking, Parameter, Route
from provisioner.service.routes_servers import named_server
from provisioner.store.codec import plain
from provisioner.units import AllocationId, Epoch, OperationId, Seconds, ServerName, WallSeconds

LOOK_EVERY: Final = Seconds(0.5)
QUIET_ROUNDS: Final = 30
"""After so many looks without news a comment goes out, so that a dead reader is noticed."""
BUNDLE_TYPE: Final = "application/gzip"
EVENTS_TYPE: Final = "text/event-stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationSummary:
    """An operation in a list."""

    id: OperationId
    kind: Intent
    server: ServerName
    status: Status
    opened_at: WallSeconds
    ended_at: WallSeconds | None
    who: str
    code: ErrorCode | None
    brief: str
    note: str
    progress_bytes: tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationList:
    """Operations that were asked for, newest first."""

    operations: tuple[OperationSummary, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDetail:
    """All that is remembered of one operation.

    Attributes:
        stages: In their order, those to come included.
        progress_bytes: Done and total, as the agent acknowledged.
    """

    id: OperationId
    kind: Intent
    steps_name: str
    server: ServerName
    epoch: Epoch
    who: str
    status: Status
    opened_at: WallSeconds
    ended_at: WallSeconds | None
    ending: Ending | None
    allocation: AllocationId | None
    parameters: dict[str, Any]
    code: ErrorCode | None
    brief: str
    detail: str
    note: str
    progress_bytes: tuple[int, int]
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationAnswer:
    """One operation."""

    operation: OperationDetail
    version: int = 1


class _Ask(Protocol):
    """What an operator asks of one operation."""

    async def __call__(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked: ...


_FILTERS: Final = {
    "open": Parameter(kind=bool, text="Only those that have not ended."),
    "server": Parameter(kind=str, text="Only those of this server."),
    "most": Parameter(kind=int, text="At most so many; 100 where nothing is said."),
}
_ONE: Final = "/v1/operations/{id}"


def operation_routes(whole: Desk, clock: Clock, stopping: Callable[[], bool]) -> tuple[Route, ...]:
    """The table.

    Args:
        whole: Who knows operations, and servers.
        clock: For the rounds of a follower.
        stopping: The service is about to end: followers are let go.
    """
    desk = whole.operations

    async def listed(asking: Asking) -> OperationList:
        found = await desk.operations(
            open_only=asking.query.get("open", False),
            server=await named_server(whole.servers, asking),
            most=min(asking.query.get("most", 100), MOST_ROWS),
        )
        return OperationList(operations=tuple(_summary(each) for each in found))

    async def shown(asking: Asking) -> OperationAnswer:
        return answer_of(await desk.operation(_id(asking)))

    async def followed(asking: Asking) -> Response:
        first = await desk.operation(_id(asking))
        return StreamingResponse(_events(desk, first, clock, stopping), media_type=EVENTS_TYPE)

    async def bundled(asking: Asking) -> Response:
        return Response(await desk.bundle(_id(asking)), media_type=BUNDLE_TYPE)

    return (
        Route(
            method="GET",
            path="/v1/operations",
            role=Role.VIEWER,
            answer=listed,
            summary="Operations, newest first.",
            gives=OperationList,
            query=_FILTERS,
        ),
        Route(
            method="GET",
            path=_ONE,
            role=Role.VIEWER,
            answer=shown,
            summary="One operation with its stages.",
            gives=OperationAnswer,
        ),
        Route(
            method="GET",
            path=f"{_ONE}/events",
            role=Role.VIEWER,
            answer=followed,
            summary="The same as server-sent events, one a change, until it has ended.",
            gives=EVENTS_TYPE,
        ),
        Route(
            method="GET",
            path=f"{_ONE}/bundle",
            role=Role.OPERATOR,
            answer=bundled,
            summary="Everything that was kept about it, as a tar.gz.",
            gives=BUNDLE_TYPE,
        ),
        _asked_route("cancel", desk.cancel, "End it before its next step."),
        _asked_route("retry", desk.retry, "Begin the same again."),
        _asked_route("release", desk.release, "Let a release that waits go on to its wipe."),
    )


def _asked_route(word: str, ask: _Ask, summary: str) -> Route:
    async def asked(asking: Asking) -> Asked:
        return await ask(_id(asking), asking.operator, dry_run=asking.dry_run)

    return Route(
        method="POST",
        path=f"{_ONE}/{word}",
        role=Role.OPERATOR,
        answer=asked,
        summary=summary,
        gives=Asked,
        dries=True,
    )


def answer_of(view: OperationView) -> OperationAnswer:
    """As it is shown."""
    names = [each.name for each in fields(OperationDetail) if each.name != "stages"]
    values = {name: getattr(view.record, name) for name in names}
    return OperationAnswer(operation=OperationDetail(stages=view.stages, **values))


async def _events(
    desk: OperationDesk, view: OperationView, clock: Clock, stopping: Callable[[], bool]
) -> AsyncIterator[str]:
    told, quiet = "", 0
    while True:
        now = json.dumps(plain(answer_of(view)))
        # seconds of a running stage rise with every look: they are no news
        quiet = quiet + 1 if _news(view) == told else 0
        if quiet == 0:
            told = _news(view)
            yield f"data: {now}\n\n"
        elif quiet % QUIET_ROUNDS == 0:
            yield ": still here\n\n"
        if view.record.status is not Status.OPEN or stopping():
            return
        await clock.sleep(LOOK_EVERY)
        view = await desk.operation(view.record.id)


def _news(view: OperationView) -> str:
    stages = [(each.name, each.began_at, each.ended_at) for each in view.stages]
    record = view.record
    return repr((record.status, record.note, record.progress_bytes, stages))


def _id(asking: Asking) -> OperationId:
    return OperationId(asking.path["id"])


def _summary(record: OperationRecord) -> OperationSummary:
    names = [each.name for each in fields(OperationSummary)]
    return OperationSummary(**{name: getattr(record, name) for name in names})
