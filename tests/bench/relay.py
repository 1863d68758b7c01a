"""A relay before a server, which notes how long its caller waited for the server's answers.

The caller asks one thing after the other. What the relay itself needs counts as the caller's.
"""

import selectors
import socket
import threading
import time
from dataclasses import dataclass

PIECE = 1 << 16


@dataclass(slots=True)
class Waiting:
    """From the last byte of each request to the last byte of its answer.

    Attributes:
        waited_s: Of all since it was last set to 0.
    """

    waited_s: float = 0.0
    _since: float | None = None

    def asks(self, now):
        """A piece of a request has come."""
        self._since = now

    def answers(self, now):
        """A piece of an answer goes back."""
        if self._since is not None:
            self.waited_s += now - self._since
            self._since = now


class Relay:
    """Listens on a port of its own and passes everything on, as it is.

    Attributes:
        waiting: Of its caller.
    """

    def __init__(self, host, port):
        self.waiting, self._to = Waiting(), (host, port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)

    def _accept(self):
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._pass_on, args=(caller,), daemon=True).start()

    def _pass_on(self, caller):
        """Until one of the two hangs up."""
        with caller, socket.create_connection(self._to) as server, selectors.DefaultSelector() as s:
            for each in (caller, server):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            s.register(caller, selectors.EVENT_READ, (server, self.waiting.asks))
            s.register(server, selectors.EVENT_READ, (caller, self.waiting.answers))
            while True:
                for key, _ in s.select():
                    piece = key.fileobj.recv(PIECE)
                    if not piece:
                        return
                    other, note = key.data
                    note(time.monotonic())
                    other.sendall(piece)
