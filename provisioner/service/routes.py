"""A table of routes and the application made of it: who may, what is read, what is written.

The OpenAPI document is made of the same table, so neither can say what the other does not.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as StarletteRoute

from provisioner.config import Role
from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk import Operator
from provisioner.service.body import read_json
from provisioner.service.identity import Identify
from provisioner.store.codec import plain
from provisioner.strict import NAMES, read

MOST_BYTES: Final = 1024 * 1024
MOST_ROWS: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One request, checked: who, which object, what.

    Attributes:
        path: Values of the path's parameters.
        query: Values of the query, already of the type that the route says; absent ones are
            not in it.
        body: Of the type that the route takes; None where it takes none.
    """

    operator: Operator
    path: Mapping[str, str]
    query: Mapping[str, Any]
    body: Any
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One key of a query.

    Attributes:
        kind: str, int, float, bool, or an enumeration.
    """

    kind: type
    text: str

    def expected(self) -> str:
        """In words."""
        if issubclass(self.kind, Enum):
            return f"one of {', '.join(each.value for each in self.kind)}"
        return NAMES[self.kind]


DRY_RUN: Final = Parameter(kind=bool, text="Answer what would be done; write and call nothing.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One thing that the API does.

    Attributes:
        role: Who may; None is everybody, known or not.
        answer: Gives a value that `plain` can write, or a whole response.
        summary: One line, for the document.
        takes: Type of the body; None where there is none.
        gives: Type of the answer, or a media type where the answer is not JSON.
        dries: Knows `dry_run`.
        most_bytes: Of a body.
    """

    method: str
    path: str
    role: Role | None
    answer: Callable[[Asking], Awaitable[object]]
    summary: str
    gives: Any
    takes: type | None = None
    query: Mapping[str, Parameter] = field(default_factory=dict)
    dries: bool = False
    most_bytes: int = MOST_BYTES

    def parameters(self) -> Mapping[str, Parameter]:
        """All keys of the query."""
        return {**self.query, "dry_run": DRY_RUN} if self.dries else self.query


NOBODY: Final = Operator(name="nobody", role=Role.VIEWER, by="nothing")


def endpoints(routes: Sequence[Route], identify: Identify) -> list[StarletteRoute]:
    """What the framework serves; HEAD is answered where GET is."""
    return [
        StarletteRoute(route.path, _endpoint(route, identify), methods=[route.method])
        for route in routes
    ]


def _endpoint(route: Route, identify: Identify) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        operator = _permitted(route, request, identify)
        query = _query(route, request)
        dry_run = bool(query.pop("dry_run", False))
        body = await _body(route, request)
        asking = Asking(
            operator=operator,
            path=request.path_params,
            query=query,
            body=body,
            dry_run=dry_run,
        )
        found = await route.answer(asking)
        return found if isinstance(found, Response) else JSONResponse(plain(found))

    return endpoint


def _permitted(route: Route, request: Request, identify: Identify) -> Operator:
    if route.role is None:
        return NOBODY
    operator = identify(request)
    if not operator.role.allows(route.role):
        text = f"{operator.name} is {operator.role}; this needs {route.role}"
        raise InputError(ErrorCode.PERMISSION, text)
    return operator


def _query(route: Route, request: Request) -> dict[str, Any]:
    parameters = route.parameters()
    problems, found = [], {}
    for key, text in request.query_params.multi_items():
        if key not in parameters or key in found:
            problems.append(f"{key}: unknown, or given twice")
            continue
        try:
            found[key] = _typed(parameters[key].kind, text)
        except ValueError:
            problems.append(f"{key}: {parameters[key].expected()} is expected")
    if problems:
        raise InputError(ErrorCode.PAYLOAD_FIELD, f"query: {'; '.join(problems)}")
    return found


def _typed(kind: type, text: str) -> Any:  # noqa: ANN401 what the parameter says
    if kind is bool:
        if text not in {"true", "false"}:
            raise ValueError(text)
        return text == "true"
    value = kind(text)
    # NaN is no number to compare with, and nobody needs more rows in one answer
    if kind in {int, float} and not 0 <= value < 2**53:
        raise ValueError(text)
    return value


async def _body(route: Route, request: Request) -> Any:  # noqa: ANN401 what the route takes
    if route.takes is None:
        return None
    tree = await read_json(request, route.most_bytes)
    return read(route.takes, tree, code=ErrorCode.PAYLOAD_FIELD, source="body")
