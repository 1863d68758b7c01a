"""Runs the real entry, and a service that does on each connection what it is told."""

import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path

ENTRY = Path(__file__).parents[3] / "cloudstack_ext" / "entry" / "rackwright-entry"
GOOD = b'{"status":"success","message":"on"}'


def http(body, exit_code=b"0", status=b"200 OK", length=None, more=b""):
    length = str(len(body)).encode() if length is None else length
    head = b"HTTP/1.1 " + status + b"\r\ncontent-length: " + length + b"\r\n" + more
    if exit_code is not None:
        head += b"Rackwright-Exit: " + exit_code + b"\r\n"
    return head + b"\r\n" + body


class Scripted:
    """Each connection takes the next act: bytes to answer with, or a call with the connection.

    Attributes:
        requests: What came in on each connection, head and body.
    """

    def __init__(self, path, *acts):
        self.acts, self.requests = list(acts), []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(64)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(20)
                act = self.acts.pop(0) if len(self.acts) > 1 else self.acts[0]
                try:
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
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)


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
    """A folder with a configuration, a payload, and the entry to run on them."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.socket = folder / "service.sock"
        self.config = folder / "entry.conf"
        self.payload = folder / "payload.json"
        self.write_config(f"socket = {self.socket}\n")
        self.payload.write_bytes(b'{"virtualmachineid":"x"}')
        self.services = []

    def write_config(self, text, mode=0o600):
        data = text.encode() if isinstance(text, str) else text
        self.config.unlink(missing_ok=True)
        self.config.write_bytes(data)
        self.config.chmod(mode)

    def serve(self, *acts):
        self.socket.unlink(missing_ok=True)
        self.services.append(Scripted(self.socket, *acts))
        return self.services[-1]

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

    def close(self):
        for service in self.services:
            service.close()


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
