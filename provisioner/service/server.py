"""Runs listeners in one event loop, each with its own server, until the service is told to end.

The one place that knows uvicorn's server. Sockets are made here, before anything is served:
a Unix socket gets its mode before it listens, and one that somebody still answers is not
taken away.
"""

import asyncio
import contextlib
import errno
import logging
import signal
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

import uvicorn
from starlette.types import ASGIApp

from provisioner.errors import ConflictError, ErrorCode, OperatorError, TransientError
from provisioner.service.peers import BoundedPeer, Peer, UnixPeer

log = logging.getLogger(__name__)

SOCKET_MODE: Final = 0o666
"""Whoever may connect is told apart by uid; the folder decides who may come near."""
BACKLOG: Final = 256
GRACE_S: Final = 5
KEEP_ALIVE_S: Final = 75
"""An agent at work is heard every 10 s; a new handshake each time would cost it more."""
MOST_CONNECTIONS: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """One application on sockets of its own.

    Attributes:
        name: For the log: "extension", "operators", "agents", "boot".
        peers: What each connection is served with.
        tls: None is plain HTTP.
        path: Of a Unix socket; removed at the end.
    """

    name: str
    app: ASGIApp
    sockets: tuple[socket.socket, ...]
    peers: type[Peer]
    tls: ssl.SSLContext | None = None
    path: Path | None = None

    def close(self) -> None:
        """Let go of its address."""
        for each in self.sockets:
            each.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def on_unix(name: str, app: ASGIApp, path: Path) -> Listener:
    """A listener on a Unix socket; it listens at once and serves when `serve` runs."""
    sockets = (open_unix(path),)
    return Listener(name=name, app=app, sockets=sockets, peers=UnixPeer, path=path)


def on_tcp(
    name: str, app: ASGIApp, address: str, port: int, tls: ssl.SSLContext | None
) -> Listener:
    """A listener on an address of this machine."""
    sockets = (open_tcp(address, port),)
    return Listener(name=name, app=app, sockets=sockets, peers=BoundedPeer, tls=tls)


def open_unix(path: Path) -> socket.socket:
    """A listening socket at this path.

    Raises:
        ConflictError: IN_USE: a living process answers there.
        OperatorError: CONFIG_INVALID: it cannot be made.
    """
    if _is_answered(path):
        raise ConflictError(ErrorCode.IN_USE, f"another service answers at {path}")
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        path.unlink(missing_ok=True)
        made.bind(str(path))
        path.chmod(SOCKET_MODE)
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        text = f"cannot listen at {path}: {error.strerror or error}"
        raise OperatorError(ErrorCode.CONFIG_INVALID, text) from error
    return made


def open_tcp(address: str, port: int) -> socket.socket:
    """A listening socket at this address.

    Raises:
        TransientError: ADDRESS_MISSING: not an address of this machine, or not yet.
        OperatorError: IN_USE: taken; CONFIG_INVALID: no port that we may have.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        made = socket.create_server((address, port), family=family, backlog=BACKLOG)
    except OSError as error:
        text = f"cannot listen at {address} port {port}: {error.strerror or error}"
        if error.errno == errno.EADDRNOTAVAIL:
            # a card that comes up late, after a power cut: the next start may find it
            text = f"{address} is no address of this machine now; port {port} waits for it"
            raise TransientError(ErrorCode.ADDRESS_MISSING, text) from error
        taken = error.errno == errno.EADDRINUSE
        code = ErrorCode.IN_USE if taken else ErrorCode.CONFIG_INVALID
        raise OperatorError(code, text) from error
    # connections inherit it; the loop sets it for sockets of its own making only, and without
    # it each answer waits 40 ms for an acknowledgement
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def server_tls(certificate: Path, key: Path) -> ssl.SSLContext:
    """TLS 1.3 and nothing older: both ends are ours.

    Raises:
        OperatorError: FILE_UNREADABLE.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:  # ssl.SSLError is one
        text = f"{certificate} with {key}: {error.strerror or error}"
        raise OperatorError(ErrorCode.FILE_UNREADABLE, text) from error
    return context


def stop_on_signals(stopping: asyncio.Event) -> None:
    """SIGTERM and SIGINT end the service; called in its loop."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)


async def serve(
    listeners: Sequence[Listener],
    *,
    stopping: asyncio.Event,
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve until `stopping` is set and every request has ended, or its grace is over.

    Args:
        listeners: With open sockets; they are closed and Unix ones removed at the end.
        stopping: Applications look at the same event to let go of held connections.
        started: Called once, when all of them serve.
    """
    servers = [(_server(each), each) for each in listeners]
    try:
        async with asyncio.TaskGroup() as group:
            running = [
                group.create_task(server.serve(list(each.sockets)), name=each.name)
                for server, each in servers
            ]
            while not all(server.started for server, _ in servers):
                await asyncio.sleep(0.01)
            log.info("serving %s", ", ".join(each.name for each in listeners))
            started()
            await stopping.wait()
            log.info("stopping")
            for server, _ in servers:
                server.should_exit = True
            await asyncio.wait(running)
    finally:
        for each in listeners:
            each.close()


class _Server(uvicorn.Server):
    """Leaves signals to the service: there are several servers in one process."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            cast("Peer", connection).cut()
        await asyncio.sleep(0)  # the loop tells each of them that it is lost


def _server(listener: Listener) -> _Server:
    tls = listener.tls
    return _Server(
        uvicorn.Config(
            listener.app,
            http=listener.peers,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            limit_concurrency=MOST_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=GRACE_S,
            ssl_context_factory=None if tls is None else lambda _config, _default: tls,
        )
    )


def _is_answered(path: Path) -> bool:
    probe = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        probe.connect(str(path))
    except OSError:
        return False
    finally:
        probe.close()
    return True
