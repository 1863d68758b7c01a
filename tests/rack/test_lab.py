"""The rack itself: up and down, one-shots, the service's rights, its description."""

import http.client
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from provisioner.errors import OperatorError
from provisioner.lab import namespaces, services
from provisioner.lab.description import describe
from provisioner.lab.layout import SERVICE_UID
from provisioner.lab.network import links
from provisioner.lab.probes import tcp_answers
from provisioner.lab.processes import Running
from provisioner.lab.rack import Rack
from provisioner.lab.serial_log import SerialLog
from tests.rack import stand_in_service
from tests.rack.controls import Controls

pytestmark = pytest.mark.rack
REPOSITORY = Path(__file__).parents[2]
STATUS_FORM = {
    "version": int,
    "namespace": str,
    "service": {
        "pid": int,
        "sockets": {"extension": str, "operators": str},
        "urls": {"operators": str, "provisioning": str},
        "ca": str,
        "database": str,
    },
    "entry": [str],
    "evidence_key": str,
    "servers": [
        {
            "name": str,
            "macs": [str],
            "bmc": {
                "protocol": str,
                "address": str,
                "port": int,
                "user": str,
                "password_file": str,
            },
            "serial_log": str,
            "power_log": str,
            "disks": [{"file": str, "size": int, "serial": str}],
        }
    ],
    "networks": {
        "provisioning": {"bridge": str, "network": str, "address": str},
        "tenants": [{"vlan": int, "bridge": str, "namespace": str, "address": str}],
    },
}


def has_form(value, form):
    if isinstance(form, dict):
        return value.keys() == form.keys() and all(has_form(value[k], form[k]) for k in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(has_form(each, form[0]) for each in value)
    return isinstance(value, form)


def power_events(rack, server):
    lines = rack.paths.power_log(server).read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_up_again_starts_nothing_and_keeps_the_disks(rack):
    running = rack.processes()
    inodes = [path.stat().st_ino for path in sorted(rack.paths.disks.iterdir())]

    rack.up()

    assert rack.processes() == running
    assert [path.stat().st_ino for path in sorted(rack.paths.disks.iterdir())] == inodes


def test_a_process_that_died_is_started_again_and_nothing_else(rack):
    before = rack.processes()
    before["nginx"].end()

    rack.up()

    after = rack.processes()
    assert after.keys() == before.keys()
    assert {name for name in after if after[name] != before[name]} == {"nginx"}


def test_redfish_answers_again_after_libvirt_died(rack):
    rack.processes()["libvirtd"].end()

    rack.up()

    assert Controls(rack, rack.layout.server("uefi1")).power() == "off"


def test_two_commands_at_once_do_not_mix(rack):
    with rack._alone(), pytest.raises(OperatorError, match="another command"):
        Rack(rack.layout, rack.paths).up()


@pytest.mark.parametrize("after_s", [0.1, 0.5])
def test_a_run_that_was_killed_in_the_middle_is_taken_up_where_it_was(rack, after_s):
    rack.down()
    program = f"""
from pathlib import Path
from provisioner.lab.layout import LabPaths, Layout
from provisioner.lab.rack import Rack
paths = LabPaths(state=Path({str(rack.paths.state)!r}), cache=Path({str(rack.paths.cache)!r}))
Rack(Layout(prefix={rack.layout.prefix!r}), paths).up()
"""
    with subprocess.Popen([sys.executable, "-c", program], cwd=REPOSITORY) as run:
        time.sleep(after_s)
        run.kill()

    rack.up()

    for server in rack.layout.servers:
        assert Controls(rack, server).power() == "off"
    rack.down()
    assert namespaces.dwellers(rack.layout.rack) == ()
    rack.up()


def test_whoever_is_killed_before_a_process_is_on_record_leaves_none(tmp_path):
    program = f"""
import os, signal
from pathlib import Path
from provisioner.lab.processes import Record
class Killed(Record):
    def _write(self, *_):
        os.kill(os.getpid(), signal.SIGKILL)
Killed(run=Path({str(tmp_path)!r}), logs=Path({str(tmp_path)!r})).start("it", ["touch", "began"])
"""
    environ = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environ, check=False)
    time.sleep(1)

    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "began").exists()


def test_boot_device_of_the_ipmi_server_is_for_one_start_only(rack):
    server = rack.layout.server("bios1")
    controls, log = Controls(rack, server), SerialLog(rack.paths.serial_log(server))

    def first_device(press):
        mark = log.mark()
        press()
        return log.wait_for(r"Booting from (\w+)\W", since=mark, within_s=30)[1]

    controls.boot_from("network")
    assert first_device(lambda: controls.turn("on")) == "ROM"
    time.sleep(4)
    assert first_device(lambda: controls.ipmi("power", "reset")) == "Hard"
    controls.boot_from("network")
    assert first_device(lambda: controls.ipmi("power", "reset")) == "ROM"
    controls.turn("off")
    assert first_device(lambda: controls.turn("on")) == "Hard"
    controls.turn("off")
    assert controls.power() == "off"


