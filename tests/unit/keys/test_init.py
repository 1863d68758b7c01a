"""All keys once, whole or not at all; and what they are good for."""

import hashlib
import os
import ssl
from datetime import UTC, datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from provisioner.adapters.keys import initialise as module
from provisioner.adapters.keys.authority import Authority, certificate_sha256
from provisioner.adapters.keys.evidence_key import (
    load_evidence_key,
    read_public_key,
    verify_signature,
)
from provisioner.adapters.keys.initialise import initialise
from provisioner.adapters.keys.secret_box import load_secret_box
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError

PRIVATE = {"secrets.key", "evidence.key", "ca.key", "server.key", "tokens"}
PUBLIC = {"evidence.pub", "ca.pem", "server.pem"}


def make(folder):
    return initialise(
        folder, site="lab", addresses=["10.66.0.1", "rack.test"], others={"tokens": b"a line\n"}
    )


@pytest.fixture
def state(tmp_path):
    make(tmp_path / "state")
    return tmp_path / "state"


def test_everything_is_there_and_only_its_owner_reads_the_private_part(state):
    modes = {path.name: path.stat().st_mode & 0o777 for path in state.iterdir()}
    assert modes == {**dict.fromkeys(PRIVATE, 0o600), **dict.fromkeys(PUBLIC, 0o644)}
    assert (state / "tokens").read_bytes() == b"a line\n"


def test_the_keys_work_together(state):
    box = load_secret_box(state / "secrets.key")
    assert box.open(box.seal(b"x", purpose="p"), purpose="p") == b"x"
    key = load_evidence_key(state / "evidence.key")
    public = read_public_key((state / "evidence.pub").read_bytes())
    assert verify_signature(public, b"message", key.sign(b"message"))
    assert not verify_signature(public, b"another", key.sign(b"message"))


def test_nothing_is_overwritten(state):
    before = {path.name: path.read_bytes() for path in state.iterdir()}
    with pytest.raises(ConflictError) as caught:
        make(state)
    assert caught.value.code is ErrorCode.ALREADY_INITIALISED
    assert {path.name: path.read_bytes() for path in state.iterdir()} == before


@pytest.mark.parametrize("name", sorted(PRIVATE | PUBLIC))
def test_one_file_that_is_there_stops_it_and_nothing_is_added(tmp_path, name):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ConflictError, match=name):
        make(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_file_in_the_folders_place_is_said_and_stays(tmp_path):
    place = tmp_path / "state"
    place.write_text("mine")
    with pytest.raises(OperatorError, match="a file, where a folder is wanted"):
        make(place)
    assert place.read_text() == "mine"


@pytest.mark.parametrize("good_links", range(8))
def test_a_failure_in_the_middle_leaves_nothing(tmp_path, monkeypatch, good_links):
    real, made = os.link, []

    def link(*arguments):
        if len(made) == good_links:
            raise OSError(28, "No space left on device")
        made.append(real(*arguments))

    monkeypatch.setattr(module.os, "link", link)
    with pytest.raises(OperatorError, match="No space left"):
        make(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_made_by_another_in_the_meantime_is_kept(tmp_path, monkeypatch):
    real = os.link

    def link(source, target):
        if target.name == "ca.pem":
            target.write_text("another's")
        real(source, target)

    monkeypatch.setattr(module.os, "link", link)
    with pytest.raises(ConflictError):
        make(tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"ca.pem": "another's"}


def test_the_rest_of_the_folder_is_left_alone(tmp_path):
    (tmp_path / "images").mkdir()
    make(tmp_path)
    assert (tmp_path / "images").is_dir()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".init")]


# --- certificates ---------------------------------------------------------------------------------
def handshake(state, name, trusted):
    """A TLS 1.3 handshake in memory; no socket."""
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(state / "server.pem", state / "server.key")
    client = ssl.create_default_context(cadata=trusted)
    client.minimum_version = ssl.TLSVersion.TLSv1_3
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    ways = [ssl.MemoryBIO() for _ in range(2)]
    ends = [
        client.wrap_bio(ways[0], ways[1], server_hostname=name),
        server.wrap_bio(ways[1], ways[0], server_side=True),
    ]
    for _ in range(4):
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
    return ends[0].version()


@pytest.mark.parametrize("name", ["10.66.0.1", "rack.test"])
def test_the_server_is_trusted_by_the_sites_ca_under_its_names(state, name):
    assert handshake(state, name, (state / "ca.pem").read_text()) == "TLSv1.3"


def test_under_another_name_or_ca_it_is_not(state, tmp_path):
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(state, "10.66.0.2", (state / "ca.pem").read_text())
    other = make(tmp_path / "other")[0].parent
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(state, "10.66.0.1", (other / "ca.pem").read_text())


def test_a_machine_whose_clock_is_years_off_trusts_it_too(state):
    for name in ("ca.pem", "server.pem"):
        certificate = x509.load_pem_x509_certificate((state / name).read_bytes())
        assert certificate.not_valid_before_utc == datetime(2000, 1, 1, tzinfo=UTC)
        assert certificate.not_valid_after_utc.year == 2099


def test_the_authority_goes_on_from_its_files(state):
    authority = Authority.load((state / "ca.pem").read_bytes(), (state / "ca.key").read_bytes())
    issued = authority.issue_server(["fd66::1"])
    (state / "server.pem").write_bytes(issued.certificate)
    (state / "server.key").write_bytes(issued.key)
    assert handshake(state, "fd66::1", (state / "ca.pem").read_text()) == "TLSv1.3"


def test_a_key_of_another_authority_is_refused(state, tmp_path):
    other = make(tmp_path / "other")[0].parent
    with pytest.raises(OperatorError, match="not that of its certificate"):
        Authority.load((state / "ca.pem").read_bytes(), (other / "ca.key").read_bytes())
    with pytest.raises(OperatorError, match="no PEM"):
        Authority.load(b"x", b"y")


def test_a_certificate_is_pinned_by_its_der_form(state):
    pem = (state / "server.pem").read_bytes()
    der = ssl.PEM_cert_to_DER_cert(pem.decode())
    assert certificate_sha256(pem) == hashlib.sha256(der).hexdigest()


# --- keys that are not ours -------------------------------------------------------------------
def test_an_evidence_key_of_another_kind_is_refused(state):
    with pytest.raises(OperatorError, match="no Ed25519 key"):
        load_evidence_key(state / "ca.key")
    with pytest.raises(OperatorError, match="no PEM private key"):
        load_evidence_key(state / "tokens")
    with pytest.raises(InputError, match="no public key"):
        read_public_key(b"nothing")


def test_a_public_key_of_another_kind_is_refused(state):
    certificate = x509.load_pem_x509_certificate((state / "ca.pem").read_bytes())
    pem = certificate.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(InputError, match="not an Ed25519 one"):
        read_public_key(pem)
