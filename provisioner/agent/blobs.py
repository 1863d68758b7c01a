"""Fetches pieces of blobs, and goes on where a lost connection stopped. Standard library only."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from provisioner.agent.calls import Pace
from provisioner.agent.connection import LOST, Connections, Target, target_of
from provisioner.agent.order import OrderFailedError
from provisioner.agent.settings import AgentSettings

MOST_BLOB_BYTES = 64 << 20
"""Of one fetch. A list of the 4 MiB blocks of 2 TiB of data is 47 MB."""
_PIECE = 1 << 20
_WHOLE, _PART, _SERVER_FAULT = 200, 206, 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """A piece of a blob."""

    target: Target
    path: str
    start: int
    length: int | None
    token: str | None

    def headers(self, have: int) -> dict[str, str]:
        """For what is missing behind the `have` bytes that came already."""
        found = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        first = self.start + have
        if first or self.length is not None:
            last = "" if self.length is None else str(self.start + self.length - 1)
            found["Range"] = f"bytes={first}-{last}"
        return found

    def failed(self, why: str) -> OrderFailedError:
        """BLOBS_UNREACHABLE, naming the blob."""
        return OrderFailedError("BLOBS_UNREACHABLE", f"{self.path}: {why}")


class Blobs:
    """Plain HTTP, since digests come over TLS; HTTPS with the token for what is secret."""

    def __init__(self, settings: AgentSettings, connections: Connections, pace: Pace) -> None:
        """No call goes out yet."""
        self._settings = settings
        self._connections = connections
        self._pace = pace

    def fetch(self, url: str, start: int, length: int | None, go_on: Callable[[], None]) -> bytes:
        """The bytes.

        Args:
            url: Of a blob, or of the service.
            start: Offset of the first byte.
            length: How many; None is up to the end.
            go_on: Called before each try; raises to give up.

        Raises:
            OrderFailedError: ORDER_MALFORMED for a URL of another site; BLOBS_UNREACHABLE.
        """
        wanted = self._wanted(url, start, length)
        got = bytearray()
        until, pause = time.monotonic() + self._pace.blobs, self._pace.pause
        while True:
            go_on()
            before = len(got)
            try:
                if self._try(wanted, got):
                    return bytes(got)
                lost = "the connection ended early"
            except LOST as error:
                lost = str(error) or type(error).__name__
            self._connections.drop(wanted.target)
            now = time.monotonic()
            if len(got) > before:
                until, pause = now + self._pace.blobs, self._pace.pause
            if now >= until:
                raise wanted.failed(lost)
            time.sleep(pause)
            pause = min(pause * 2, self._pace.longest_pause)

    def _wanted(self, url: str, start: int, length: int | None) -> _Wanted:
        try:
            target, path = target_of(url, self._settings)
        except ValueError as error:
            raise OrderFailedError("ORDER_MALFORMED", str(error)) from error
        token = self._settings.token if target.secure else None
        wanted = _Wanted(target=target, path=path, start=start, length=length, token=token)
        if start < 0 or (length is not None and not 0 < length <= MOST_BLOB_BYTES):
            raise wanted.failed(f"not a piece that can be fetched: {start}, {length}")
        return wanted

    def _try(self, wanted: _Wanted, got: bytearray) -> bool:
        """Go on behind what is there already; True when all of it has come."""
        connection = self._connections.to(wanted.target)
        connection.request("GET", wanted.path, headers=wanted.headers(len(got)))
        response = connection.getresponse()
        if response.status >= _SERVER_FAULT:
            return False
        if response.status == _WHOLE and wanted.start == 0:
            got.clear()  # a server without ranges begins again
        elif response.status != _PART:
            self._connections.drop(wanted.target)
            raise wanted.failed(f"answered {response.status}")
        if response.length is None:
            self._connections.drop(wanted.target)
            raise wanted.failed("answered without a length")
        size = wanted.length if wanted.length is not None else response.length + len(got)
        if size > MOST_BLOB_BYTES:
            self._connections.drop(wanted.target)
            raise wanted.failed(f"{size} bytes are too many")
        while len(got) < size and (piece := response.read(min(_PIECE, size - len(got)))):
            got += piece
        if not response.isclosed():
            self._connections.drop(wanted.target)  # more was offered than was asked for
        return len(got) == size
