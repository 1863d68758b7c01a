"""Operations: listed, shown, followed, cancelled, retried."""

import pytest

from provisioner.errors import ErrorCode
from provisioner.servers.operation import Status
from tests.unit.cli.rig import failed


def test_operations_are_listed_shown_and_bundled(rig):
    identifier = rig.begin()
    assert identifier in rig.run("operation", "list", "--open").stdout
    assert identifier in rig.run("operation", "list", "--server", "bios1").stdout
    bundle = rig.folder / "b.tar.gz"
    done = rig.run("operation", "show", identifier, "--bundle", str(bundle))
    assert (done.exit_code, bundle.read_bytes()) == (0, b"\x1f\x8bbundle")
    shown = rig.json("operation", "show", identifier)["operation"]
    assert [stage["name"] for stage in shown["stages"]] == ["off", "wipe"]


@pytest.mark.parametrize(
    ("ended", "what"),
    [
        ({"status": "open"}, "writing 1.0 KiB of 4.0 KiB"),
        ({"status": "open", "progress_bytes": [0, 0]}, "writing"),
        ({"status": "done"}, ""),
        ({"status": "cancelled", "brief": "possibly on"}, "possibly on"),
        ({"status": "failed", "code": "SEED", "brief": "no disk"}, "SEED: no disk"),
    ],
)
def test_what_an_operation_did_last_is_not_said_of_one_that_has_ended(
    rig, monkeypatch, ended, what
):
    rig.begin()
    (row,) = rig.json("operation", "list")["operations"]
    row |= {"note": "writing", "progress_bytes": [1024, 4096], "code": "", "brief": ""} | ended
    monkeypatch.setattr(rig.door, "ask", lambda *_given: {"operations": [row]})
    told = rig.run("operation", "list").stdout
    assert what in told
    assert ("writing" in told) == ("writing" in what)
    assert ("KiB" in told) == ("KiB" in what)


def test_an_operation_is_followed_cancelled_and_retried(rig):
    identifier = rig.begin()
    assert rig.run("operation", "cancel", identifier, "--dry-run").exit_code == 0
    rig.end_as = Status.CANCELLED
    assert rig.run("operation", "cancel", identifier, "--wait").exit_code == 0
    failed(rig.run("operation", "follow", identifier), ErrorCode.CANCELLED, 3)
    failed(rig.run("operation", "cancel", identifier), ErrorCode.OPERATION_ENDED, 3)
    rig.end_as = Status.DONE
    assert rig.run("operation", "retry", identifier, "--wait").exit_code == 0


def test_a_name_with_a_slash_stays_one_name(rig):
    failed(rig.run("operation", "show", "../servers"), ErrorCode.OPERATION_UNKNOWN, 64)
