"""Services that answer nonsense."""

import contextlib
import socket
import ssl
import threading

from tests.contract.emulators import certificate
from tests.contract.one_by_one import OneByOne


class GarbageDatagrams:
    """Answers every datagram with bytes of no protocol."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.1)
        self.port = self.socket.getsockname()[1]
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.closing.is_set():
            with contextlib.suppress(OSError):
                _, client = self.socket.recvfrom(65536)
                self.socket.sendto(b"\x06\x00\xff\x07" + bytes(range(40)), client)

    def close(self):
        self.closing.set()
        self.thread.join(timeout=5.0)
        self.socket.close()


class HttpsService(OneByOne):
    """Speaks TLS and keeps what it is sent; answers each request with the same bytes.

    Args:
        folder: For its certificate; None: no TLS at all.
        answer: Bytes of a whole HTTP answer, or of nothing of the kind.
        then: Sent again and again until the client hangs up.
    """

    def __init__(self, folder, answer, then=b""):
        self.answer, self.then, self.received = answer, then, b""
        self.context = None
        if folder is not None:
            self.certificate_sha256 = certificate(folder)
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
        super().__init__()

    def talk(self, client):
        if self.context is not None:
            client = self.context.wrap_socket(client, server_side=True)
        with client:
            part = client.recv(65536)
            self.received += part
            if part:
                client.sendall(self.answer)
            while part and self.then and not self.closing.is_set():
                client.sendall(self.then)


def http(body):
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body
