"""Reads ranges of one blob over a kept HTTP connection, into memory that is given.

`Link.fetch` gives whole small blobs; an image is read here, without a copy between socket and
buffer, and goes on at the byte where a connection was lost.
"""

import http
import http.client
import time
import urllib.parse
from collections.abc import Callable

from provisioner.agent.order import OrderFailedError

SILENCE_S = 300.0
"""So long nothing may answer before the order fails; a restarted web server takes seconds."""
_SOCKET_S = 30.0
_PAUSES_S = (0.0, 0.5, 1.0, 2.0, 5.0)
"""The first try after a lost connection comes at once: servers close idle ones."""


class BlobReader:
    """One blob, one thread.

    Args:
        url: http only: what is read is compared with digests that came over TLS.
        waiting: Called before each new try; may raise to end the waiting.
        silence_s: Given up after so long without a byte.
    """

    def __init__(
        self,
        url: str,
        *,
        waiting: Callable[[], None] = lambda: None,
        silence_s: float = SILENCE_S,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise OrderFailedError("BLOBS_UNREACHABLE", f"{url}: not an http address")
        self._url, self._waiting, self._silence_s = url, waiting, silence_s
        self._host, self._port = parts.hostname, parts.port or 80
        self._path = parts.path or "/"
        self._connection: http.client.HTTPConnection | None = None
        self._response: http.client.HTTPResponse | None = None
        self._at = -1

    def close(self) -> None:
        """Drop the connection; the next read makes a new one."""
        if self._connection is not None:
            self._connection.close()
        self._connection = self._response = None

    def fill(self, view: memoryview, offset: int, *, ahead: int) -> None:
        """Fill a buffer with the blob's bytes at this offset.

        Args:
            view: What to fill.
            offset: Where it lies in the blob.
            ahead: Bytes from this offset on that will be asked for one after the other; one
                request serves them all.

        Raises:
            OrderFailedError: BLOBS_UNREACHABLE: silent for too long, or the answer is no range.
        """
        got, failures, heard = 0, 0, time.monotonic()
        while got < len(view):
            try:
                count = self._read(view[got:], offset + got, ahead - got)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if time.monotonic() - heard > self._silence_s:
                    text = f"{self._url}: nothing came for {self._silence_s:.0f} s: {error!r}"
                    raise OrderFailedError("BLOBS_UNREACHABLE", text) from error
                self._waiting()
                time.sleep(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
                failures += 1
                continue
            got += count
            failures, heard = 0, time.monotonic()

    def _read(self, view: memoryview, offset: int, ahead: int) -> int:
        if self._response is None or self._at != offset:
            self._ask(offset, ahead)
        assert self._response is not None
        count = self._response.readinto(view)
        if not count:
            raise http.client.IncompleteRead(b"", len(view))
        self._at += count
        if self._response.isclosed():
            self._response = None
        return count

    def _ask(self, offset: int, length: int) -> None:
        if self._response is not None:
            # an answer that was not read to its end holds the connection
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection(self._host, self._port, timeout=_SOCKET_S)
        wanted = f"bytes={offset}-{offset + length - 1}"
        self._connection.request("GET", self._path, headers={"Range": wanted})
        response = self._connection.getresponse()
        if response.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
            raise http.client.HTTPException(f"status {response.status}")
        given = response.getheader("Content-Range", "")
        if response.status != http.HTTPStatus.PARTIAL_CONTENT or not given.startswith(
            f"bytes {offset}-{offset + length - 1}/"
        ):
            text = f"{self._url}: asked for {wanted}, answered {response.status} {given}"
            raise OrderFailedError("BLOBS_UNREACHABLE", text)
        self._response, self._at = response, offset
