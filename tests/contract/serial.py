"""The far end of a serial console: says a line again and again to whoever listens."""

import contextlib
import socket
import threading

LINE = b"Rackwright speaks on the serial console\r\n"


class SerialPort:
    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(0.2)
        self.port = self.listener.getsockname()[1]
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.closing.is_set():
            with contextlib.suppress(OSError):
                client, _ = self.listener.accept()
                with client:
                    while not self.closing.wait(0.2):
                        client.sendall(LINE)

    def close(self):
        self.closing.set()
        self.thread.join(timeout=5.0)
        self.listener.close()
