"""A management server, the real entry and the real listener, over machines in memory."""

import asyncio
import contextlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from cloudstack_ext.contract import Verb, failed
from cloudstack_ext.lab.payload import LabInstance, lab_payload
from cloudstack_ext.management_server.by_hand import ByHand
from cloudstack_ext.power_view import PowerState
from cloudstack_ext.verbs import answer
from provisioner.adapters.clock import SystemClock
from provisioner.service.by_certificate import on_tcp_by_certificate
from provisioner.service.callers import Caller, CallerByCertificate, CallerByUid
from provisioner.service.extension import Extension
from provisioner.service.metrics import Metrics
from provisioner.service.server import on_unix, serve
from provisioner.testing.machines import FakeMachines, FakePool
from provisioner.units import ImageName, PoolName, ServerName, SiteName
from tests.recorded_payloads import body_of, changed, payload_of
from tests.service.entry.rig import ENTRY, HTTPS, one_object

pytestmark = pytest.mark.emulated


class Service:
    """The extension's listener in a thread; `stop` and `start` are a restart.

    Attributes:
        callers: What each verb's caller was taken for.
    """

    def __init__(self, rig, *, install=0.0, sites=("lab",)):
        self.rig, self.clock, self.callers = rig, SystemClock(), []
        images = {"ubuntu-24.04-cuda": ImageName("tiny"), "tiny": ImageName("tiny")}
        free = [ServerName("bios1"), ServerName("uefi1")]
        pools = {PoolName("a"): FakePool(free=free, images=images)}
        self.machines = FakeMachines(self.clock, pools, install)
        self.sites = [SiteName(site) for site in sites]

    async def _answer(self, verb, payload, wait, caller):
        self.callers.append(caller)
        reply = await answer(
            verb, payload, wait, site=caller.site, machines=self.machines, clock=self.clock
        )
        return reply.line, reply.exit

    @staticmethod
    def _refuse(error):
        return failed(error).line, failed(error).exit

    def _listener(self):
        https = self.rig.way == HTTPS
        extension = Extension(
            answer=self._answer,
            refuse=self._refuse,
            caller_of=self._by_certificate() if https else self._by_uid(),
            names=frozenset(),
            clock=self.clock,
            metrics=Metrics(),
            stopping=self._stopping,
        )
        if https:
            return on_tcp_by_certificate(
                "extension", extension.app(), "127.0.0.1", self.rig.port, self.rig.keys.tls()
            )
        return on_unix("extension", extension.app(), self.rig.socket)

    def _by_uid(self):
        return CallerByUid({os.getuid(): site for site in self.sites})

    def _by_certificate(self):
        return CallerByCertificate(
            read_entries=self.rig.keys.entries.read_text, sites=self.sites, clock=self.clock
        )

    def start(self):
        self._stopping, up = asyncio.Event(), threading.Event()
        self._loop, listener = asyncio.new_event_loop(), self._listener()

        def run():
            with contextlib.closing(self._loop):
                self._loop.run_until_complete(
                    serve([listener], stopping=self._stopping, started=up.set)
                )

        self._thread = threading.Thread(target=run)
        self._thread.start()
        assert up.wait(10)
        return self

    def stop(self):
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(10)
        assert not self._thread.is_alive()


@pytest.fixture
def service(rig):
    with contextlib.ExitStack() as stack:

        def start(**named):
            made = Service(rig, **named).start()
            stack.callback(made.stop)
            return made

        yield start


@pytest.fixture
def management(rig, monkeypatch):
    monkeypatch.setenv("RACKWRIGHT_ENTRY_CONFIG", str(rig.config))
    return ByHand(entry=[os.fspath(ENTRY)], folder=rig.folder / "extensions" / "recorder")


def instance(number=1):
    return LabInstance(
        uuid=f"00000000-0000-4000-8000-{number:012d}",
        name=f"i-2-{number}-VM",
        nic_uuid=f"11111111-0000-4000-8000-{number:012d}",
        mac=f"02:01:00:00:00:{number:02x}",
        address="10.77.1.10",
        netmask="255.255.255.0",
        gateway="10.77.1.1",
        dns="10.77.1.2",
        vlan=700 + number,
        image="tiny",
        hostname=f"demo-{number}",
    )


def test_an_instance_from_prepare_to_delete(service, management):
    machines = service().machines
    told = {verb: lab_payload(verb, instance()) for verb in Verb}
    prepared = management.call("prepare", told[Verb.PREPARE], 1800)
    assert (prepared.exit, prepared.failure) == (0, "")
    assert management.call("status", told[Verb.STATUS], 60).power_state() is PowerState.UNKNOWN
    assert management.call("create", told[Verb.CREATE], 1800).exit == 0
    assert machines.deployed[0].networks[0].mac in prepared.output
    assert management.call("status", told[Verb.STATUS], 60).power_state() is PowerState.ON
    for verb in (Verb.STOP, Verb.START, Verb.REBOOT, Verb.DELETE):
        assert management.call(verb, told[verb], 1800).exit == 0
    assert management.call("status", told[Verb.STATUS], 60).power_state() is PowerState.OFF
    refused = management.call("create", told[Verb.CREATE], 1800)
    assert refused.exit == 1
    assert "INSTANCE_DELETED" in refused.failure


