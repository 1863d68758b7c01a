"""Calls an ASGI application without a socket, as a server would."""

import asyncio
import itertools
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote


@dataclass(frozen=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


async def call(
    app: Any,
    method: str,
    target: str,
    body: bytes | Iterable[bytes] = b"",
    *,
    headers: dict[str, str] | None = None,
    state: dict[str, Any] | None = None,
    client: str | None = None,
) -> Reply:
    path, _, query = target.partition("?")
    pieces = iter([body] if isinstance(body, bytes) else body)
    ahead = [next(pieces)]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
        "client": (client, 1) if client else None,
        "server": None,
        "state": dict(state or {}),
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not ahead:
            await asyncio.Event().wait()
        piece = ahead.pop()
        ahead.extend(itertools.islice(pieces, 1))
        return {"type": "http.request", "body": piece, "more_body": bool(ahead)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start = next(each for each in sent if each["type"] == "http.response.start")
    whole = b"".join(each.get("body", b"") for each in sent if each["type"] == "http.response.body")
    names = {k.decode(): v.decode() for k, v in start.get("headers", [])}
    return Reply(start["status"], names, whole)
