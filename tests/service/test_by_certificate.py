"""The listener by certificate over real sockets: who is refused, when, and what they are told."""

import asyncio
import http.client
import json
import socket
import ssl
import time
from datetime import UTC, datetime, timedelta

import pytest

from provisioner.adapters.keys.authority import Authority
from provisioner.service.by_certificate import on_tcp_by_certificate
from provisioner.service.callers import Caller, CallerByCertificate
from provisioner.service.extension import Extension
from provisioner.service.metrics import Metrics
from provisioner.service.server import on_tcp, server_tls
from provisioner.testing.clock import FakeClock
from provisioner.units import SiteName
from tests.contract.relays import free_port
from tests.service.entry.rig import Keys
from tests.service.test_listeners import APP, asked, running

pytestmark = pytest.mark.emulated
TARGET = "/v1/verbs?verb=create&wait=1800"
DAY = timedelta(days=1)


class Service:
    """The listener, and what reached a verb."""

    def __init__(self, keys, **named):
        self.keys, self.port, self.answered = keys, free_port(), []
        self.clock = FakeClock(wall=time.time())
        self.extension = Extension(
            answer=self._answer,
            refuse=lambda error: (json.dumps({"status": "error", "error": str(error)}), 1),
            caller_of=CallerByCertificate(
                read_entries=keys.entries.read_text,
                sites=[SiteName("lab"), SiteName("zone1")],
                clock=self.clock,
            ),
            names=frozenset(),
            clock=self.clock,
            metrics=Metrics(),
            stopping=asyncio.Event(),
        )

    async def _answer(self, verb, payload, _wait, caller):
        self.answered.append((verb, payload, caller))
        return '{"status":"success"}', 0

    def listener(self):
        return on_tcp_by_certificate(
            "extension", self.extension.app(), "127.0.0.1", self.port, self.keys.tls()
        )

    def tls(self, **versions):
        made = ssl.create_default_context(cafile=self.keys.ca)
        for key, value in versions.items():
            setattr(made, key, value)
        return made

    def client(self, **versions):
        made = self.tls(**versions)
        made.load_cert_chain(self.keys.folder / "entry.pem", self.keys.folder / "entry.key")
        return made

    def connection(self, tls=None):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, context=tls or self.client(), timeout=10
        )

    def post(self, body=b"{}", tls=None):
        status, headers, answer = asked(self.connection(tls), "POST", TARGET, body)
        return status, headers["rackwright-exit"], json.loads(answer)


@pytest.fixture
def keys(tmp_path):
    return Keys(tmp_path)


@pytest.fixture
def service(keys):
    made = Service(keys)
    with running(made.listener(), stopping=made.extension.stopping):
        yield made


def test_an_entry_speaks_for_the_site_of_its_certificate(service, keys):
    assert service.post(b"payload") == (200, "0", {"status": "success"})
    keys.client("mgmt9", "zone1")
    service.post(b"payload")
    assert service.answered == [
        ("create", b"payload", Caller(SiteName("lab"), "entry mgmt1")),
        ("create", b"payload", Caller(SiteName("zone1"), "entry mgmt9")),
    ]


def _tomorrow():
    return datetime.now(UTC) + DAY


def _issue(authority, *, name="mgmt1", site="lab", unit="Rackwright entry"):
    return authority.issue_client(name, site=site, unit=unit, ends=_tomorrow())


def _unknown(keys):
    keys.pair(_issue(keys.authority).pair)


def _revoked(keys):
    with keys.entries.open("a") as entries:
        entries.write(f"mgmt1 lab {keys.serial:X} revoked\n")


def _another_name(keys):
    """The file says another entry of this serial number."""
    text = keys.entries.read_text()
    keys.entries.write_text(text.replace("mgmt1", "mgmt2"))


def _another_site(keys):
    keys.entries.write_text(keys.entries.read_text().replace(" lab ", " zone1 "))


def _of_another_kind(keys):
    keys.client("mgmt1", "lab", unit="Rackwright console")


def _site_not_configured(keys):
    keys.client("mgmt1", "zone7")


def _file_spoilt(keys):
    keys.entries.write_text("mgmt1 lab\n")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (_unknown, "TLS_REFUSED: the certificate"),
        (_revoked, "was revoked"),
        (_another_name, "is not known here"),
        (_another_site, "is not known here"),
        (_of_another_kind, "TLS_REFUSED: this certificate is not that of an entry"),
        (_site_not_configured, "PERMISSION: site zone7 of entry mgmt1"),
        (_file_spoilt, "CONFIG_INVALID: entries: line 1"),
    ],
)
def test_a_certificate_that_speaks_for_nobody_gets_one_line_and_no_verb(service, keys, spoil, said):
    assert service.post()[0] == 200
    service.answered.clear()
    spoil(keys)
    status, exit_status, body = service.post(b"x" * 4_000_000)
    assert status >= 400
    assert exit_status == "1"
    assert said in body["error"]
    assert service.answered == []


def test_the_refusal_comes_before_the_body(service, keys):
    _unknown(keys)
    connection = service.connection()
    connection.putrequest("POST", TARGET)
    connection.putheader("Content-Length", "1000")
    connection.endheaders()  # and nothing of the body
    assert connection.getresponse().status == 403
    connection.close()


