"""Runs the real entry, and a service that does on each connection what it is told."""

import atexit
import functools
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from provisioner.adapters.keys.authority import Authority
from provisioner.service.by_certificate import mutual_tls
from provisioner.service.entries import UNIT, EntryLine

ENTRY = Path(__file__).parents[3] / "cloudstack_ext" / "entry" / "rackwright-entry"
GOOD = b'{"status":"success","message":"on"}'
SOCKET, HTTPS = "socket", "https"


def http(body, exit_code=b"0", status=b"200 OK", length=None, more=b""):
    length = str(len(body)).encode() if length is None else length
    head = b"HTTP/1.1 " + status + b"\r\ncontent-length: " + length + b"\r\n" + more
    if exit_code is not None:
        head += b"Rackwright-Exit: " + exit_code + b"\r\n"
    return head + b"\r\n" + body


class Keys:
    """An authority with all that it issues, as files of one folder.

    Attributes:
        server: The service's certificate with its key.
        entries: The file of certificates that the service believes.
    """

    def __init__(self, folder, site="lab"):
        self.folder, self.authority = folder, Authority.new(site)
        self.ca, self.server = folder / "ca.pem", folder / "extension.pem"
        self.entries = folder / "entries"
        self.ca.write_bytes(self.authority.own().certificate)
        self.server_for("127.0.0.1", "localhost")
        self.serial = self.client("mgmt1", site)

    def server_for(self, *hosts):
        made = self.authority.issue_server(hosts)
        self.server.write_bytes(made.key + made.certificate)

    def client(self, name, site, *, ends=timedelta(days=1), unit=UNIT):
        """entry.pem and entry.key; the serial number."""
        now = datetime.now(UTC)
        made = self.authority.issue_client(name, site=site, unit=unit, ends=now + ends)
        self.pair(made.pair)
        line = EntryLine(name=name, site=site, serial=made.serial, ends=(now + ends).date())
        with self.entries.open("a") as entries:
            entries.write(line.line())
        return made.serial

    def pair(self, issued):
        for name, content in (("entry.pem", issued.certificate), ("entry.key", issued.key)):
            path = self.folder / name
            path.unlink(missing_ok=True)
            path.touch(mode=0o600)
            path.write_bytes(content)

    def tls(self):
        return mutual_tls(self.server, self.ca)


@functools.cache
def shared_keys():
    """Of all tests of one process that spoil none."""
    folder = Path(tempfile.mkdtemp(prefix="rwk-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Keys(folder)


class Scripted:
    """Each connection takes the next act: bytes to answer with, or a call with the connection.

    Attributes:
        requests: What came in on each connection, head and body.
    """

    def __init__(self, listener, *acts, tls=None):
        self.acts, self.requests = list(acts), []
        self._listener, self._tls = listener, tls
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(20)
            try:
                if self._tls is not None:
                    connection = self._tls.wrap_socket(connection, server_side=True)
                with connection:
                    act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
                    self._act(connection, act)
            except OSError:
                continue

    def _act(self, connection, act):
        if getattr(act, "reads_nothing", False):
            act(connection)
            return
        self.requests.append(read_request(connection))
        if callable(act):
            act(connection)
        else:
            connection.sendall(act)

    def close(self):
        self.go_deaf()
        self._thread.join(5)

    def go_deaf(self):
        """Take no further connection."""
        if self._listener.fileno() >= 0:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()


def read_request(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        piece = connection.recv(65536)
        if not piece:
            break
        body += piece
    return head + b"\r\n\r\n" + body


def cut(_connection):
    """Read the request and hang up."""


def silent(connection):
    connection.recv(1)  # until the entry hangs up


def unread(act):
    act.reads_nothing = True
    return act


class Rig:
    """A folder with a configuration, a payload, and the entry to run on them.

    Args:
        folder: Made where it is not there.
        way: SOCKET or HTTPS.
        keys: Of HTTPS; those of all tests where a test does not spoil any.
    """

    def __init__(self, folder, way=SOCKET, keys=None):
        folder.mkdir(exist_ok=True)
        self.folder, self.way = folder, way
        self.socket = folder / "service.sock"
        self.config = folder / "entry.conf"
        self.payload = folder / "payload.json"
        self.keys = keys or (shared_keys() if way == HTTPS else None)
        self._kept = kept_port() if way == HTTPS else None
        self.port = self._kept.getsockname()[1] if self._kept else None
        self.write_config(self.usual_config())
        self.payload.write_bytes(b'{"virtualmachineid":"x"}')
        self.services = []

    def usual_config(self, **differs):
        """The text that leads to the service."""
        if self.way == SOCKET:
            return f"socket = {self.socket}\n"
        folder = self.keys.folder
        values = {
            "url": f"https://127.0.0.1:{self.port}",
            "ca": folder / "ca.pem",
            "certificate": folder / "entry.pem",
            "key": folder / "entry.key",
        }
        return "".join(f"{key} = {value}\n" for key, value in (values | differs).items())

    def write_config(self, text, mode=0o600):
        data = text.encode() if isinstance(text, str) else text
        self.config.unlink(missing_ok=True)
        self.config.write_bytes(data)
        self.config.chmod(mode)

    def listener(self):
        """Where the entry looks for the service."""
        if self.way == HTTPS:
            return socket.create_server(("127.0.0.1", self.port), backlog=64)
        self.socket.unlink(missing_ok=True)
        made = socket.socket(socket.AF_UNIX)
        made.bind(str(self.socket))
        made.listen(64)
        return made

    def serve(self, *acts):
        tls = self.keys.tls() if self.way == HTTPS else None
        self.services.append(Scripted(self.listener(), *acts, tls=tls))
        return self.services[-1]

    def leave(self):
        """The service is away, as far as the entry can see."""
        if self.way == HTTPS:
            self.services[-1].go_deaf()
        else:
            self.socket.unlink()

    def environment(self, **more):
        return {"PATH": "/usr/bin:/bin", "RACKWRIGHT_ENTRY_CONFIG": str(self.config)} | more

    def run(self, *argv, **named):
        """Exit status and the one object, as the management server reads them."""
        silent_input, held = os.pipe()
        named = {"env": self.environment(), "stdin": silent_input} | named
        try:
            ended = subprocess.run(
                [os.fspath(ENTRY), *argv],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=90,
                check=False,
                **named,
            )
        finally:
            os.close(silent_input)
            os.close(held)
        return ended.returncode, one_object(ended.stdout)

    def ask(self, verb="create", wait="1800", payload=None, **named):
        return self.run(verb, str(payload or self.payload), wait, **named)

    def timed(self, *args, **named):
        began = time.monotonic()
        code, body = self.ask(*args, **named)
        return code, body, time.monotonic() - began

    def start_s(self):
        """What a call takes that ends before it reads anything: so loaded is this machine now."""
        began = time.monotonic()
        assert code_of(self.run("status")[1]) == "USAGE"
        return time.monotonic() - began

    def at_once_s(self):
        """Nothing was waited for within so long: the shortest wait of an entry is 2.7 s."""
        return 1 + 5 * self.start_s()

    def close(self):
        for service in self.services:
            service.close()
        if self._kept is not None:
            self._kept.close()


def kept_port():
    """A port that is closed, or a service's, and nobody else's while this is bound to it."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", 0))
    return made


def one_object(output):
    assert output.endswith(b"\n")
    assert output.count(b"\n") == 1
    assert len(output) <= 32 * 1024
    body = json.loads(output)
    assert isinstance(body, dict)
    return body


def code_of(body):
    assert body["status"] == "error"
    return body["error"].partition(":")[0]
