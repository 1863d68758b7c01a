"""The example's `answer` as a service of a few lines, with our entry before it."""

import asyncio
import importlib.util
import os
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, urlsplit

import pytest

from cloudstack_ext.conformance.model import CHECKS, Outcome
from cloudstack_ext.conformance.stage import make_stage
from cloudstack_ext.conformance.suite import run
from cloudstack_ext.contract import failed
from provisioner.adapters.clock import SystemClock
from provisioner.errors import RackwrightError
from tests.service.conformance.judging import WISHES
from tests.service.conformance.variants import EXAMPLE
from tests.service.entry.rig import ENTRY

pytestmark = pytest.mark.emulated


class Service(socketserver.ThreadingUnixStreamServer):
    """Each request in a thread of its own."""

    daemon_threads = True
    request_queue_size = 128


class Verbs(BaseHTTPRequestHandler):
    """What the entry asks, answered by the example."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        verb = parse_qs(urlsplit(self.path).query)["verb"][0]
        payload = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            reply = self.server.answer(verb, payload)
        except RackwrightError as error:
            reply = failed(error)
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply.line)))
        self.send_header("Rackwright-Exit", str(reply.exit))
        self.end_headers()
        self.wfile.write(reply.line.encode())

    def address_string(self):
        return "entry"

    def log_message(self, *_):
        """Nobody reads it."""


@pytest.fixture
def entry(tmp_path, monkeypatch):
    (tmp_path / "machines").mkdir()
    monkeypatch.setenv("EXAMPLE_FOLDER", str(tmp_path / "machines"))
    spec = importlib.util.spec_from_file_location("example", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    config = tmp_path / "entry.conf"
    config.write_text(f"socket = {tmp_path}/s\n")
    config.chmod(0o600)
    with Service(f"{tmp_path}/s", Verbs) as service:
        service.answer = example.answer
        thread = threading.Thread(target=service.serve_forever)
        thread.start()
        yield ["/usr/bin/env", f"RACKWRIGHT_ENTRY_CONFIG={config}", os.fspath(ENTRY)]
        service.shutdown()
        thread.join()


def test_the_example_behind_our_entry_passes_every_check(entry, tmp_path):
    stage = make_stage(entry, tmp_path / "payloads", SystemClock(), WISHES)
    results = asyncio.run(run(stage, lambda _: None, CHECKS))
    fails = {each.name: each.detail for each in results if each.outcome is not Outcome.PASSED}
    assert not fails
    assert len(results) == len(CHECKS)
