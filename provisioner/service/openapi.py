"""The OpenAPI document of a table of routes."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from provisioner.service.replies import ERROR_SCHEMA
from provisioner.service.routes import Parameter, Route
from provisioner.service.shape import schema

API_VERSION: Final = "1.0.0"
ERRORS: Final = {
    "400": "The request itself is wrong, or no HTTP/1.1.",
    "403": "Not known, or not in this role.",
    "404": "There is no such object.",
    "409": "The object's state, or somebody else, does not allow it.",
    "413": "The body is too large.",
    "500": "A person must look: at the machine, the installation, or the service's log.",
    "503": "Not now; the same request may succeed later.",
}


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """OpenAPI 3.1, with the error model on every route."""
    parts: dict[str, Any] = {"Error": ERROR_SCHEMA}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, parts)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Rackwright",
            "version": API_VERSION,
            "description": "For operators. Times are seconds since 1970, sizes bytes. A path that "
            "is not here is answered with 404, a method that is not with 405, both by the error "
            "model.",
        },
        "paths": paths,
        "components": {
            "schemas": parts,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "Over HTTPS. Over the Unix socket the peer's uid says who asks.",
                }
            },
        },
    }


def _operation(route: Route, parts: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "summary": route.summary,
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()}{route.path}").strip("_"),
        "parameters": [_path_parameter(name) for name in re.findall(r"{(\w+)}", route.path)]
        + [_query_parameter(name, each) for name, each in route.parameters().items()],
        "responses": _responses(route, parts),
    }
    if route.role is not None:
        found |= {"security": [{"token": []}], "x-role": route.role.value}
    if route.takes is not None:
        content = {"application/json": {"schema": schema(route.takes, parts)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _responses(route: Route, parts: dict[str, Any]) -> dict[str, Any]:
    media = route.gives if isinstance(route.gives, str) else "application/json"
    good = schema(bytes if media is route.gives else route.gives, parts)
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    return {
        "200": {"description": route.summary, "content": {media: {"schema": good}}},
        **{status: {"description": ERRORS[status], "content": error} for status in _errors(route)},
    }


def _errors(route: Route) -> Iterator[str]:
    """Statuses that this route can answer with."""
    yield "400"
    if route.role is not None:
        yield "403"
    if "{" in route.path or route.query or route.takes is not None:  # each may name an object
        yield "404"
    if route.method != "GET":
        yield "409"
    if route.takes is not None:
        yield "413"
    yield from ("500", "503")


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _query_parameter(name: str, parameter: Parameter) -> dict[str, Any]:
    kind = schema(parameter.kind, {})
    return {"name": name, "in": "query", "description": parameter.text, "schema": kind}
