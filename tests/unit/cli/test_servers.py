"""Servers: listed, shown, enrolled, acted on, rehearsed and waited for."""

import json

import pytest

from provisioner.errors import ErrorCode
from provisioner.operations.desk import Adopt, JournalCall, Provide
from provisioner.servers.operation import Status
from provisioner.units import ServerName, WallSeconds
from tests.unit.cli.rig import MANIFEST, failed, write_manifest

INSTANCE = "aaaaaaaa-0000-4000-8000-000000000007"


def test_servers_are_listed_for_people_and_programs(rig):
    text = rig.run("server", "list").stdout
    assert [word in text for word in ("NAME", "bios1", "ENROLLED")] == [True] * 3
    assert rig.json("server", "list", "--state", "active")["servers"] == []
    assert rig.json("server", "list", "--state", "enrolled")["servers"][0]["name"] == "bios1"


def test_text_of_a_server_is_neither_markup_nor_obeyed(rig):
    rig.run("server", "maintenance", "bios1", "--reason", "[red]new fan[/red]")
    assert "[red]new fan[/red]" in rig.run("server", "list").stdout


def test_a_server_is_shown(rig):
    text = rig.run("server", "show", "bios1").stdout
    assert "ipmi 10.66.0.11:623" in text
    assert "tap-bios1" in text
    assert rig.json("server", "show", "bios1")["server"]["firmware"] == "bios"


def test_a_manifest_enrols_with_the_password_of_its_file(rig):
    path = write_manifest(rig, MANIFEST.replace("bios1", "bios2"))
    done = rig.run("server", "enrol", path)
    assert (done.exit_code, "verify of bios2 began" in done.stdout) == (0, True)
    assert rig.desk.passwords[ServerName("bios2")].reveal() == "hunter2"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o622])
def test_a_password_that_others_may_read_is_refused(rig, mode):
    path = write_manifest(rig, MANIFEST.replace("bios1", "bios2"))
    (rig.folder / "secret").chmod(mode)
    line = failed(rig.run("server", "enrol", path), ErrorCode.FILE_UNREADABLE, 64)
    assert f"chmod 600 {rig.folder / 'secret'}" in line
    assert "hunter2" not in line
    assert rig.desk.asked == []


def test_a_password_file_that_is_empty_is_said_to_be(rig):
    path = write_manifest(rig, MANIFEST.replace("bios1", "bios2"))
    (rig.folder / "secret").write_text("\nhunter2\n")
    line = failed(rig.run("server", "enrol", path), ErrorCode.FILE_UNREADABLE, 64)
    assert line.endswith("secret: its first line is empty\n")


def test_a_password_without_a_file_is_asked_for_and_not_shown(rig):
    path = write_manifest(
        rig, MANIFEST.replace("bios1", "b2").replace(", password_file: secret", "")
    )
    done = rig.run("server", "enrol", path, given="s3cret\n")
    assert rig.desk.passwords[ServerName("b2")].reveal() == "s3cret"
    assert "s3cret" not in done.output


def test_of_several_servers_each_is_tried_and_the_failed_are_counted(rig):
    second = MANIFEST.partition("servers:\n")[2].replace("bios1", "b2").replace(":01", ":02")
    path = write_manifest(rig, MANIFEST + second.replace("0.11", "0.12"))
    done = rig.run("server", "enrol", path)
    assert done.exit_code == 3
    assert done.stderr.splitlines() == [
        "bios1: SERVER_EXISTS: bios1 is enrolled already",
        "SERVER_EXISTS: 1 of 2 servers were not enrolled; the last: bios1 is enrolled already",
    ]
    assert "b2" in rig.desk.kept


def test_a_wrong_manifest_names_everything_and_asks_nothing(rig):
    path = write_manifest(rig, "version: 1\nservers: [{name: A}]\n")
    line = failed(rig.run("server", "enrol", path), ErrorCode.MANIFEST_INVALID, 64)
    assert "servers[0].pool: missing" in line
    assert rig.desk.asked == []


