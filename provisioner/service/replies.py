"""Errors as answers: one model on every route of every JSON listener."""

import logging
from collections.abc import Sequence
from typing import Any, Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute
from starlette.types import ExceptionHandler

from provisioner.errors import ErrorCode, InputError, Kind, RackwrightError

log = logging.getLogger(__name__)

STATUS_OF_CODE: Final = {
    ErrorCode.PAYLOAD_TOO_LARGE: 413,
    ErrorCode.TOKEN_REFUSED: 403,
    ErrorCode.PERMISSION: 403,
    ErrorCode.TLS_REFUSED: 403,
    ErrorCode.BOOT_TOKEN_TAKEN: 403,
    ErrorCode.EPOCH_DIFFERS: 409,
    ErrorCode.SERVICE_HELD: 503,
    ErrorCode.ROUTE_UNKNOWN: 404,
    ErrorCode.SERVER_UNKNOWN: 404,
    ErrorCode.OPERATION_UNKNOWN: 404,
    ErrorCode.POOL_UNKNOWN: 404,
    ErrorCode.IMAGE_UNKNOWN: 404,
    ErrorCode.EVIDENCE_UNKNOWN: 404,
}
"""Where the code says more than its kind."""

STATUS_OF_KIND: Final = {
    Kind.INPUT: 400,
    Kind.CONFLICT: 409,
    Kind.OPERATOR: 500,
    Kind.TRANSIENT: 503,
    Kind.INTERNAL: 500,
}


def body_of(error: RackwrightError) -> dict[str, Any]:
    """The error model."""
    inner = {"code": error.code.value, "kind": error.code.kind.value, "brief": error.brief}
    if error.detail:
        inner["detail"] = error.detail
    return {"error": inner}


def status_of(error: RackwrightError) -> int:
    """The HTTP status: by code where that says more, else by its kind."""
    return STATUS_OF_CODE.get(error.code, STATUS_OF_KIND[error.code.kind])


def reply_of(error: RackwrightError, headers: dict[str, str] | None = None) -> Response:
    """The whole answer."""
    return JSONResponse(body_of(error), status_of(error), headers)


ERROR_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "kind", "brief"],
            "properties": {
                "code": {"type": "string", "enum": [code.value for code in ErrorCode]},
                "kind": {"type": "string", "enum": [kind.value for kind in Kind]},
                "brief": {"type": "string", "description": "One line; no secret."},
                "detail": {"type": "string", "description": "For operators; may be left out."},
            },
        }
    },
}


async def _ours(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RackwrightError)
    return reply_of(error)


async def _of_the_framework(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = f"nothing answers {request.method} here"
    known = InputError(ErrorCode.ROUTE_UNKNOWN, text)
    return JSONResponse(body_of(known), error.status_code, dict(error.headers or {}))


async def _bug(_request: Request, _error: Exception) -> Response:
    """The framework raises the error again behind this answer, so that it is logged."""
    return reply_of(RackwrightError(ErrorCode.INTERNAL, "an error in the service; see its log"))


def application(routes: Sequence[BaseRoute]) -> Starlette:
    """Of a listener that answers in JSON: a path is that path, and nobody is sent elsewhere."""
    made = Starlette(routes=routes, exception_handlers=HANDLERS)
    made.router.redirect_slashes = False
    return made


HANDLERS: Final[dict[Any, ExceptionHandler]] = {
    RackwrightError: _ours,
    HTTPException: _of_the_framework,
    Exception: _bug,
}