def test_power_logs_tell_what_was_pressed_and_what_became_of_it(rack):
    bios, uefi = rack.layout.servers
    mark = len(power_events(rack, bios)) if rack.paths.power_log(bios).exists() else 0
    for server in (bios, uefi):
        controls = Controls(rack, server)
        controls.boot_from("network")
        controls.turn("on")
        assert controls.power() == "on"
        controls.turn("off")
        assert controls.power() == "off"

    told = [line["told"] for line in power_events(rack, bios)[mark:] if "told" in line]
    assert told == ["boot pxe", "power 1", "power 0"]
    for server in (bios, uefi):
        events = [line["event"] for line in power_events(rack, server) if "event" in line]
        assert [event for event in events if event in {"on", "off"}][-2:] == ["on", "off"]


def stand_in(rack):
    """How a program in the service's place is started."""
    folder = rack.paths.service
    for name in ("tls.pem", "tls.key"):
        shutil.copy(rack.paths.server(rack.layout.server("uefi1")) / name, folder / name)
        os.chown(folder / name, SERVICE_UID, SERVICE_UID)
    return services.ServiceStart(
        argv=(sys.executable, stand_in_service.__file__, str(folder)),
        readable=(sys.prefix, str(REPOSITORY)),
        extension=str(folder / "extension.sock"),
        operators=str(folder / "operators.sock"),
        operators_url="https://10.66.0.1:9443",
        provisioning_url="https://10.66.0.1:8443",
        ca=str(folder / "ca.pem"),
        database=str(folder / "rackwright.db"),
        entry=("entry",),
        evidence_key=str(folder / "evidence.pub"),
    )


@pytest.fixture
def service(rack):
    """A program in the service's place, started as the service is."""
    start = stand_in(rack)
    services.start_service(rack.layout, rack.paths, rack.record, start)
    yield start
    services.stop_service(rack.record)


def test_a_service_that_ends_at_its_start_is_not_waited_for_and_its_last_words_are_told(rack):
    words = (sys.executable, "-c", "raise SystemExit('no key')")
    began = time.monotonic()

    with pytest.raises(OperatorError, match="ended after its start: no key"):
        services.start_service(
            rack.layout, rack.paths, rack.record, replace(stand_in(rack), argv=words)
        )

    assert time.monotonic() - began < 20


def ask_service(rack, *argv):
    def ask():
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("10.66.0.1", 8443, context=context, timeout=5)
        connection.request("POST", "/", json.dumps(argv))
        status, said = json.loads(connection.getresponse().read())
        connection.close()
        return status, said

    return namespaces.inside(rack.layout.rack, ask)


def test_the_service_has_a_user_of_its_own_and_may_move_ports_and_nothing_else(rack, service):
    said = ask_service(rack, "cat", "/proc/self/status")[1]
    facts = dict(line.split(":\t", 1) for line in said.splitlines() if ":\t" in line)
    assert facts["Uid"].split() == facts["Gid"].split() == [str(SERVICE_UID)] * 4
    assert facts["Groups"].strip() == ""
    assert {facts[name] for name in ("CapEff", "CapBnd", "CapPrm")} == {"0000000000001000"}
    assert facts["NoNewPrivs"] == "1"
    assert (rack.paths.service / "written").stat().st_uid == SERVICE_UID

    assert ask_service(rack, "ip", "link", "set", "dev", "tap-bios1", "master", "br-prov")[0] == 0
    assert links(rack.layout.rack)["tap-bios1"].master == "br-prov"
    assert ask_service(rack, "ip", "link", "set", "dev", "tap-bios1", "nomaster", "up")[0] == 0
    assert ask_service(rack, "cat", "/etc/shadow")[0] != 0
    assert ask_service(rack, "cat", str(rack.paths.password(rack.layout.servers[0])))[0] != 0


def test_the_description_has_the_form_that_others_rely_on(rack, service):
    document = describe(rack)

    assert has_form(document, STATUS_FORM)
    assert document["version"] == 1
    assert document["service"]["pid"] == rack.processes()["rackwright"].pid
    for server in document["servers"]:
        assert Path(server["bmc"]["password_file"]).read_text().strip()
        for disk in server["disks"]:
            assert Path(disk["file"]).stat().st_size == disk["size"]


def test_down_leaves_no_process_namespace_or_tap_and_up_works_again(rack):
    servers = rack.layout.servers
    for server in servers:
        Controls(rack, server).turn("on")
    stray = namespaces.inside(
        rack.layout.rack,
        lambda: os.posix_spawn("/bin/busybox", ["busybox", "sleep", "600"], {}, setsid=True),
    )
    pids = [*namespaces.dwellers(rack.layout.rack), stray]
    inodes = [path.stat().st_ino for path in sorted(rack.paths.disks.iterdir())]
    assert len(pids) >= 8

    rack.down()

    assert [pid for pid in pids if Running.of(pid) is not None] == []
    assert not namespaces.exists(rack.layout.rack)
    assert not namespaces.exists(rack.layout.tenant)
    assert not list(Path("/sys/class/net").glob("tap-*"))
    rack.down()

    rack.up()
    assert [path.stat().st_ino for path in sorted(rack.paths.disks.iterdir())] == inodes
    for server in servers:
        assert tcp_answers(rack.layout.rack, str(server.controller), 443) is (
            server.controller_port == 443
        )
        assert Controls(rack, server).power() == "off"
