"""The one door to the service: HTTP over its Unix socket for operators."""

import contextlib
import http.client
import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from provisioner.errors import ErrorCode, RackwrightError, TransientError

TIMEOUT_S: Final = 60.0
"""The service answers at once or says "not now"; followers hear a comment every 15 s."""
GOOD: Final = 200
# of a pool's tables each field is an option of its own
_FIELD: Final = re.compile(r"^(?:policy\.|requirements\.)?([a-z][a-z0-9_]*): ")
_OTHERWISE: Final = {
    "certificate_sha256": "certificate",
    "images": "image",
    "nics": "nic",
    "password": "password-file",
}
"""Fields whose option has another name."""


class ServiceClient:
    """Asks the service; every error of it is raised here as what it was there."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ask(self, method: str, target: str, body: object = None) -> Any:  # noqa: ANN401 as wide as JSON is
        """One request and its JSON answer.

        Raises:
            RackwrightError: The service's own error, or SERVICE_DOWN.
        """
        return json.loads(self._bytes(method, target, body))

    def fetch(self, target: str) -> bytes:
        """A body that is not JSON."""
        return self._bytes("GET", target, None)

    def events(self, target: str) -> Iterator[Any]:
        """Server-sent events, each parsed; ends when the service ends them.

        Raises:
            RackwrightError: As `ask`; SERVICE_DOWN when the stream is cut.
        """
        with self._reply("GET", target, None) as reply:
            yield from _events(reply)

    def _bytes(self, method: str, target: str, body: object) -> bytes:
        with self._reply(method, target, body) as reply:
            return reply.read()

    @contextlib.contextmanager
    def _reply(self, method: str, target: str, body: object) -> Iterator[http.client.HTTPResponse]:
        connection = _UnixConnection(self._path)
        try:
            connection.request(method, target, None if body is None else json.dumps(body).encode())
            reply = connection.getresponse()
            if reply.status != GOOD:
                raise error_of(reply.status, reply.read())
            yield reply
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "strerror", None) or str(error) or type(error).__name__
            text = f"no answer at {self._path}: {why}; is `rackwright serve` running?"
            raise TransientError(ErrorCode.SERVICE_DOWN, text) from error
        finally:
            connection.close()


def error_of(status: int, body: bytes) -> RackwrightError:
    """The error that the service answered with, of the same code."""
    try:
        inner = json.loads(body)["error"]
        code, brief = ErrorCode(inner["code"]), str(inner["brief"])
        if code is ErrorCode.PAYLOAD_FIELD:
            brief = _as_options(brief)
        return RackwrightError(code, brief, str(inner.get("detail", "")))
    except (ValueError, KeyError, TypeError, AttributeError):
        text = f"the service answered {status} in a way that this command does not know"
        return RackwrightError(ErrorCode.INTERNAL, text)


def _as_options(brief: str) -> str:
    """Of the API's `body: reason: ...` what people wrote: `--reason: ...`.

    A field inside another one stays a path: one option may hold several.
    """
    source, colon, problems = brief.partition(": ")
    if not colon or source not in {"body", "query"}:
        return brief
    return "; ".join(_FIELD.sub(_option, each) for each in problems.split("; "))


def _option(found: re.Match[str]) -> str:
    word = _OTHERWISE.get(found[1], found[1].replace("_", "-"))
    return f"--{word}: "


def _events(reply: http.client.HTTPResponse) -> Iterator[Any]:
    for line in reply:
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("rackwright", timeout=TIMEOUT_S)
        self._path = path

    def connect(self) -> None:
        """In place of a host and port."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(TIMEOUT_S)
        self.sock.connect(str(self._path))
