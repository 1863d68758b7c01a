"""Small relays on the loopback between a client and an emulator: they count, and they delay."""

import contextlib
import selectors
import socket
import threading
import time

RAKP_1 = 0x12
"""RMCP+ payload type: one for each password that is tried. Source: IPMI v2.0, table 13-16."""


def free_port(kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class _Relay:
    """A thread with a listening socket; `port` is its, `delay_s` is per packet to the emulator."""

    kind = socket.SOCK_STREAM

    def __init__(self, target):
        self.target, self.delay_s = target, 0.0
        self.socket = socket.socket(socket.AF_INET, self.kind)
        self.socket.bind(("127.0.0.1", 0))
        if self.kind is socket.SOCK_STREAM:
            self.socket.listen(16)
        self.port = self.socket.getsockname()[1]
        self.closing = False
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def close(self):
        self.closing = True
        with socket.socket(socket.AF_INET, self.kind) as waker, contextlib.suppress(OSError):
            waker.connect(("127.0.0.1", self.port))
            waker.send(b"")
        self.thread.join(timeout=5.0)
        self.socket.close()


class UdpRelay(_Relay):
    """Counts the passwords tried in front of an IPMI controller."""

    kind = socket.SOCK_DGRAM

    def __init__(self, target):
        self.tries = 0
        self.upstream = {}
        super().__init__(target)

    def serve(self):
        with selectors.DefaultSelector() as selector:
            selector.register(self.socket, selectors.EVENT_READ, None)
            while not self.closing:
                for key, _ in selector.select(timeout=5.0):
                    if key.data is None:
                        self._down(selector)
                    else:
                        with contextlib.suppress(ConnectionError):
                            self.socket.sendto(key.fileobj.recv(65536), key.data)
        for upstream in self.upstream.values():
            upstream.close()

    def _down(self, selector):
        packet, client = self.socket.recvfrom(65536)
        if not packet:
            return
        if client not in self.upstream:
            upstream = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            upstream.connect(("127.0.0.1", self.target))
            selector.register(upstream, selectors.EVENT_READ, client)
            self.upstream[client] = upstream
        if packet[4:5] == b"\x06" and packet[5] & 0x3F == RAKP_1:
            self.tries += 1
        time.sleep(self.delay_s)
        with contextlib.suppress(ConnectionError):
            self.upstream[client].send(packet)


class TcpRelay(_Relay):
    """Counts connections in front of a Redfish service."""

    def __init__(self, target):
        self.connections = 0
        super().__init__(target)

    def serve(self):
        while True:
            client, _ = self.socket.accept()
            if self.closing:
                client.close()
                return
            self.connections += 1
            threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client):
        with client, contextlib.suppress(OSError):
            time.sleep(self.delay_s)
            with socket.create_connection(("127.0.0.1", self.target), timeout=60.0) as upstream:
                back = threading.Thread(target=self._copy, args=(upstream, client), daemon=True)
                back.start()
                self._copy(client, upstream)
                back.join()

    def _copy(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
