"""The entry over HTTPS: its own files, whom it believes, who believes it, and who is not there."""

import os
import socket
import ssl
import subprocess
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from provisioner.adapters.keys.authority import Authority, Issued
from tests.service.entry.rig import ENTRY, GOOD, HTTPS, Keys, Rig, code_of, http, silent

pytestmark = pytest.mark.emulated
ON = {"status": "success", "message": "on"}
DAY = timedelta(days=1)


@pytest.fixture
def keys(tmp_path):
    """Of this test alone: it may spoil them."""
    folder = tmp_path / "keys"
    folder.mkdir()
    return Keys(folder)


@pytest.fixture
def own(tmp_path, keys):
    made = Rig(tmp_path, HTTPS, keys)
    yield made
    made.close()


@pytest.fixture
def rig_https(tmp_path):
    made = Rig(tmp_path, HTTPS)
    yield made
    made.close()


def fails_at_once(rig, wanted, *, service=None):
    """For `status` too: a fault of the configuration is no absent service. The lines."""
    lines = []
    for verb in ("create", "status"):
        code, body, seconds = rig.timed(verb)
        assert (code, code_of(body)) == (1, wanted), body
        assert seconds < rig.at_once_s()
        lines.append(body["error"])
    if service is not None:
        assert service.requests == []
    assert lines[0] == lines[1]
    return lines[0]


# --- the four lines and their files -----------------------------------------------------------
@pytest.mark.parametrize(
    "url",
    [
        "",
        "http://127.0.0.1:1",
        "https://",
        "https://127.0.0.1:x",
        "https://127.0.0.1:1/v1",
        "https://user@127.0.0.1:1",
        "https://[::1",
        "127.0.0.1:1",
        "https://a b",
    ],
)
def test_a_url_that_is_none(rig_https, url):
    rig_https.write_config(rig_https.usual_config(url=url))
    assert "wanted https://HOST:PORT" in fails_at_once(rig_https, "CONFIG_INVALID")


@pytest.mark.parametrize("missing", ["url", "ca", "certificate", "key"])
def test_all_four_lines_or_none(rig_https, missing):
    rig_https.serve(http(GOOD))
    lines = rig_https.usual_config().splitlines(keepends=True)
    rig_https.write_config("".join(line for line in lines if not line.startswith(f"{missing} ")))
    assert "url, ca, certificate and key" in fails_at_once(rig_https, "CONFIG_INVALID")


@pytest.mark.parametrize("key", ["timeout = 5", "key = /x", "socket = /s", "insecure = yes"])
def test_no_line_more(rig_https, key):
    rig_https.serve(http(GOOD))
    rig_https.write_config(rig_https.usual_config() + key + "\n")
    assert "wanted" in fails_at_once(rig_https, "CONFIG_INVALID")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660, 0o700])
def test_a_key_that_others_may_read_is_refused(own, mode):
    service = own.serve(http(GOOD))
    (own.keys.folder / "entry.key").chmod(mode)
    assert "entry.key: has mode" in fails_at_once(own, "CONFIG_INVALID", service=service)


@pytest.mark.skipif(os.geteuid() != 0, reason="changes owners")
def test_a_key_of_somebody_else_is_refused(own):
    service = own.serve(http(GOOD))
    os.chown(own.keys.folder / "entry.key", 12345, 12345)
    assert "entry.key: belongs to uid 12345" in fails_at_once(
        own, "CONFIG_INVALID", service=service
    )


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_key_of_ours_alone_is_taken(own, mode):
    own.serve(http(GOOD))
    (own.keys.folder / "entry.key").chmod(mode)
    assert own.ask() == (0, ON)


@pytest.mark.parametrize("name", ["ca.pem", "entry.pem", "entry.key"])
def test_a_file_that_is_not_there_or_none(own, name):
    service, path = own.serve(http(GOOD)), own.keys.folder / name
    path.unlink()
    assert name in fails_at_once(own, "FILE_UNREADABLE", service=service)
    os.mkfifo(path)
    assert "not a file" in fails_at_once(own, "FILE_UNREADABLE", service=service)


@pytest.mark.parametrize("name", ["ca.pem", "entry.pem", "entry.key"])
@pytest.mark.parametrize("content", [b"", b"x" * 100, b"\xff\x00", None])
def test_a_file_that_holds_something_else(own, name, content):
    path = own.keys.folder / name
    service = own.serve(http(GOOD))
    if content is None:  # of the right form, and cut
        content = path.read_bytes()[:120]
    path.write_bytes(content)
    assert name in fails_at_once(own, "CONFIG_INVALID", service=service)


def test_a_certificate_with_the_key_of_another(own):
    service, mine = own.serve(http(GOOD)), (own.keys.folder / "entry.key").read_bytes()
    own.keys.client("mgmt2", "lab")
    (own.keys.folder / "entry.key").write_bytes(mine)
    line = fails_at_once(own, "CONFIG_INVALID", service=service)
    assert "key values mismatch" in line