def test_a_revocation_and_an_end_count_on_a_kept_connection(service, keys):
    connection = service.connection()

    def ask():
        connection.request("POST", TARGET, b"{}")
        reply = connection.getresponse()
        return reply.status, reply.read()

    assert ask()[0] == 200
    text = keys.entries.read_text()
    _revoked(keys)
    status, body = ask()
    assert (status, b"was revoked" in body) == (403, True)
    keys.entries.write_text(text)
    assert ask()[0] == 200
    service.clock.step_wall(2 * 86400)
    status, body = ask()
    assert (status, b"has expired" in body) == (403, True)
    connection.close()


# --- refused in the handshake ---------------------------------------------------------------------
def _foreign(keys):
    keys.pair(_issue(Authority.new("lab")).pair)


def _agents_listener(keys):
    """What the listener on the provisioning network shows to agents."""
    keys.pair(keys.authority.issue_server(["10.66.0.1"]))


def _this_listener(keys):
    content = keys.server.read_bytes()
    for name in ("entry.pem", "entry.key"):
        (keys.folder / name).write_bytes(content)


def _expired(keys):
    keys.client("mgmt1", "lab", ends=-DAY / 48)


@pytest.mark.parametrize(
    ("spoil", "alert"),
    [
        (_foreign, "UNKNOWN_CA"),
        (_agents_listener, "UNSUPPORTED_CERTIFICATE"),
        (_this_listener, "UNSUPPORTED_CERTIFICATE"),
        (_expired, "CERTIFICATE_EXPIRED"),
    ],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_is_refused_is_told_why(service, keys, spoil, alert, version):
    spoil(keys)
    with pytest.raises(ssl.SSLError, match=alert):
        service.post(b"{}", service.client(maximum_version=version))
    assert service.answered == []


def test_no_certificate_is_refused(service):
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
        service.post(b"{}", service.tls())
    assert service.answered == []


def test_tls_older_than_1_2_is_refused(service):
    tls = service.client()
    tls.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1"):
        tls.minimum_version, tls.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
        service.post(b"{}", tls)


def test_no_session_is_given_that_could_be_taken_up_again(service):
    """Its certificate would not be looked at."""
    tls = service.client()
    with _connected(service, tls) as first:
        assert not first.session.has_ticket
        with _connected(service, tls, session=first.session) as second:
            assert not second.session_reused


def test_who_takes_a_session_up_by_its_number_is_cut_off(service):
    tls = service.client(maximum_version=ssl.TLSVersion.TLSv1_2)
    with (
        _connected(service, tls) as first,
        _greeting(service, tls, session=first.session) as second,
    ):
        assert second.session_reused
        assert _answer(second) == b""


def _connected(service, tls, **named):
    made = _greeting(service, tls, **named)
    assert _answer(made).startswith(b"HTTP/1.1 404")
    return made


def _greeting(service, tls, **named):
    plain = socket.create_connection(("127.0.0.1", service.port), timeout=5)
    return tls.wrap_socket(plain, server_hostname="127.0.0.1", **named)


def _answer(made):
    try:
        made.sendall(b"GET /none HTTP/1.1\r\nHost: x\r\n\r\n")
        return made.recv(4096)
    except ConnectionError:  # cut off
        return b""


def test_who_was_refused_and_stays_is_cut_and_holds_up_no_end(keys):
    made = Service(keys)
    with running(made.listener(), stopping=made.extension.stopping) as service:
        tls = made.tls(maximum_version=ssl.TLSVersion.TLSv1_3)
        plain = socket.create_connection(("127.0.0.1", made.port), timeout=5)
        with tls.wrap_socket(plain, server_hostname="127.0.0.1") as refused:
            with pytest.raises(OSError, match=r"."):
                refused.sendall(b"x" * 32_000_000)
            assert made.post()[0] == 200
            assert service.stop() < 3


# --- the two kinds of certificates do not stand in for each other -------------------------------
def test_an_entry_s_certificate_is_none_of_the_agents_listener(keys):
    """With the key of a management server nobody can play the service to an agent."""
    port = free_port()
    tls = server_tls(keys.folder / "entry.pem", keys.folder / "entry.key")
    trusting = ssl.create_default_context(cafile=keys.ca)
    trusting.check_hostname = False  # it names no host: leave only its use to be refused
    with running(on_tcp("agents", APP, "127.0.0.1", port, tls)):
        plain = socket.create_connection(("127.0.0.1", port), timeout=5)
        with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
            trusting.wrap_socket(plain)


def test_an_entry_s_certificate_names_no_host(keys):
    port = free_port()
    tls = server_tls(keys.folder / "entry.pem", keys.folder / "entry.key")
    trusting = ssl.create_default_context(cafile=keys.ca)
    with running(on_tcp("agents", APP, "127.0.0.1", port, tls)):
        for host in ("127.0.0.1", "mgmt1", "lab"):
            plain = socket.create_connection(("127.0.0.1", port), timeout=5)
            with pytest.raises(ssl.SSLCertVerificationError):
                trusting.wrap_socket(plain, server_hostname=host)


def test_a_management_server_may_hold_many_connections(service):
    """One for each verb that runs; more than others may have."""
    tls = service.client()
    held = [_connected(service, tls) for _ in range(80)]
    assert service.post()[0] == 200
    for each in held:
        each.close()
