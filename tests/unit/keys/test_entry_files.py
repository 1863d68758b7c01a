"""Certificates of callers, the listener's own, and the files that an entry gets."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from provisioner.adapters.keys import entry_files
from provisioner.adapters.keys.authority import Authority
from provisioner.errors import ConflictError, ErrorCode, OperatorError

CONTENT = {"entry.conf": b"url = x\n", "ca.pem": b"c", "entry.pem": b"p", "entry.key": b"k"}
HOSTS = ("rack.test", "192.0.2.1")


@pytest.fixture
def authority():
    return Authority.new("lab")


def use_of(certificate):
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


def test_a_caller_s_certificate_names_it_and_is_good_for_clients_alone(authority):
    ends = datetime.now(UTC).replace(microsecond=0) + timedelta(days=9)
    issued = authority.issue_client("mgmt1", site="zone1", unit="Rackwright entry", ends=ends)
    found = x509.load_pem_x509_certificate(issued.pair.certificate)
    assert [(each.oid, each.value) for each in found.subject] == [
        (NameOID.ORGANIZATION_NAME, "zone1"),
        (NameOID.ORGANIZATIONAL_UNIT_NAME, "Rackwright entry"),
        (NameOID.COMMON_NAME, "mgmt1"),
    ]
    assert found.serial_number == issued.serial
    assert found.not_valid_after_utc == ends
    begun = datetime.now(UTC) - found.not_valid_before_utc
    assert timedelta(minutes=59) < begun < timedelta(minutes=62)
    assert use_of(found) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    with pytest.raises(x509.ExtensionNotFound):
        found.extensions.get_extension_for_class(x509.SubjectAlternativeName)


def test_no_two_certificates_have_the_same_number(authority):
    ends = datetime.now(UTC) + timedelta(days=1)
    made = {authority.issue_client("m", site="z", unit="u", ends=ends).serial for _ in range(20)}
    assert len(made) == 20


def test_a_server_s_certificate_is_good_for_servers_alone(authority):
    found = x509.load_pem_x509_certificate(authority.issue_server(HOSTS).certificate)
    assert use_of(found) == [ExtendedKeyUsageOID.SERVER_AUTH]


def listener(issued):
    return issued.key + issued.certificate


def test_the_listener_s_certificate_is_made_once_for_its_hosts(tmp_path, authority):
    path = tmp_path / "extension.pem"
    assert entry_files.renew_listener(path, authority, HOSTS)
    made = path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert authority.has_issued_server(made, HOSTS)
    assert not entry_files.renew_listener(path, authority, HOSTS)
    assert path.read_bytes() == made
    assert entry_files.renew_listener(path, authority, HOSTS[:1])
    assert [each.name for each in tmp_path.iterdir()] == ["extension.pem"]


@pytest.mark.parametrize(
    "content",
    [
        lambda ours, _: listener(ours.issue_server(HOSTS[::-1])),
        lambda ours, _: listener(ours.issue_server((*HOSTS, "more"))),
        lambda _, other: listener(other.issue_server(HOSTS)),
        lambda ours, _: ours.issue_server(HOSTS).key + ours.issue_server(HOSTS).certificate,
        lambda ours, _: ours.issue_server(HOSTS).certificate,
        lambda ours, _: listener(ours.own()),
        lambda *_: b"",
        lambda *_: b"-----BEGIN CERTIFICATE-----\nx\n",
    ],
)
def test_what_is_no_certificate_of_ours_for_these_hosts_is_made_anew(tmp_path, authority, content):
    path = tmp_path / "extension.pem"
    path.touch(mode=0o600)
    path.write_bytes(content(authority, Authority.new("lab")))
    assert entry_files.renew_listener(path, authority, HOSTS)
    assert authority.has_issued_server(path.read_bytes(), HOSTS)


def test_the_listener_s_file_that_others_may_read_is_refused(tmp_path, authority):
    path = tmp_path / "extension.pem"
    entry_files.renew_listener(path, authority, HOSTS)
    path.chmod(0o644)
    with pytest.raises(OperatorError, match="others may read it"):
        entry_files.renew_listener(path, authority, HOSTS)


def test_an_entry_s_files_are_for_its_owner_but_for_the_certificates(tmp_path):
    placed = entry_files.place_entry_files(tmp_path / "new" / "mgmt1", CONTENT)
    assert {each.name: each.stat().st_mode & 0o777 for each in placed} == {
        "entry.conf": 0o600,
        "ca.pem": 0o644,
        "entry.pem": 0o644,
        "entry.key": 0o600,
    }
    assert {each.name: each.read_bytes() for each in placed} == CONTENT
    assert (tmp_path / "new" / "mgmt1").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", sorted(CONTENT))
def test_one_file_that_is_there_stops_it_and_nothing_is_added(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConflictError, match=name) as caught:
        entry_files.place_entry_files(tmp_path, CONTENT)
    assert caught.value.code is ErrorCode.ALREADY_INITIALISED
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_folder_that_is_none_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OperatorError, match="file"):
        entry_files.place_entry_files(tmp_path / "file" / "x", CONTENT)


@pytest.mark.parametrize(
    ("before", "behind"),
    [(None, "new\n"), ("", "new\n"), ("a\n", "a\nnew\n"), ("a", "a\nnew\n")],
)
def test_a_line_is_added_and_never_glued_to_another(tmp_path, before, behind):
    path = tmp_path / "entries"
    if before is not None:
        path.write_text(before)
    entry_files.append_line(path, "new\n")
    assert path.read_text() == behind
    assert before is not None or path.stat().st_mode & 0o777 == 0o600
