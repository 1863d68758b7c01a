"""The entry on management servers: placed whole, looked at, or by hand."""

import json
import time
from pathlib import Path, PurePosixPath

import pytest

from cloudstack_ext import contract
from cloudstack_ext.registration.install import PROBE
from provisioner.errors import ErrorCode
from provisioner.units import SiteName
from tests.unit.cli.rig import failed
from tests.unit.cloudstack_ext.registration.machines import LOST
from tests.unit.cloudstack_ext.registration.rig import Zone
from tests.unit.cloudstack_ext.registration.test_commands import Desk

pytestmark = pytest.mark.emulated

ENTRY = PurePosixPath("/usr/share/cloudstack-management/extensions/rackwright/rackwright-entry")
MODULE = ENTRY.with_name("rackwright_https.py")
CONF = PurePosixPath("/etc/rackwright/entry.conf")
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ4GFxBLSmHkWyIGJbEGeVEbA2yTEEY2rb7XcOJvkp7V"
SERVERS = f"""
servers:
  - {{name: ms1, address: 10.0.0.1, host_key: {KEY}, key_file: id}}
  - {{name: ms2, address: 10.0.0.2, host_key: {KEY}, key_file: id, entry_files: entry-ms2}}
"""
SOURCE = Path(__file__).parents[4] / "cloudstack_ext" / "entry"


@pytest.fixture
def desk(tmp_path):
    with Zone() as zone:
        made = Desk(tmp_path, zone)
        made.file.write_text(made.file.read_text() + SERVERS)
        folder = tmp_path / "entry-ms2"
        folder.mkdir()
        for name in ("entry.conf", "ca.pem", "entry.pem", "entry.key"):
            (folder / name).write_text(f"{name} of ms2\n")
        yield made


def install(desk, *more):
    return desk.run("cloudstack", "install-entry", str(desk.file), *more)


def test_every_server_gets_its_files_with_their_modes_and_owners_and_the_entry_last(desk):
    done = install(desk)
    assert done.exit_code == 0, done.output
    ms1, ms2 = desk.machines["10.0.0.1"], desk.machines["10.0.0.2"]
    assert ms1.written == [str(CONF), str(MODULE), str(ENTRY)]
    assert ms1.files[CONF].content == b"socket = /run/rackwright/extension.sock\n"
    assert (ms1.files[CONF].mode, ms1.files[CONF].owner) == (0o600, 997)
    assert ms1.files[ENTRY].content == (SOURCE / "rackwright-entry").read_bytes()
    assert (ms1.files[ENTRY].mode, ms1.files[ENTRY].owner) == (0o755, 0)
    assert ms1.files[MODULE].mode == 0o644
    names = [PurePosixPath(path).name for path in ms2.written]
    assert names == [
        "ca.pem", "entry.key", "entry.pem", "entry.conf", MODULE.name, ENTRY.name,
    ]  # fmt: skip
    modes = {path.name: ms2.files[path].mode for path in ms2.files}
    assert (modes["ca.pem"], modes["entry.pem"]) == (0o644, 0o644)
    assert (modes["entry.key"], modes["entry.conf"]) == (0o600, 0o600)
    assert ms2.files[CONF.with_name("entry.key")].content == b"entry.key of ms2\n"
    assert f"ms1 {ENTRY}: placed: it is not there" in done.stdout


def test_what_is_as_it_should_be_is_left_alone(desk):
    install(desk)
    machine = desk.machines["10.0.0.1"]
    machine.written.clear()
    done = install(desk)
    assert machine.written == []
    assert f"ms1 {ENTRY}: as it should be" in done.stdout
    machine.files.pop(CONF)
    install(desk)
    assert machine.written == [str(CONF)]


def test_a_dry_run_says_what_differs_and_writes_nothing(desk):
    install(desk)
    machine = desk.machines["10.0.0.1"]
    seen = machine.files[ENTRY]
    machine.files[ENTRY] = type(seen)(content=b"old", owner=5, mode=0o700)
    machine.written.clear()
    done = install(desk, "--dry-run")
    assert machine.written == []
    assert "would be placed: it has other content" in done.stdout
    assert "has mode 0700, not 0755, belongs to uid 5, not to root" in done.stdout


def test_only_the_named_server_is_reached_and_with_its_pinned_key(desk):
    install(desk, "--server", "ms2")
    (address,) = desk.machines.opened
    assert (address.host, address.user, address.host_key) == ("10.0.0.2", "root", KEY)
    assert address.key_file == desk.file.parent / "id"
    failed(install(desk, "--server", "ms9"), ErrorCode.REGISTRATION_INVALID, 64)


