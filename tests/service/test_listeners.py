"""The listeners over real sockets: peers, bounds, TLS, and the end of the service."""

import asyncio
import contextlib
import dataclasses
import errno
import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from provisioner.adapters.clock import SystemClock
from provisioner.errors import ConflictError, ErrorCode, OperatorError, TransientError
from provisioner.service import peers
from provisioner.service.body import read_body
from provisioner.service.callers import CallerByUid
from provisioner.service.extension import Extension
from provisioner.service.metrics import Metrics
from provisioner.service.peers import peer_uid
from provisioner.service.replies import HANDLERS
from provisioner.service.server import (
    Listener,
    on_tcp,
    on_unix,
    open_tcp,
    open_unix,
    serve,
    server_tls,
)
from provisioner.units import SiteName
from tests.contract import emulators
from tests.contract.relays import free_port

pytestmark = pytest.mark.emulated


async def _who(request: Request) -> JSONResponse:
    return JSONResponse({"uid": peer_uid(request), "state": len(request.scope["state"])})


async def _take(request: Request) -> JSONResponse:
    return JSONResponse(len(await read_body(request, 1024)))


APP = Starlette(
    routes=[Route("/who", _who), Route("/take", _take, methods=["POST"])],
    exception_handlers=HANDLERS,
)


@dataclass
class Running:
    loop: asyncio.AbstractEventLoop
    stopping: asyncio.Event
    thread: threading.Thread
    raised: list[BaseException] = field(default_factory=list)

    def stop(self) -> float:
        began = time.monotonic()
        self.loop.call_soon_threadsafe(self.stopping.set)
        self.thread.join(20)
        assert not self.thread.is_alive()
        assert self.raised == []
        return time.monotonic() - began


@contextlib.contextmanager
def running(*listeners: Listener, stopping: asyncio.Event | None = None) -> Iterator[Running]:
    event, up = stopping or asyncio.Event(), threading.Event()
    loop = asyncio.new_event_loop()

    def run() -> None:
        with contextlib.closing(loop):
            try:
                loop.run_until_complete(serve(listeners, stopping=event, started=up.set))
            except BaseException as error:  # noqa: BLE001 `stop` asserts that there is none
                service.raised.append(error)

    thread = threading.Thread(target=run)
    service = Running(loop, event, thread)
    thread.start()
    assert up.wait(10)
    try:
        yield service
    finally:
        if thread.is_alive():
            service.stop()


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(10)
        self.sock.connect(str(self.path))


def asked(connection: http.client.HTTPConnection, method: str, target: str, body: bytes = b""):
    with contextlib.closing(connection):
        connection.request(method, target, body)
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read()


def test_the_kernel_says_who_is_at_the_other_end(tmp_path):
    path = tmp_path / "s"
    with running(on_unix("test", APP, path)):
        body = asked(UnixConnection(path), "GET", "/who")[2]
    assert json.loads(body) == {"uid": os.getuid(), "state": 1}


