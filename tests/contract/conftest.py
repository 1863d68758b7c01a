"""The emulators of the suite, and how many conversations crossed a socket to them."""

import functools
import http.server
import threading
from collections import Counter

import pytest

from provisioner.servers.model import ControllerDriver
from tests.contract.emulators import IpmiSim, SushyEmulator
from tests.contract.relays import TcpRelay, UdpRelay
from tests.contract.rigs import UUID, FakeRig, IpmiRig, SushyRig
from tests.contract.serial import SerialPort

CROSSED = Counter()


def pytest_terminal_summary(terminalreporter):
    if CROSSED:
        terminalreporter.section("conversations that crossed a socket")
        for who, times in sorted(CROSSED.items()):
            terminalreporter.write_line(f"{who}: {times}")


@pytest.fixture(scope="session")
def serial():
    port = SerialPort()
    yield port
    port.close()


@pytest.fixture(scope="session")
def ipmi_sim(tmp_path_factory, serial):
    emulator = IpmiSim(tmp_path_factory.mktemp("ipmi_sim"), UUID, serial.port).start()
    yield emulator
    emulator.kill()


@pytest.fixture(scope="session")
def sushy_tools(tmp_path_factory):
    emulator = SushyEmulator(tmp_path_factory.mktemp("sushy"), [UUID]).start()
    yield emulator
    emulator.kill()


@pytest.fixture(scope="session")
def published(tmp_path_factory):
    """A folder, and a web server that shows it to controllers."""
    folder = tmp_path_factory.mktemp("published")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    serve = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def make_rig(request):
    """A rig of this kind; its relay counts until the test ends."""
    relays = []

    def make(kind):
        if kind == "fake":
            return FakeRig()
        if kind == "sushy":
            emulator = request.getfixturevalue("sushy_tools")
            folder, url = request.getfixturevalue("published")
            relays.append((kind, TcpRelay(emulator.port)))
            rig = SushyRig(emulator, relays[-1][1], url, folder)
        else:
            emulator = request.getfixturevalue("ipmi_sim")
            relays.append((kind, UdpRelay(emulator.port)))
            rig = IpmiRig(ControllerDriver(kind), emulator, relays[-1][1])
        rig.reset()
        return rig

    yield make
    for kind, relay in relays:
        relay.close()
        crossed = relay.tries if isinstance(relay, UdpRelay) else relay.connections
        label = {
            "pyghmi": "IPMI sessions by pyghmi to ipmi_sim",
            "ipmitool": "IPMI sessions by ipmitool to ipmi_sim",
            "sushy": "TLS connections by sushy to sushy-tools",
        }[kind]
        CROSSED[label] += crossed


KINDS = ["fake", "pyghmi", "ipmitool", "sushy"]


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.emulated) for kind in KINDS])
def rig(request, make_rig):
    return make_rig(request.param)
