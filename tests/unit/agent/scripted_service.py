"""A service on loopback that answers agents over real TLS, as a test tells it to."""

import json
import ssl
import threading
import time
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

TOKEN = "token-of-this-boot"
HERE = "127.0.0.1"
SEEN_BY_GUESTS = "10.0.2.2"
"""Our loopback, as QEMU's user network shows it."""


def make_authority(folder: Path, name: str) -> Path:
    """A CA and a certificate for this machine: NAME.ca.pem, NAME.pem (with its key)."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)

    def certificate(public, subject, extensions):
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    addresses = [x509.IPAddress(ip_address(each)) for each in (HERE, SEEN_BY_GUESTS)]
    alternative = x509.SubjectAlternativeName(addresses)
    ca = certificate(
        ca_key.public_key(), issuer, [x509.BasicConstraints(ca=True, path_length=None)]
    )
    (folder / f"{name}.ca.pem").write_bytes(ca)
    own = certificate(key.public_key(), x509.Name([]), [alternative])
    plain = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    (folder / f"{name}.pem").write_bytes(own + plain)
    return folder / f"{name}.ca.pem"


class ScriptedService:
    """Orders in, results out; can lose connections, refuse, answer nonsense, and restart."""

    def __init__(self, certificate: Path | None) -> None:
        """Start on a free port; without a certificate it is a plain blob server."""
        self.orders: list[dict] = []
        self.results: list[dict] = []
        self.progress: list[dict] = []
        self.lines: list[str] = []
        self.hellos: list[dict] = []
        self.blob = b""
        self.blobs: dict[str, bytes] = {}
        self.has_ranges = True
        self.seen: list[str] = []
        self.statuses: list[int] = []
        self.lose = 0
        self.cut_after: int | None = None
        self.status_of = {"hello": 200}
        self._context = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
        self.port = 0
        self._server: ThreadingHTTPServer | None = None
        self.start()

    def start(self) -> None:
        """Listen, on the same port as before."""
        service = self

        class Handler(_Handler):
            script = service

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            allow_reuse_address = True

            def handle_error(self, *_):
                """Lost connections are what is tested."""

        self._server = Server((HERE, self.port), Handler)
        self.port = self._server.server_address[1]
        if self._context is not None:
            self._server.socket = self._context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        serve = {"poll_interval": 0.01}
        threading.Thread(target=self._server.serve_forever, kwargs=serve, daemon=True).start()

    def stop(self) -> None:
        """Close the listener; its connections end with their next answer."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def count(self, part: str) -> int:
        """How many requests went to paths with this part."""
        return sum(part in each for each in self.seen)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # an answer's head and body leave one after the other
    script: ScriptedService

    def log_message(self, *_):
        """Quiet."""

    def handle_one_request(self):
        """A restarted service does not know its old connections."""
        super().handle_one_request()
        if self.script._server is not self.server:
            self.close_connection = True

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self._begin():
            return
        name = self.path.rpartition("/")[2]
        kept = {
            "hello": self.script.hellos,
            "result": self.script.results,
            "progress": self.script.progress,
        }
        if name == "journal":
            self.script.lines += body["lines"]
        else:
            kept[name].append(body)
        body = {"operation": "op-1", "epoch": 3, "server": "bios1"} if name == "hello" else None
        self._answer(self.script.status_of.get(name, 204), body)

    def do_GET(self):
        if not self._begin():
            return
        if "/order" not in self.path:
            self._blob()
            return
        after = int(self.path.partition("=")[2])
        for order in self.script.orders:
            if order["order"] > after:
                self._answer(200, order)
                return
        time.sleep(0.02)
        self._answer(204)

    def _begin(self) -> bool:
        self.script.seen.append(self.path)
        if self.script.lose > 0:
            self.script.lose -= 1
            self.close_connection = True
            return False
        if self.script._context and self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(403)
            return False
        if self.script.statuses:
            self._answer(self.script.statuses.pop(0), {"error": "as the test says"})
            return False
        return True

    def _answer(self, status: int, body: object = None) -> None:
        content = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _blob(self) -> None:
        content, status = self.script.blobs.get(self.path, self.script.blob), 200
        asked = self.headers["Range"]
        if asked and self.script.has_ranges:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            whole, status = len(content), 206
            content = content[int(first) : int(last) + 1 if last else None]
            part = f"bytes {first}-{int(first) + len(content) - 1}/{whole}"
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", part)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        cut, self.script.cut_after = self.script.cut_after, None
        if cut is not None:
            content = content[:cut]
            self.close_connection = True
        self.wfile.write(content)
