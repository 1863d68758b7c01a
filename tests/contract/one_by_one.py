"""A service on the loopback that talks with one client after another."""

import contextlib
import socket
import threading


class OneByOne:
    """`port` is where it listens; a subclass says how it talks, until `closing`."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.1)
        self.port = self.listener.getsockname()[1]
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.closing.is_set():
            with contextlib.suppress(OSError):
                client, _ = self.listener.accept()
                client.settimeout(5.0)
                with client:
                    self.talk(client)

    def close(self):
        self.closing.set()
        self.thread.join(timeout=10.0)
        self.listener.close()
