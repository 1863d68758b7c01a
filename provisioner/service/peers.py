"""Connections as uvicorn serves them, with what we must know of their other end.

Three things are added to uvicorn's own protocol class: of a Unix socket's peer the uid that
the kernel vouches for; bounds, so that one source cannot take all connections; and what is no
HTTP is answered by the error model and reaches neither the application nor the log's end.
"""

import asyncio
import contextlib
import json
import logging
import socket
import struct
from typing import Any, ClassVar, Final, cast

from starlette.requests import Request
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from provisioner.errors import ErrorCode, InputError
from provisioner.service.replies import body_of, status_of

_UCRED: Final = struct.Struct("3i")
"""struct ucred: pid, uid, gid. Source: unix(7)."""
PEER_UID: Final = "peer_uid"
FIRST_REQUEST_WITHIN_S: Final = 30.0
MOST_OF_ONE_SOURCE: Final = 64
WARN_EVERY_S: Final = 60.0
UNANSWERED: Final = frozenset({"IDLE", "SEND_RESPONSE"})
"""States of h11 in which no answer has begun."""
NO_HTTP: Final = InputError(ErrorCode.PAYLOAD_MALFORMED, "this is no request of HTTP/1.1")

log = logging.getLogger(__name__)


class _Seldom(logging.Filter):
    """The same warning once a minute: whoever may connect may send nonsense all day."""

    def __init__(self) -> None:
        super().__init__()
        self._said: dict[str, float] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Called in the loop of the connection that has something to say."""
        if record.levelno != logging.WARNING:
            return True
        now = asyncio.get_running_loop().time()
        if now - self._said.get(record.msg, -WARN_EVERY_S) < WARN_EVERY_S:
            return False
        self._said[record.msg] = now
        return True


log.addFilter(_Seldom())


class Peer(H11Protocol):
    """A connection that can be ended at once, whatever its other end does."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Called by the event loop."""
        super().connection_made(transport)
        self._socket: socket.socket = transport.get_extra_info("socket")
        self.logger = log

    def send_400_response(self, msg: str) -> None:
        """Called where the bytes are no HTTP, perhaps behind the head of a request.

        That request's application may wait for its body, or answer: to it the caller is gone.
        """
        del msg
        begun = cast("RequestResponseCycle | None", self.cycle)
        if begun is not None and not begun.response_complete:
            begun.disconnected = True
            begun.message_event.set()
        if self.conn.our_state.__name__ in UNANSWERED:
            self.transport.write(_refusal())
        self.transport.close()

    def cut(self) -> None:
        """No farewell, and what is not yet sent is lost."""
        try:
            self.transport.abort()
        except AttributeError:
            # a TLS transport of Python 3.11 that was closed twice has forgotten its connection
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class UnixPeer(Peer):
    """Notes the peer's uid for the application, in the request's state."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Called by the event loop."""
        super().connection_made(transport)
        uid = _uid_of(self._socket)
        self.app_state = {**self.app_state, PEER_UID: uid}


class BoundedPeer(Peer):
    """Cuts a connection that asks nothing, and those beyond the bound of one source."""

    most_of_one_source: ClassVar[int] = MOST_OF_ONE_SOURCE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Called by the event loop."""
        super().connection_made(transport)
        source = self.client[0] if self.client else None
        same = [each for each in self.connections if _source_of(each) == source]
        if len(same) > self.most_of_one_source:
            self.cut()
            return
        self.loop.call_later(FIRST_REQUEST_WITHIN_S, self._cut_if_silent)

    def shutdown(self) -> None:
        """Called when the service ends. Under TLS a mere close would wait for the other end."""
        begun = cast("RequestResponseCycle | None", self.cycle)
        if begun is None or begun.response_complete:
            self.cut()
        else:
            super().shutdown()

    def _cut_if_silent(self) -> None:
        # uvicorn declares it as never None, and begins with None
        if cast("object", self.cycle) is None and not self.transport.is_closing():
            self.cut()


def peer_uid(request: Request) -> int | None:
    """The uid of the process at the other end; None where this is no Unix socket."""
    uid: Any = getattr(request.state, PEER_UID, None)
    return uid if isinstance(uid, int) else None


def _refusal() -> bytes:
    body = json.dumps(body_of(NO_HTTP)).encode()
    head = (
        f"HTTP/1.1 {status_of(NO_HTTP)} Bad Request\r\ncontent-type: application/json\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
    )
    return head.encode() + body


def _source_of(connection: Any) -> str | None:  # noqa: ANN401 uvicorn's union of protocols
    client: tuple[str, int] | None = connection.client
    return client[0] if client else None


def _uid_of(connection: socket.socket) -> int:
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    uid: int = _UCRED.unpack(packed)[1]
    return uid
