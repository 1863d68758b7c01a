"""Certificates of entries from the first to the last: made, believed, revoked, and written down."""

import contextlib
import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

from cloudstack_ext.main import callbacks
from cloudstack_ext.main_parts import compose
from provisioner.config import Role, load
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError, RackwrightError

pytestmark = pytest.mark.emulated
ADMIN = callbacks().service
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "rackwright.toml"


@pytest.fixture
def settings(tmp_path):
    """Of an installation that has begun, with two sites."""
    made = _configured(tmp_path, 'address = "192.0.2.10", port = 8445, names = ["rack.test"]')
    ADMIN.initialise(made)
    return made


def _configured(folder, https):
    text = EXAMPLE.read_text()
    for old, new in (
        ("[service]\n", f'[service]\nstate_dir = "{folder}/state"\n'),
        ("[extension]\n", f"[extension]\nhttps = {{ {https} }}\n" if https else "[extension]\n"),
        ('{ name = "zone1", uids = [997] }', '{ name = "zone1" }, { name = "zone2" }'),
        ('blobs_dir = "/var/lib', f'blobs_dir = "{folder}/var/lib'),
        ('hosts_dir = "/var/lib', f'hosts_dir = "{folder}/var/lib'),
        ('tftp_dir = "/var/lib', f'tftp_dir = "{folder}/var/lib'),
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return load(text, folder)


def acts(settings):
    """Newest last."""
    with contextlib.closing(sqlite3.connect(settings.files().database)) as connection:
        query = "SELECT who, act, subject, detail FROM audit ORDER BY number"
        return connection.execute(query).fetchall()


def test_all_that_a_management_server_needs_is_in_one_folder(settings, tmp_path):
    made = ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30)
    assert sorted(path.name for path in made.files) == [
        "ca.pem",
        "entry.conf",
        "entry.key",
        "entry.pem",
    ]
    assert (tmp_path / "out/entry.conf").read_text() == (
        "url = https://rack.test:8445\n"
        "ca = /etc/rackwright/ca.pem\n"
        "certificate = /etc/rackwright/entry.pem\n"
        "key = /etc/rackwright/entry.key\n"
    )
    line = f"mgmt1 zone1 {made.serial} {made.ends}\n"
    assert settings.files().entries.read_text() == line
    assert made.restart
    shown = ["openssl", "x509", "-noout", "-serial", "-subject", "-in", tmp_path / "out/entry.pem"]
    said = subprocess.run(shown, capture_output=True, text=True, check=True).stdout
    assert f"serial={made.serial}\n" in said
    assert "O = zone1, OU = Rackwright entry, CN = mgmt1" in said


def test_the_key_is_in_no_other_place(settings, tmp_path):
    made = ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30)
    secret = (tmp_path / "out/entry.key").read_bytes().splitlines()[1]
    holding = [
        path.relative_to(tmp_path).as_posix()
        for path in tmp_path.rglob("*")
        if path.is_file() and secret in path.read_bytes()
    ]
    assert holding == ["out/entry.key"]
    assert made.files


def test_each_act_stands_in_the_audit(settings, tmp_path):
    ADMIN.add_token(settings, "prometheus", Role.VIEWER)
    made = ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30)
    ADMIN.revoke_entry(settings, "mgmt1", but_newest=False)
    who = f"operator root (uid {os.getuid()}, command)"
    assert acts(settings) == [
        (who, "init token", "prometheus", "role viewer"),
        (who, "init entry", "mgmt1", f"site zone1, certificate {made.serial} to {made.ends}"),
        (who, "revoke entry", "mgmt1", f"certificate {made.serial}"),
    ]


def test_beside_a_service_that_holds_the_database(settings, tmp_path):
    parts = compose(settings)
    try:
        ADMIN.add_token(settings, "prometheus", Role.VIEWER)
        assert parts.database.audit.entries()[0].subject == "prometheus"
        parts.database.audit.audit("a", "b", "c")
    finally:
        parts.database.close()


