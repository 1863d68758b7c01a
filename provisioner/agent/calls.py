"""Calls to the service's agent API, tried once or for ever. Standard library only."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.agent.connection import LOST, Connections, Target
from provisioner.agent.settings import AgentSettings

MOST_BODY_BYTES = 1 << 20
"""Of one call, either way."""
CONFLICT = 409
_REFUSALS = frozenset({401, 403})
_SERVER_FAULT = 500


class RefusedError(Exception):
    """The service answers, and does not know this boot's token (any more)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """The agent's times, in seconds.

    Attributes:
        pause: Before the first new try after a lost connection; doubled up to `longest_pause`.
        refused: So long the token may be refused before the machine is switched off.
        blobs: So long a blob may be unreachable before the order fails.
        report: Between two reports of progress.
        beat: While an order runs the service hears from us at least this often.
    """

    pause: float = 0.5
    longest_pause: float = 5.0
    refused: float = 60.0
    blobs: float = 300.0
    report: float = 0.5
    beat: float = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a call was answered with; `body` is a JSON value, or None."""

    status: int
    body: Any = None


class Calls:
    """The service, as one function. Thread-safe: each thread has its own connection."""

    def __init__(self, settings: AgentSettings, connections: Connections, pace: Pace) -> None:
        """No call goes out yet."""
        self._token = settings.token
        self._service = Target(secure=True, host=settings.host, port=settings.port)
        self._connections = connections
        self._pace = pace

    def once(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """One request, tried once.

        Raises:
            OSError or http.client.HTTPException: The connection was lost, or the service is in
                trouble (500 and above); the request may have had its effect.
            RefusedError: 401 or 403.
        """
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}"}
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            connection = self._connections.to(self._service)
            connection.request(method, path, body=content, headers=headers)
            response = connection.getresponse()
            received = response.read(MOST_BODY_BYTES + 1)
        except LOST:
            self._connections.drop(self._service)
            raise
        if not response.isclosed():
            self._connections.drop(self._service)  # more than any answer of ours is long
        if response.status in _REFUSALS:
            raise RefusedError(f"{method} {path.partition('?')[0]} answered {response.status}")
        if response.status >= _SERVER_FAULT:
            raise ConnectionError(f"answered {response.status}")
        return Answer(status=response.status, body=_json(received))

    def insist(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        """One request until it is answered with anything below 500, however long that takes.

        Raises:
            RefusedError: The token was refused for the whole of `Pace.refused`.
        """
        pause = self._pace.pause
        refused_since: float | None = None
        while True:
            try:
                return self.once(method, path, body)
            except RefusedError:
                now = time.monotonic()
                refused_since = now if refused_since is None else refused_since
                if now - refused_since >= self._pace.refused:
                    raise
            except LOST as error:
                refused_since = None
                # a certificate that does not fit is as lost as a cable; say why, once a pause
                print(f"agent: {method} {path.partition('?')[0]}: {error}", flush=True)  # noqa: T201
            time.sleep(pause)
            pause = min(pause * 2, self._pace.longest_pause)

    def rest(self) -> None:
        """Before asking again for what was answered with nonsense."""
        time.sleep(self._pace.longest_pause)


def _json(received: bytes) -> Any:  # noqa: ANN401 as wide as JSON is
    """The value, or None for what is none, or too long: callers look at what they need."""
    if not received or len(received) > MOST_BODY_BYTES:
        return None
    try:
        return json.loads(received)
    except (ValueError, RecursionError):
        return None