def test_payload_files_lie_as_a_management_server_leaves_them(service, management):
    service()
    management.call("stop", lab_payload(Verb.STOP, instance()), 60)
    management.call("status", lab_payload(Verb.STATUS, instance()), 60)
    (left,) = management.folder.iterdir()
    assert left.stat().st_mode & 0o777 == 0o644
    assert b"\n" not in left.read_bytes()


@pytest.mark.parametrize(
    ("verb", "number", "code"),
    [
        ("delete", 56, "CUSTOM_ACTION_REFUSED"),
        ("why", 7, "CUSTOM_ACTION_REFUSED"),
        ("power-cycle", 8, "PAYLOAD_FIELD"),
        ("getconsole", 3, "VERB_NOT_THERE"),
        ("statuses", 31, "PAYLOAD_FIELD"),
        ("statuses", 7, "CUSTOM_ACTION_REFUSED"),
        ("deploy", 39, "VERB_UNKNOWN"),
        ("créate", 39, "VERB_UNKNOWN"),
        *((body_of(n)["action"], n, "VERB_UNKNOWN") for n in (37, 44, 48, 49, 50, 51, 52)),
    ],
)
def test_what_is_no_verb_fails_within_a_second_and_reaches_no_machine(
    service, management, verb, number, code
):
    machines = service().machines
    called = management.call(verb, payload_of(number), 5)
    assert called.exit == 1
    assert one_object(called.output.encode())["error"].startswith(code + ":")
    assert called.seconds < 1
    assert machines.calls == []


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"", "PAYLOAD_EMPTY"),
        (payload_of(39)[:2000], "PAYLOAD_MALFORMED"),
        (os.urandom(4096), "PAYLOAD_MALFORMED"),
        (b"[" * 100_000, "PAYLOAD_MALFORMED"),
        (b"[]", "PAYLOAD_NOT_AN_OBJECT"),
        (b" " * (4 * 1024 * 1024 + 1), "PAYLOAD_TOO_LARGE"),
        (changed(39, "virtualmachineid", "57"), "PAYLOAD_FIELD"),
    ],
)
def test_a_payload_that_is_none_is_one_clear_line(service, management, payload, code):
    service()
    called = management.call("create", payload, 1800)
    assert called.exit == 1
    assert one_object(called.output.encode())["error"].startswith(code + ":")


def test_64_creates_at_once_for_two_servers(service, management):
    service(install=0.5)
    with ThreadPoolExecutor(64) as pool:
        payloads = [lab_payload(Verb.CREATE, instance(number)) for number in range(64)]
        ended = list(pool.map(lambda payload: management.call("create", payload, 1800), payloads))
    assert sorted(called.exit for called in ended) == [0, 0] + [1] * 62
    assert all("NO_CAPACITY" in called.output for called in ended if called.exit)


def test_a_create_goes_on_over_a_restart_of_the_service(service, management):
    running = service(install=3.0)
    with ThreadPoolExecutor(1) as pool:
        create = pool.submit(management.call, "create", lab_payload(Verb.CREATE, instance()), 1800)
        while not running.machines.calls:
            time.sleep(0.01)
        running.stop()
        time.sleep(0.5)
        running.start()
        assert create.result().exit == 0
    names = [name for name, _ in running.machines.calls]
    assert len(names) >= 2  # a service that is stopping may be asked once more
    assert set(names) == {"deploy"}
    assert len(running.machines.deployed) == 1


def test_a_create_that_meets_its_deadline_fails_before_it_is_killed(service, management):
    service(install=60.0)
    called = management.call("create", lab_payload(Verb.CREATE, instance()), 2)
    assert called.exit == 1
    assert "DEADLINE" in called.output
    assert 1.5 < called.seconds < 2.0


def test_who_speaks_for_no_site_is_refused(service, management):
    machines = service(sites=()).machines
    called = management.call("create", lab_payload(Verb.CREATE, instance()), 1800)
    assert "PERMISSION" in called.failure
    assert machines.calls == []


def test_the_site_is_the_credential_s_and_the_audit_learns_who_called(rig, service, management):
    running = service()
    management.call("stop", lab_payload(Verb.STOP, instance()), 60)
    by = "entry mgmt1" if rig.way == HTTPS else f"uid {os.getuid()}"
    assert running.callers == [Caller(SiteName("lab"), by)]