def test_a_write_that_fails_ends_in_one_line_and_the_entry_is_not_placed_before_the_rest(desk):
    machine = desk.machines["10.0.0.1"]
    machine.fail_at = 2
    failed(install(desk), ErrorCode.SSH_FAILED, 4)
    assert set(machine.files) == {CONF}
    machine.fail_at = 0
    assert install(desk).exit_code == 0
    assert ENTRY in machine.files


def test_a_server_that_does_not_answer_is_one_line(desk):
    desk.machines.refused = LOST
    failed(install(desk), ErrorCode.SSH_UNREACHABLE, 75)


def test_by_hand_is_printed_and_nobody_reached(desk):
    done = install(desk, "--manual")
    assert done.exit_code == 0, done.output
    assert desk.machines.opened == []
    lines = done.stdout.splitlines()
    assert "install -d -m 0755 /etc/rackwright" in lines
    assert f"install -o root -g root -m 0755 {SOURCE / 'rackwright-entry'} {ENTRY}" in lines
    key = desk.file.parent / "entry-ms2" / "entry.key"
    assert f"install -o cloud -g cloud -m 0600 {key} /etc/rackwright/entry.key" in lines


def test_a_file_without_servers_says_what_to_do(desk):
    desk.write()
    line = failed(install(desk), ErrorCode.REGISTRATION_INVALID, 64)
    assert "servers: missing" in line
    assert "--manual" in line


def test_a_folder_without_the_entrys_configuration_is_refused(desk):
    (desk.file.parent / "entry-ms2" / "entry.conf").unlink()
    line = failed(install(desk, "--server", "ms2"), ErrorCode.FILE_UNREADABLE, 64)
    assert "rackwright init entry" in line
    assert desk.machines.opened == []


def test_evidence_names_every_file_and_holds_no_key(desk, tmp_path):
    install(desk, "--evidence", str(tmp_path / "records"))
    (path,) = (tmp_path / "records").iterdir()
    record = json.loads(path.read_text())
    assert {each["path"] for each in record["done"]["placed"]} >= {str(ENTRY), str(CONF)}
    assert "entry.key of ms2" not in path.read_text()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (f"host_key: {KEY}, key_file: id}}", "host_key: none, key_file: id}", "a host key (ssh-"),
        ("name: ms1", "name: ms2", "servers[1].name: ms2 stands twice"),
    ],
)
def test_mistakes_in_the_servers_are_named_with_their_paths(desk, old, new, said):
    desk.file.write_text(desk.file.read_text().replace(old, new, 1))
    assert said in failed(install(desk), ErrorCode.REGISTRATION_INVALID, 64)
    assert desk.machines.opened == []


# --- verify ----------------------------------------------------------------------------------
@pytest.fixture
def registered(desk):
    desk.ask("apply")
    (server,) = desk.zone.state.servers.values()
    server.name = "ms1"
    install(desk)
    desk.zone.clock.step_wall(time.time() - desk.zone.clock.wall())  # the waiting was not real
    return desk


def checks_of(desk):
    done = desk.ask("verify", "--output", "json")
    found = json.loads(done.stdout)["checks"]
    about = [each for each in found if each["about"] == "management server ms1"]
    return done.exit_code, {each["name"]: each["outcome"] for each in about}


def test_with_everything_looked_at_and_well_it_ends_with_0(registered):
    status, checks = checks_of(registered)
    assert set(checks.values()) == {"ok"}
    assert set(checks) == {
        "server state", "entry", "entry configuration", "clock", "service reachable",
    }  # fmt: skip
    assert status == 0
    machine = registered.machines["10.0.0.1"]
    assert not [path for path in machine.files if "rackwright-verify" in str(path)]


@pytest.mark.parametrize(
    ("break_it", "name"),
    [
        (lambda machine: machine.files.pop(ENTRY), "entry"),
        (lambda machine: machine.files.pop(CONF), "entry configuration"),
        (lambda machine: setattr(machine, "ahead_s", 90.0), "clock"),
        (lambda machine: setattr(machine, "says", b"SERVICE_DOWN: no answer"), "service reachable"),
    ],
)
def test_what_is_wrong_on_a_server_is_bad_and_ends_with_4(registered, break_it, name):
    break_it(registered.machines["10.0.0.1"])
    status, checks = checks_of(registered)
    assert checks[name] == "bad"
    assert [each for each in checks.values() if each == "bad"] == ["bad"]
    assert status == 4


def test_a_server_that_cannot_be_reached_is_unknown_never_ok(registered):
    registered.machines.refused = LOST
    status, checks = checks_of(registered)
    assert checks == {"server state": "ok", "entry": "unknown"}
    assert status == 4


def test_the_probe_is_a_prepare_for_no_pool(registered):
    request = contract.parse("prepare", json.dumps(PROBE).encode(), SiteName("zone1"))
    assert request.instance.pool is None
