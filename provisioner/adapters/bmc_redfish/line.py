"""Connections to one Redfish service: watched, compared with the pin, cut when given up."""

import contextlib
import hashlib
import io
import socket
import ssl
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from sushy import connector
from urllib3.connection import HTTPSConnection
from urllib3.connectionpool import HTTPSConnectionPool

from provisioner.errors import ErrorCode, OperatorError

CONNECT_S, READ_S = 5.0, 15.0
MOST_BODY = 4 * 1024 * 1024
"""Bytes of one answer; a system with all its links has some thousand."""


class Line:
    """The connections of one conversation, one at a time, all to the same certificate."""

    def __init__(self, where: str, pin: str | None) -> None:
        self._where, self.pin = where, pin
        self._socket: socket.socket | None = None
        self._closed = False

    def opened(self, sock: socket.socket | None) -> None:
        """Called between the TLS handshake and the first request.

        Raises:
            OperatorError: CONTROLLER_CERTIFICATE.
        """
        assert isinstance(sock, ssl.SSLSocket)
        seen = hashlib.sha256(sock.getpeercert(binary_form=True) or b"").hexdigest()
        if self.pin not in {None, seen}:
            raise OperatorError(
                ErrorCode.CONTROLLER_CERTIFICATE,
                f"{self._where} shows another certificate than at enrolment",
                f"sha256 {seen}, pinned {self.pin}",
            )
        self.pin = seen
        if self._closed:
            raise requests.ConnectionError("given up")
        self._socket = sock

    def cut(self) -> None:
        """A thread that waits for an answer gets an error instead."""
        self._closed = True
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


def _pool_for(line: Line) -> type[HTTPSConnectionPool]:
    class Watched(HTTPSConnection):
        def connect(self) -> None:
            super().connect()
            line.opened(self.sock)

    class Pool(HTTPSConnectionPool):
        ConnectionCls = Watched

    return Pool


class _Adapter(HTTPAdapter):
    """Watches each connection of a session and bounds each answer."""

    def __init__(self, line: Line) -> None:
        self._line = line
        super().__init__()

    def init_poolmanager(self, *args: Any, **more: Any) -> None:  # noqa: ANN401 requests' own
        super().init_poolmanager(*args, **more)
        self.poolmanager.pool_classes_by_scheme = {"https": _pool_for(self._line)}

    def send(self, request: requests.PreparedRequest, *_: Any, **more: Any) -> requests.Response:  # noqa: ANN401
        response = super().send(request, **{**more, "stream": True})
        try:
            body = response.raw.read(MOST_BODY + 1, decode_content=True)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise requests.ConnectionError(error, request=request) from error
        finally:
            response.raw.close()
        if len(body) > MOST_BODY:
            raise requests.exceptions.ContentDecodingError("an answer without end", request=request)
        response.raw = io.BytesIO(body)
        return response


class Connector(connector.Connector):  # type: ignore[misc] # sushy has no types
    """Of sushy, over a watched line: no proxy, no CA bundle, no netrc of the environment."""

    def __init__(self, url: str, line: Line) -> None:
        super().__init__(
            url,
            verify=False,  # the pin is the check
            server_side_retries=1,
            server_side_retries_delay=1,
            default_request_timeout=READ_S,
            connect_timeout=CONNECT_S,
        )
        self._session.trust_env = False
        self._session.adapters.clear()  # a redirection to plain HTTP goes nowhere
        self._session.mount("https://", _Adapter(line))


def is_no_tls(error: BaseException | None) -> bool:
    """What answered does not speak TLS, or not one that is spoken today."""
    return isinstance(error, requests.exceptions.SSLError)


def is_without_end(error: BaseException | None) -> bool:
    """An answer of more than MOST_BODY bytes."""
    return isinstance(error, requests.exceptions.ContentDecodingError)
