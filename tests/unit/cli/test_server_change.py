"""`rackwright server change`."""

import pytest

from provisioner.errors import ErrorCode
from provisioner.units import ServerName
from tests.unit.cli.rig import failed

S1 = ServerName("bios1")


def test_what_is_named_is_changed_and_the_rest_stays(rig):
    before = rig.desk.kept[S1]
    done = rig.run("server", "change", "bios1", "--address", "10.66.0.99", "--port", "6230")
    assert (done.exit_code, "inspect of bios1 began" in done.stdout) == (0, True), done.output
    after = rig.desk.kept[S1].controller
    assert (after.host, after.port, after.user) == ("10.66.0.99", 6230, before.controller.user)
    assert rig.desk.kept[S1].nics == before.nics
    assert S1 not in rig.desk.passwords


def test_a_new_password_comes_from_a_private_file_or_is_asked_for(rig):
    file = rig.folder / "new"
    file.touch(0o600)
    file.write_text("hunter3\n")
    assert rig.run("server", "change", "bios1", "--password-file", str(file)).exit_code == 0
    assert rig.desk.passwords[S1].reveal() == "hunter3"
    done = rig.run("server", "change", "bios1", "--ask-password", given="hunter4\n")
    assert rig.desk.passwords[S1].reveal() == "hunter4"
    assert "hunter4" not in done.output
    file.chmod(0o644)
    done = rig.run("server", "change", "bios1", "--password-file", str(file))
    failed(done, ErrorCode.FILE_UNREADABLE, 64)


def test_cards_are_given_all_together(rig):
    card = ("--nic", "52:54:00:AA:00:02,provisioning+tenant,tap-new")
    assert rig.run("server", "change", "bios1", *card).exit_code == 0
    assert [(n.mac, n.port) for n in rig.desk.kept[S1].nics] == [("52:54:00:aa:00:02", "tap-new")]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), ErrorCode.USAGE),
        (("--user", "admin"), ErrorCode.USAGE),
        (("--password-file", "/f", "--ask-password"), ErrorCode.USAGE),
        (("--nic", "52:54:00:aa:00:01"), ErrorCode.USAGE),
        (("--nic", "52:54:00:aa:00:01,tenant,tap"), ErrorCode.PAYLOAD_FIELD),
        (("--address", ""), ErrorCode.PAYLOAD_FIELD),
        (("--port", "0"), ErrorCode.PAYLOAD_FIELD),
        (("--certificate", "abc"), ErrorCode.PAYLOAD_FIELD),
        (("--certificate", "AB:" * 31 + "AB"), ErrorCode.STATE_CONFLICT),  # none is pinned
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_changed(rig, words, code):
    before = rig.desk.kept[S1]
    failed(rig.run("server", "change", "bios1", *words), code, code.kind.exit_code)
    assert rig.desk.kept[S1] == before
