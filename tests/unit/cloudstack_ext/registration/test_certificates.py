"""How long the certificates in use on a management server are still good."""

import contextlib
import json
import socket
import ssl
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import PurePosixPath

import pytest

from cloudstack_ext.registration.certificates import SHOWN, end_of
from cloudstack_ext.registration.verify import Outcome
from provisioner.adapters.keys.authority import Authority
from provisioner.adapters.keys.certificate_end import certificate_ends
from provisioner.errors import InputError
from provisioner.units import WallSeconds
from tests.unit.cloudstack_ext.registration.rig import Zone
from tests.unit.cloudstack_ext.registration.test_commands import Desk
from tests.unit.cloudstack_ext.registration.test_install import KEY

pytestmark = pytest.mark.emulated

DAY = 86400
SETTINGS = PurePosixPath("/etc/rackwright")
CONF = """\
url = https://rackwright.example.com:8443
ca = /etc/rackwright/ca.pem
certificate = /etc/rackwright/entry.pem
key = /etc/rackwright/entry.key
"""
SERVER = f"""
servers:
  - {{name: ms1, address: 10.0.0.1, host_key: {KEY}, key_file: id, entry_files: entry-ms1}}
"""
ALL = ("client certificate", "certificate authority", "service certificate")


def client(authority, *, days):
    ends = datetime.now(UTC) + timedelta(days=days)
    return authority.issue_client("ms1", site="zone1", unit="entry", ends=ends).pair


@pytest.fixture(scope="module")
def authority():
    return Authority.new("zone1")


@pytest.fixture
def desk(tmp_path, authority):
    """A zone that is registered, whose one server reaches the service over HTTPS."""
    with Zone() as zone:
        made = Desk(tmp_path, zone)
        made.file.write_text(made.file.read_text() + SERVER)
        folder = tmp_path / "entry-ms1"
        folder.mkdir()
        pair = client(authority, days=400)
        files = {
            "entry.conf": CONF.encode(),
            "ca.pem": authority.own().certificate,
            "entry.pem": pair.certificate,
            "entry.key": pair.key,
        }
        for name, content in files.items():
            (folder / name).write_bytes(content)
        made.ask("apply")
        (server,) = zone.state.servers.values()
        server.name = "ms1"
        install(made)
        machine = made.machines["10.0.0.1"]
        machine.shows = authority.issue_server(["rackwright.example.com"]).certificate
        zone.clock.step_wall(datetime.now(UTC).timestamp() - zone.clock.wall())
        yield made


def install(desk):
    done = desk.run("cloudstack", "install-entry", str(desk.file))
    assert done.exit_code == 0, done.output


def certificates(desk):
    done = desk.ask("verify", "--output", "json")
    checks = json.loads(done.stdout)["checks"]
    found = {each["name"]: (each["outcome"], each["text"]) for each in checks}
    return done.exit_code, {name: found[name] for name in ALL if name in found}


def test_all_three_are_looked_at_and_said_until_when_they_are_good(desk):
    status, found = certificates(desk)
    assert {name: outcome for name, (outcome, _) in found.items()} == dict.fromkeys(ALL, "ok")
    assert found["service certificate"][1] == "is good until 2099-12-31 00:00 UTC"
    assert status == 0


def test_one_that_ends_soon_is_a_warning_that_says_what_to_do(desk, authority):
    (desk.folder / "entry-ms1" / "entry.pem").write_bytes(client(authority, days=29).certificate)
    install(desk)
    status, found = certificates(desk)
    outcome, text = found["client certificate"]
    assert outcome == "warning"
    assert "in 29 days: issue another one (`rackwright init entry`) and place it" in text
    assert status == 0


def test_one_that_has_ended_is_bad(desk, authority):
    machine = desk.machines["10.0.0.1"]
    machine.shows = client(authority, days=-0.01).certificate
    status, found = certificates(desk)
    outcome, text = found["service certificate"]
    assert (outcome, text.startswith("has ended at ")) == ("bad", True)
    assert status == 4


def test_the_one_in_use_counts_not_the_one_that_is_to_be_placed(desk, authority):
    (desk.folder / "entry-ms1" / "entry.pem").write_bytes(client(authority, days=1).certificate)
    _, found = certificates(desk)
    assert found["client certificate"][0] == "ok"


def test_what_cannot_be_read_is_unknown_each_for_itself(desk):
    machine = desk.machines["10.0.0.1"]
    machine.shows = None
    machine.files.pop(SETTINGS / "ca.pem")
    path = SETTINGS / "entry.pem"
    machine.files[path] = replace(machine.files[path], content=b"none")
    status, found = certificates(desk)
    assert {name: outcome for name, (outcome, _) in found.items()} == dict.fromkeys(ALL, "unknown")
    assert "no certificate in PEM" in found["client certificate"][1]
    assert "ca.pem is not there" in found["certificate authority"][1]
    assert "shows none: ssl.SSLError: no handshake" in found["service certificate"][1]
    assert status == 4


def test_behind_a_socket_there_are_none(desk):
    files, path = desk.machines["10.0.0.1"].files, SETTINGS / "entry.conf"
    files[path] = replace(files[path], content=b"socket = /run/rackwright/extension.sock\n")
    _, found = certificates(desk)
    assert found == {}


@pytest.mark.parametrize(
    ("left_s", "outcome"),
    [
        (31 * DAY, Outcome.OK),
        (30 * DAY, Outcome.OK),
        (30 * DAY - 1, Outcome.WARNING),
        (1, Outcome.WARNING),
        (0, Outcome.BAD),
        (-DAY, Outcome.BAD),
    ],
)
def test_the_warning_begins_thirty_days_before_the_end(left_s, outcome):
    now = WallSeconds(1_800_000_000.0)
    check = end_of("c", "ms1", WallSeconds(now + left_s), now=now, remedy="renew it")
    assert check.outcome is outcome
    assert ("renew it" in check.text) is (outcome is not Outcome.OK)


def test_what_is_no_certificate_is_refused():
    with pytest.raises(InputError, match="no certificate in PEM"):
        certificate_ends(b"-----BEGIN CERTIFICATE-----\nnone\n")


# --- the program that is run there -----------------------------------------------------------
@contextlib.contextmanager
def listening(context):
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            with contextlib.suppress(OSError):
                plain, _ = listener.accept()
                context.wrap_socket(plain, server_side=True).close()

        thread = threading.Thread(target=answer)
        thread.start()
        yield listener.getsockname()[1]
        thread.join(10)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_the_certificate_of_a_service_that_wants_ours_is_shown_also_when_it_has_ended(
    tmp_path, authority, version
):
    server, ours = client(authority, days=-0.01), client(authority, days=1)
    names = ("server.pem", "server.key", "entry.pem", "entry.key", "ca.pem")
    contents = (
        server.certificate, server.key, ours.certificate, ours.key, authority.own().certificate,
    )  # fmt: skip
    for name, content in zip(names, contents, strict=True):
        (tmp_path / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    context.load_verify_locations(tmp_path / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    with listening(context) as port:
        url, given = f"https://127.0.0.1:{port}", [tmp_path / name for name in names[2:4]]
        words = [sys.executable, "-I", "-c", SHOWN, url, *map(str, given)]
        ended = subprocess.run(words, capture_output=True, timeout=20, check=False)
    assert ended.returncode == 0, ended.stderr
    assert certificate_ends(ended.stdout) == certificate_ends(server.certificate)