def test_a_renewal_leaves_the_old_one_until_it_is_revoked(settings, tmp_path):
    first = ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "a", 30)
    second = ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "b", 30)
    assert not second.restart
    assert ADMIN.revoke_entry(settings, "mgmt1", but_newest=True) == (first.serial,)
    assert ADMIN.revoke_entry(settings, "mgmt1", but_newest=True) == ()
    assert ADMIN.revoke_entry(settings, "mgmt1", but_newest=False) == (second.serial,)
    assert [line.split()[2:] for line in settings.files().entries.read_text().splitlines()] == [
        [first.serial, str(first.ends)],
        [second.serial, str(second.ends)],
        [first.serial, "revoked"],
        [second.serial, "revoked"],
    ]


def test_another_host_name_renews_the_listener_s_certificate(settings, tmp_path):
    ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "a", 30)
    moved = _configured(tmp_path, 'address = "192.0.2.11", port = 8445')
    made = ADMIN.issue_entry(moved, "mgmt1", "zone1", tmp_path / "b", 30)
    assert made.restart
    assert "https://192.0.2.11:8445" in (tmp_path / "b/entry.conf").read_text()


def refused(call, kind, code, said):
    with pytest.raises(kind, match=said) as caught:
        call()
    assert caught.value.code is code


def test_a_site_or_a_listener_that_is_not_configured_is_refused(settings, tmp_path):
    refused(
        lambda: ADMIN.issue_entry(settings, "mgmt1", "zone7", tmp_path / "out", 30),
        InputError,
        ErrorCode.CONFIG_INVALID,
        "zone7 is not in extension.sites: zone1, zone2",
    )
    refused(
        lambda: ADMIN.issue_entry(_configured(tmp_path, ""), "m", "zone1", tmp_path / "out", 30),
        InputError,
        ErrorCode.CONFIG_INVALID,
        "extension.https is not set",
    )
    assert not (tmp_path / "out").exists()
    assert acts(settings) == []


def test_nothing_is_overwritten_and_nothing_half_made(settings, tmp_path):
    ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    lines = settings.files().entries.read_text()
    refused(
        lambda: ADMIN.issue_entry(settings, "mgmt2", "zone1", tmp_path / "out", 30),
        ConflictError,
        ErrorCode.ALREADY_INITIALISED,
        "take another folder",
    )
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    assert settings.files().entries.read_text() == lines


def test_without_its_line_in_the_audit_nothing_is_handed_out(settings, tmp_path):
    settings.files().database.rename(tmp_path / "away")
    for call in (
        lambda: ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30),
        lambda: ADMIN.add_token(settings, "prometheus", Role.VIEWER),
    ):
        refused(call, OperatorError, ErrorCode.DATABASE_FAILED, "rackwright init")
    assert list((tmp_path / "out").iterdir()) == []
    assert not settings.files().entries.exists()
    assert "prometheus" not in settings.files().tokens.read_text()
    assert not settings.files().database.exists()


def test_before_there_is_an_installation_it_is_refused(tmp_path):
    settings = _configured(tmp_path, 'address = "192.0.2.10", port = 8445')
    for call in (
        lambda: ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30),
        lambda: ADMIN.revoke_entry(settings, "mgmt1", but_newest=False),
        lambda: ADMIN.add_token(settings, "prometheus", Role.VIEWER),
    ):
        refused(call, InputError, ErrorCode.FILE_UNREADABLE, "comes first")
    assert not settings.service.state_dir.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")
def test_only_the_service_s_own_user_may(settings, tmp_path):
    """What another user writes there the service could not read."""
    os.chown(settings.service.state_dir, 12345, 12345)
    for call in (
        lambda: ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30),
        lambda: ADMIN.revoke_entry(settings, "mgmt1", but_newest=False),
        lambda: ADMIN.add_token(settings, "prometheus", Role.VIEWER),
    ):
        refused(call, RackwrightError, ErrorCode.PERMISSION, "belongs to uid 12345")
    assert acts(settings) == []


def test_the_key_of_the_authority_that_others_may_read_is_not_used(settings, tmp_path):
    settings.files().ca_key.chmod(0o640)
    refused(
        lambda: ADMIN.issue_entry(settings, "mgmt1", "zone1", tmp_path / "out", 30),
        OperatorError,
        ErrorCode.FILE_UNREADABLE,
        "others may read it",
    )
    assert not (tmp_path / "out").exists()