def test_a_key_with_a_password_is_refused_and_nobody_is_asked_for_it(own):
    service, path = own.serve(http(GOOD)), own.keys.folder / "entry.key"
    asked = ["openssl", "ec", "-aes256", "-passout", "pass:secret", "-in", path, "-out", path]
    subprocess.run(asked, check=True, capture_output=True)
    path.chmod(0o600)
    assert "entry.key" in fails_at_once(own, "CONFIG_INVALID", service=service)


def test_without_the_file_beside_it_one_line_says_which(rig_https):
    alone = rig_https.folder / "rackwright"
    alone.write_bytes(ENTRY.read_bytes())
    alone.chmod(0o755)
    argv = [alone, "status", rig_https.payload, "60"]
    ended = subprocess.run(argv, env=rig_https.environment(), capture_output=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, b"")
    assert b"FILE_UNREADABLE" in ended.stdout
    assert b"rackwright_https.py" in ended.stdout


def test_a_file_beside_it_stands_in_for_none_of_the_library(rig_https):
    rig_https.serve(http(GOOD))
    for source in (ENTRY, ENTRY.with_name("rackwright_https.py")):
        placed = rig_https.folder / source.name
        placed.write_bytes(source.read_bytes())
        placed.chmod(0o755)
    for name in ("ssl", "socket", "re", "enum"):
        (rig_https.folder / f"{name}.py").write_text("import sys; sys.stdout.write('evil')")
    argv = [rig_https.folder / ENTRY.name, "create", rig_https.payload, "60"]
    ended = subprocess.run(argv, env=rig_https.environment(), capture_output=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, GOOD + b"\n", b"")
    assert not list(rig_https.folder.glob("__pycache__"))


# --- whom it believes -------------------------------------------------------------------------
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_certificate_names_the_host_of_the_url(own, host):
    own.serve(http(GOOD))
    own.write_config(own.usual_config(url=f"https://{host}:{own.port}/"))
    assert own.ask() == (0, ON)


def test_over_ipv6(own):
    own.keys.server_for("::1")
    tls = own.keys.tls()
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as listener:
        own.write_config(own.usual_config(url=f"https://[::1]:{listener.getsockname()[1]}"))
        thread = threading.Thread(target=_once, args=(listener, tls))
        thread.start()
        assert own.ask() == (0, ON)
        thread.join()


def _once(listener, tls):
    connection, _ = listener.accept()
    with tls.wrap_socket(connection, server_side=True) as made:
        made.recv(65536)
        made.sendall(http(GOOD))


@pytest.mark.parametrize("hosts", [("127.0.0.2",), ("localhost",), ("rack.test", "10.66.0.1")])
def test_a_certificate_for_another_name_is_refused(own, hosts):
    own.keys.server_for(*hosts)
    service = own.serve(http(GOOD))
    line = fails_at_once(own, "TLS_REFUSED", service=service)
    assert "not valid for '127.0.0.1'" in line


def test_a_certificate_of_another_authority_is_refused_though_it_has_the_same_name(own):
    made = Authority.new("lab").issue_server(["127.0.0.1"])
    own.keys.server.write_bytes(made.key + made.certificate)
    service = own.serve(http(GOOD))
    assert "issuer" in fails_at_once(own, "TLS_REFUSED", service=service)


def test_what_the_system_trusts_counts_for_nothing(own):
    """The service's authority in the system's store by its variables, another one in the file."""
    service = own.serve(http(GOOD))
    other = own.folder / "other.pem"
    other.write_bytes(Authority.new("other").own().certificate)
    own.write_config(own.usual_config(ca=other))
    environment = own.environment(SSL_CERT_FILE=str(own.keys.ca), SSL_CERT_DIR="/etc/ssl/certs")
    assert code_of(own.ask(env=environment)[1]) == "TLS_REFUSED"
    assert service.requests == []


@pytest.mark.parametrize(
    ("begins", "ends", "said"), [(-9, -1, "has expired"), (1, 9, "not yet valid")]
)
def test_a_certificate_out_of_its_time_is_refused(own, begins, ends, said, monkeypatch):
    now = datetime.now(UTC)
    monkeypatch.setattr(
        "provisioner.adapters.keys.authority.Authority._end.__defaults__",
        ((now + begins * DAY, now + ends * DAY),),
    )
    own.keys.server_for("127.0.0.1")
    service = own.serve(http(GOOD))
    assert said in fails_at_once(own, "TLS_REFUSED", service=service)