@pytest.fixture
def open_folder():
    """pytest's own folders are closed to everybody else."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="another uid needs root")
def test_another_uid_is_told_apart(open_folder):
    path = open_folder / "s"
    script = (
        "import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]);"
        "s.sendall(b'GET /who HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n');"
        "print(s.makefile().read())"
    )
    with running(on_unix("test", APP, path)):
        child = subprocess.run(
            ["setpriv", "--reuid=4242", "--clear-groups", sys.executable, "-I", "-c", script, path],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    assert '"uid":4242' in child.stdout


def test_the_socket_goes_with_the_service_and_a_dead_one_is_replaced(tmp_path):
    path = tmp_path / "s"
    open_unix(path).close()
    assert path.exists()
    with running(on_unix("test", APP, path)) as service:
        assert asked(UnixConnection(path), "GET", "/who")[0] == 200
        assert path.stat().st_mode & 0o777 == 0o666
        service.stop()
    assert not path.exists()


def test_a_socket_that_somebody_answers_is_not_taken(tmp_path):
    path = tmp_path / "s"
    with running(on_unix("test", APP, path)):
        with pytest.raises(ConflictError, match="another service"):
            open_unix(path)
        assert asked(UnixConnection(path), "GET", "/who")[0] == 200


def test_what_cannot_be_listened_on_is_said(tmp_path):
    with pytest.raises(OperatorError, match="No such file"):
        open_unix(tmp_path / "gone" / "s")
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(OperatorError) as caught,
    ):
        open_tcp("127.0.0.1", taken.getsockname()[1])
    assert caught.value.code is ErrorCode.IN_USE


def test_an_address_that_may_still_come_is_waited_for():
    with pytest.raises(TransientError, match=r"192\.0\.2\.1 is no address of this") as caught:
        open_tcp("192.0.2.1", 8443)
    assert caught.value.code is ErrorCode.ADDRESS_MISSING
    assert caught.value.exit_code == 75


def test_a_port_that_only_root_may_have_is_a_matter_of_the_configuration(monkeypatch):
    refusal = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(socket, "create_server", mock.Mock(side_effect=refusal))
    with pytest.raises(OperatorError, match="port 443: Permission denied") as caught:
        open_tcp("127.0.0.1", 443)
    assert caught.value.code is ErrorCode.CONFIG_INVALID


def test_a_held_verb_is_let_go_and_the_service_ends_soon(tmp_path):
    path, stopping, begun = tmp_path / "s", asyncio.Event(), threading.Event()

    async def answer(*_asked: object) -> tuple[str, int]:
        begun.set()
        await asyncio.Event().wait()
        return "", 0

    extension = Extension(
        answer=answer,
        refuse=lambda error: (str(error), 1),
        caller_of=CallerByUid({os.getuid(): SiteName("lab")}),
        names=frozenset(),
        clock=SystemClock(),
        metrics=Metrics(),
        stopping=stopping,
    )
    with running(on_unix("extension", extension.app(), path), stopping=stopping) as service:
        connection = UnixConnection(path)
        connection.request("POST", "/v1/verbs?verb=create&wait=1800", b"{}")
        assert begun.wait(5)
        assert service.stop() < 3
        reply = connection.getresponse()
        assert (reply.status, reply.headers["rackwright-exit"]) == (503, None)
        connection.close()


def test_a_large_body_is_refused_and_the_answer_can_be_read(tmp_path):
    path = tmp_path / "s"
    with running(on_unix("test", APP, path)):
        assert asked(UnixConnection(path), "POST", "/take", b"x" * 1024)[2] == b"1024"
        status, _, body = asked(UnixConnection(path), "POST", "/take", b"x" * 4000)
    assert status == 413
    assert json.loads(body)["error"]["code"] == "PAYLOAD_TOO_LARGE"


def test_an_answer_on_a_kept_connection_waits_for_no_acknowledgement():
    port, times = free_port(), []
    with running(on_tcp("test", APP, "127.0.0.1", port, None)):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        for _ in range(20):
            began = time.monotonic()
            connection.request("GET", "/who")
            connection.getresponse().read()
            times.append(time.monotonic() - began)
        connection.close()
    # the kernel delays an acknowledgement by 40 ms at least; a busy machine is slow now and then
    assert sorted(times)[5] < 0.03


def test_one_source_cannot_take_all_connections():
    port = free_port()
    with running(on_tcp("test", APP, "127.0.0.1", port, None)):
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(70)]
        time.sleep(0.3)
        cut = 0
        for each in held:
            each.settimeout(0.01)
            with contextlib.suppress(TimeoutError):
                try:
                    cut += each.recv(1) == b""
                except ConnectionResetError:
                    cut += 1
        for each in held:
            each.close()
        assert cut == 70 - peers.MOST_OF_ONE_SOURCE
        time.sleep(0.3)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        assert asked(connection, "GET", "/who")[0] == 200


CHUNKED = b"%s HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
# what is sent, each part once the one before was read -> the statuses that are answered
NO_HTTP = {
    "a bad chunk with the head of a GET": ((CHUNKED % b"GET /who" + b"zz\r\n",), [400]),
    "a bad chunk with the head of a POST": ((CHUNKED % b"POST /take" + b"zz\r\n",), [400]),
    "a bad chunk while the body is waited for": ((CHUNKED % b"POST /take", b"zz\r\n"), [400]),
    "a bad chunk behind a whole answer": ((CHUNKED % b"GET /who", b"zz\r\n"), [200]),
    "no line of HTTP": ((b"\x16\x03\x01\r\n\r\n",), [400]),
}


@pytest.mark.parametrize("how", NO_HTTP)
def test_what_is_no_http_is_answered_by_the_error_model_and_leaves_one_warning(how, caplog):
    parts, expected = NO_HTTP[how]
    peers.log.filters[0]._said.clear()
    port = free_port()
    with running(on_tcp("test", APP, "127.0.0.1", port, None)):
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port), timeout=5) as caller:
                heard = b""
                for part in parts:
                    caller.sendall(part)
                    time.sleep(0.05 if len(parts) > 1 else 0.0)
                with contextlib.suppress(ConnectionResetError):
                    while more := caller.recv(65536):
                        heard += more
            assert [int(each[:3]) for each in heard.split(b"HTTP/1.1 ")[1:]] == expected
            if expected == [400]:
                body = json.loads(heard.partition(b"\r\n\r\n")[2])
                assert body["error"]["code"] == "PAYLOAD_MALFORMED"
    said = [record for record in caplog.records if record.levelname != "INFO"]
    assert [(each.levelname, each.exc_info) for each in said] == [("WARNING", None)]


def test_a_connection_that_asks_nothing_is_cut(monkeypatch):
    monkeypatch.setattr(peers, "FIRST_REQUEST_WITHIN_S", 0.3)
    port = free_port()
    with (
        running(on_tcp("test", APP, "127.0.0.1", port, None)),
        socket.create_connection(("127.0.0.1", port), timeout=5) as silent,
    ):
        silent.sendall(b"GET /who HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionResetError):
            assert silent.recv(1) == b""


@pytest.fixture
def certificate(tmp_path):
    emulators.certificate(tmp_path, "localhost")
    return tmp_path / "cert.pem", tmp_path / "key.pem"


def test_tls_is_of_version_1_3_and_nothing_older(certificate):
    pem, key = certificate
    port = free_port()
    trusting = ssl.create_default_context(cafile=pem)
    with running(on_tcp("agents", APP, "127.0.0.1", port, server_tls(pem, key))):
        connection = http.client.HTTPSConnection("localhost", port, context=trusting, timeout=5)
        assert asked(connection, "GET", "/who")[0] == 200
        old = ssl.create_default_context(cafile=pem)
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises(ssl.SSLError):
            asked(http.client.HTTPSConnection("localhost", port, context=old), "GET", "/who")


@pytest.mark.parametrize(
    "asked_for",
    [
        b"GET /who HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        b"GET /who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nmore",
        b"nonsense\r\n\r\n",
        b"",
    ],
    ids=["kept", "closed", "closed with more", "nonsense", "nothing asked"],
)
def test_a_caller_that_never_says_farewell_does_not_hold_up_the_end(certificate, asked_for):
    """Under TLS a closed connection waits 30 s for the other end's farewell."""
    pem, key = certificate
    port = free_port()
    trusting = ssl.create_default_context(cafile=pem)
    with running(on_tcp("agents", APP, "127.0.0.1", port, server_tls(pem, key))) as service:
        plain = socket.create_connection(("127.0.0.1", port), timeout=5)
        with trusting.wrap_socket(plain, server_hostname="localhost") as silent:
            silent.sendall(asked_for)
            if asked_for:
                assert silent.recv(4096).startswith(b"HTTP/1.1 ")
            time.sleep(0.2)
            assert service.stop() < 2


