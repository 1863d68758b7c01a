"""The command's door over a real socket, and how quick its help is."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from provisioner.adapters.clock import SystemClock
from provisioner.cli.service_client import ServiceClient
from provisioner.config import OperatorUid, Role
from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.operations.desk import Inspect, Operator
from provisioner.servers.manifest import parse_manifest
from provisioner.service.identity import ByPeer
from provisioner.service.metrics import Metrics
from provisioner.service.operators import operator_app, operator_table
from provisioner.service.server import on_unix, serve
from provisioner.testing.desk import MemoryDesk
from provisioner.units import OperationId, ServerName, WallSeconds

pytestmark = pytest.mark.emulated
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "servers.yaml"
ROOT = Path(__file__).parents[2]


class Site:
    def __init__(self, path: Path) -> None:
        self.path, self.client = path, ServiceClient(path)
        self.desk = MemoryDesk(clock=SystemClock())
        for entry in parse_manifest(EXAMPLE.read_text(), source="x").servers:
            self.desk.kept[ServerName(entry.name)] = entry.record(WallSeconds(1.0))
        self.stopping, self.loop = asyncio.Event(), asyncio.new_event_loop()

    def begin(self) -> OperationId:
        by = Operator(name="x", role=Role.ADMIN, by="test")
        asked = self.desk.act(ServerName("old-03"), Inspect(), by, dry_run=False)
        operation = asyncio.run(asked).operation
        assert operation is not None
        return operation

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self.stopping.set)

    def run(self, up: threading.Event) -> None:
        table = operator_table(
            self.desk.desk(),
            clock=SystemClock(),
            metrics=Metrics(),
            stopping=self.stopping.is_set,
        )
        me = OperatorUid(uid=os.getuid(), name="me", role=Role.ADMIN)
        listener = on_unix("operators", operator_app(table, ByPeer({me.uid: me})), self.path)
        with contextlib.closing(self.loop):
            serving = serve([listener], stopping=self.stopping, started=up.set)
            self.loop.run_until_complete(serving)


@pytest.fixture
def site(tmp_path) -> Iterator[Site]:
    made, up = Site(tmp_path / "s"), threading.Event()
    thread = threading.Thread(target=made.run, args=(up,))
    thread.start()
    assert up.wait(10)
    yield made
    if thread.is_alive():
        made.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_the_door_asks_and_hears_errors_of_the_same_code(site):
    assert len(site.client.ask("GET", "/v1/servers")["servers"]) == 2
    with pytest.raises(RackwrightError) as caught:
        site.client.ask("GET", "/v1/servers/none")
    assert caught.value.code is ErrorCode.SERVER_UNKNOWN
    assert site.client.fetch("/metrics").startswith(b"# HELP")


def test_events_come_as_they_happen(site):
    identifier = site.begin()
    events = site.client.events(f"/v1/operations/{identifier}/events")
    assert next(events)["operation"]["status"] == "open"
    site.desk.finish(identifier)
    assert next(events)["operation"]["status"] == "done"
    assert list(events) == []


def test_a_follower_is_let_go_when_the_service_ends(site):
    identifier = site.begin()
    events = site.client.events(f"/v1/operations/{identifier}/events")
    next(events)
    site.stop()
    assert [event["operation"]["status"] for event in events] in ([], ["open"])


def test_a_service_that_is_not_there_is_said_to_be(tmp_path):
    with pytest.raises(TransientError, match="is `rackwright serve` running") as caught:
        ServiceClient(tmp_path / "none").ask("GET", "/v1/servers")
    assert caught.value.code is ErrorCode.SERVICE_DOWN


def test_a_service_that_cuts_or_talks_nonsense_is_said_to_be(tmp_path):
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def answer(words: bytes) -> None:
            connection = listener.accept()[0]
            connection.recv(4096)
            connection.sendall(words)
            connection.close()

        for words in (b"", b"hello\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"):
            thread = threading.Thread(target=answer, args=(words,))
            thread.start()
            with pytest.raises(TransientError) as caught:
                ServiceClient(path).ask("GET", "/v1/servers")
            thread.join()
            assert caught.value.code is ErrorCode.SERVICE_DOWN


SIGNALLED = """
import asyncio, sys
from pathlib import Path
from starlette.applications import Starlette
from provisioner.service.server import on_unix, serve, stop_on_signals

async def main():
    stopping = asyncio.Event()
    stop_on_signals(stopping)
    listener = on_unix("x", Starlette(), Path(sys.argv[1]))
    await serve([listener], stopping=stopping, started=lambda: print("up", flush=True))

asyncio.run(main())
print("ended")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_service_cleanly(tmp_path, number):
    path = tmp_path / "s"
    with subprocess.Popen(
        [sys.executable, "-c", SIGNALLED, path],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as child:
        try:
            assert child.stdout.readline() == "up\n"
            began = time.monotonic()
            child.send_signal(number)
            assert child.stdout.read() == "ended\n"
            assert child.wait(10) == 0
            assert time.monotonic() - began < 5
        finally:
            child.kill()
    assert not path.exists()


HEAVY = ("rich", "yaml", "starlette", "sqlalchemy", "ssl", "asyncio", "cryptography", "http.client")
HELP = """
import json, sys
from provisioner.cli.callbacks import Callbacks
from provisioner.cli.group import make_cli
code = make_cli(Callbacks(now=None, service=None, images=None, keys=None)).main(
    ["--help"], standalone_mode=False)
print(json.dumps([code, sorted(sys.modules)]), file=sys.stderr)
"""


def test_help_imports_nothing_heavy():
    done = subprocess.run(
        [sys.executable, "-c", HELP],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=ROOT,
    )
    code, modules = json.loads(done.stderr)
    assert code == 0
    assert [name for name in HEAVY if name in modules] == []