def test_an_entry_s_certificate_is_none_of_a_service(own):
    """An entry's key is on a management server: with it nobody can play the service."""
    key, certificate = (own.keys.folder / name for name in ("entry.key", "entry.pem"))
    own.keys.server.write_bytes(key.read_bytes() + certificate.read_bytes())
    service = own.serve(http(GOOD))
    assert "certificate purpose" in fails_at_once(own, "TLS_REFUSED", service=service)


def _speaks(own, answer, *, tls=None):
    """A server that greets each connection with these bytes, or with this TLS."""
    listener = own.listener()

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            try:
                with connection if tls is None else tls.wrap_socket(connection, server_side=True):
                    connection.sendall(answer)
                    connection.recv(65536)
            except OSError:
                continue

    threading.Thread(target=serve, daemon=True).start()
    return listener


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-OpenSSH\r\n"])
def test_what_speaks_no_tls_is_said_to(own, answer):
    with _speaks(own, answer) as listener:
        assert "does not speak TLS" in fails_at_once(own, "TLS_REFUSED")
        listener.shutdown(socket.SHUT_RDWR)


def test_tls_older_than_1_2_is_refused(own):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        tls.minimum_version, tls.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    tls.load_cert_chain(own.keys.server)
    with _speaks(own, b"", tls=tls) as listener:
        fails_at_once(own, "TLS_REFUSED")
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_1_2_and_1_3_are_spoken(own, version, monkeypatch):
    plain = own.keys.tls

    def tls():
        made = plain()
        made.maximum_version = version
        return made

    monkeypatch.setattr(own.keys, "tls", tls)
    own.serve(http(GOOD))
    assert own.ask() == (0, ON)


# --- who believes it --------------------------------------------------------------------------
def _foreign(keys):
    keys.pair(Authority.new("lab").issue_client("m", site="lab", unit="u", ends=_tomorrow()).pair)


def _server(keys):
    keys.pair(keys.authority.issue_server(["127.0.0.1"]))


def _expired(keys):
    keys.client("mgmt1", "lab", ends=-DAY / 48)


def _authority(keys):
    own = keys.authority.own()
    keys.pair(Issued(certificate=own.certificate, key=own.key))


def _tomorrow():
    return datetime.now(UTC) + DAY


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_foreign, "unknown ca"),
        (_server, "unsupported certificate"),
        (_expired, "certificate expired"),
        (_authority, "unsupported certificate"),
    ],
)
@pytest.mark.parametrize("size", [10, 4_000_000])
def test_a_certificate_that_the_service_refuses_is_said_by_both(own, spoil, said, size):
    spoil(own.keys)
    own.payload.write_bytes(b"x" * size)
    service = own.serve(http(GOOD))
    assert said in fails_at_once(own, "TLS_REFUSED", service=service)


# --- who is not there -------------------------------------------------------------------------
def test_a_machine_that_does_not_even_refuse_is_away_within_seconds(own):
    """A full queue drops first packets, as a machine does that is off."""
    held = []
    with socket.create_server(("127.0.0.1", own.port), backlog=0) as listener:
        for _ in range(4):
            held.append(socket.socket())
            held[-1].setblocking(False)
            held[-1].connect_ex(listener.getsockname())
        code, body, seconds = own.timed("status")
        assert (code, body["power_state"]) == (0, "PowerUnknown")
        assert 2.5 < seconds < 4.5 + own.start_s()
        assert code_of(own.ask("statuses")[1]) == "SERVICE_DOWN"
    for each in held:
        each.close()


def test_a_name_that_nobody_knows_is_an_absent_service(own):
    own.write_config(own.usual_config(url="https://rackwright.invalid:8445"))
    code, body, seconds = own.timed("create", wait="3")
    assert (code, code_of(body)) in {(1, "SERVICE_DOWN"), (1, "DEADLINE")}
    assert seconds < 3 + own.start_s()


def test_a_handshake_that_never_ends_keeps_the_deadline(own):
    with socket.create_server(("127.0.0.1", own.port)) as listener:
        code, body, seconds = own.timed("create", wait="3")
        assert (code, code_of(body)) == (1, "DEADLINE")
        assert 2.6 < seconds < 3.0 + own.start_s()
        listener.close()


def test_a_held_connection_is_looked_after_by_the_kernel(own):
    """A service that lost its power says nothing; without this a create would wait for hours."""
    seen = []

    def look(connection):
        local = f":{connection.getpeername()[1]:04X}"
        table = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
        seen.extend(row[5] for row in table if row[1].endswith(local))
        connection.sendall(http(GOOD))

    own.serve(look)
    assert own.ask() == (0, ON)
    assert [each.partition(":")[0] for each in seen] == ["02"]  # proc(5): a keep-alive timer runs


def test_a_silent_service_holds_up_status_for_seconds_only(own):
    own.serve(silent)
    code, body, seconds = own.timed("status")
    assert (code, body["power_state"]) == (0, "PowerUnknown")
    assert seconds < 6