def test_one_server_is_enrolled_from_options(rig):
    (rig.folder / "secret").touch(0o600)
    (rig.folder / "secret").write_text("pw")
    done = rig.run(
        *("server", "enrol", "--name", "u1", "--pool", "a", "--protocol", "redfish"),
        *("--address", "192.0.2.1", "--user", "root", "--firmware", "uefi"),
        *("--password-file", str(rig.folder / "secret")),
        *("--nic", "52:54:00:00:00:09,provisioning+tenant,leaf1:Ethernet1,2"),
        *("--root-disk", "smallest_nvme=true", "--root-disk", "min_bytes=1000"),
        *("--root-disk", "serial=123"),
    )
    assert done.exit_code == 0, done.output
    record = rig.desk.kept[ServerName("u1")]
    assert (record.root_disk.smallest_nvme, record.root_disk.min_bytes) == (True, 1000)
    assert record.root_disk.serial == "123"
    assert record.nics[0].port == "leaf1:Ethernet1,2"


@pytest.mark.parametrize(
    "words",
    [
        ("verify", "bios1"),
        ("inspect", "bios1"),
        ("provide", "bios1", "--erase", "D1"),
        ("quarantine", "bios1", "--reason", "smoke"),
        ("rebaseline", "bios1", "--reason", "a disk", "--erase", "D1"),
        ("adopt", "bios1", "--instance", INSTANCE, "--site", "lab"),
        ("retire", "bios1", "--reason", "old age"),
        ("maintenance", "bios1", "--reason", "fan"),
        ("maintenance", "bios1", "--end"),
    ],
)
def test_a_dry_run_shows_steps_and_calls_and_changes_nothing(rig, words):
    done = rig.run("server", *words, "--dry-run")
    assert done.exit_code == 0
    assert done.stdout.startswith("would do: ")
    assert [each[2] for each in rig.desk.asked] == [True]
    assert rig.desk.running == {}
    found = rig.json("server", *words, "--dry-run")
    assert (found["dry_run"], found["operation"]) == (True, None)


def test_an_instance_may_be_named_in_capitals(rig):
    done = rig.run("server", "adopt", "bios1", "--instance", INSTANCE.upper(), "--site", "lab")
    assert done.exit_code == 0
    assert rig.desk.asked[0][1] == Adopt(site="lab", instance=INSTANCE)


def test_the_plan_of_a_dry_run_names_each_call(rig):
    text = rig.run("server", "inspect", "bios1", "--dry-run").stdout
    assert text.splitlines()[1:] == [
        "  off",
        "    controller: identity",
        "    controller: power off",
        "  wipe",
    ]


def test_erase_names_each_disk(rig):
    rig.run("server", "provide", "bios1", "--erase", "D1", "--erase", "D2")
    assert rig.desk.asked[0][1] == Provide(erase=("D1", "D2"))


def test_waiting_follows_to_the_end(rig):
    done = rig.run("server", "inspect", "bios1", "--wait")
    assert (done.exit_code, "off  2.0 s" in done.stdout) == (0, True)


def test_waiting_for_what_ends_badly_ends_badly(rig):
    rig.end_as = Status.SUPERSEDED
    line = failed(rig.run("server", "inspect", "bios1", "--wait"), ErrorCode.SUPERSEDED, 3)
    assert "superseded" in line


def test_waiting_in_json_prints_one_event_a_line(rig):
    done = rig.run("server", "inspect", "bios1", "--wait", "--output", "json")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[-1]["operation"]["status"] == "done"


def test_the_calls_of_a_server_are_shown(rig):
    rig.desk.journal.append(
        JournalCall(
            at=WallSeconds(1.0),
            server=ServerName("bios1"),
            door="controller",
            text="read power",
            outcome="ok",
        )
    )
    assert "read power" in rig.run("server", "calls", "bios1").stdout