def test_a_connection_that_was_closed_twice_does_not_hold_up_the_end(certificate):
    """Python 3.11 forgets what such a transport belongs to."""
    pem, key = certificate
    port, made = free_port(), []

    class Closing(peers.BoundedPeer):
        def connection_made(self, transport):
            super().connection_made(transport)
            made.append(self)

    trusting = ssl.create_default_context(cafile=pem)
    listener = on_tcp("agents", APP, "127.0.0.1", port, server_tls(pem, key))
    with running(dataclasses.replace(listener, peers=Closing)) as service:
        plain = socket.create_connection(("127.0.0.1", port), timeout=5)
        with trusting.wrap_socket(plain, server_hostname="localhost"):
            time.sleep(0.2)
            for _ in range(2):
                service.loop.call_soon_threadsafe(made[0].transport.close)
            time.sleep(0.2)
            assert service.stop() < 2


def test_keys_that_cannot_be_read_are_said(tmp_path):
    with pytest.raises(OperatorError) as caught:
        server_tls(tmp_path / "no.pem", tmp_path / "no.key")
    assert caught.value.code is ErrorCode.FILE_UNREADABLE


def test_listeners_share_nothing(tmp_path):
    first, second = tmp_path / "a", tmp_path / "b"
    other = Starlette(routes=[Route("/other", _who)], exception_handlers=HANDLERS)
    with running(on_unix("a", APP, first), on_unix("b", other, second)):
        assert asked(UnixConnection(first), "GET", "/other")[0] == 404
        assert asked(UnixConnection(second), "GET", "/who")[0] == 404
        assert asked(UnixConnection(second), "GET", "/other")[0] == 200
