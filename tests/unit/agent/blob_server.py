"""A web server on loopback that answers ranges as nginx does, and misbehaves as told."""

import http.server
import re
import threading
from contextlib import contextmanager


class BlobServer:
    """Blobs by path.

    Attributes:
        requests: (path, first byte, last byte) of every request, in order.
        cuts: How many bytes of the next answers are sent before the connection is cut.
        statuses: Taken for the next answers instead of 206.
        spoiled: Byte offset -> how many more times it is sent wrong.
    """

    def __init__(self, blobs):
        self.blobs = blobs
        self.requests = []
        self.cuts = []
        self.statuses = []
        self.spoiled = {}
        self.url = ""

    def answer(self, handler):
        blob = self.blobs[handler.path]
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", handler.headers.get("Range", ""))
        first, last = (int(found[1]), int(found[2])) if found else (0, len(blob) - 1)
        self.requests.append((handler.path, first, last))
        if self.statuses:
            handler.send_response(self.statuses.pop(0))
            handler.send_header("Content-Length", "0")
            handler.end_headers()
            return
        part = bytearray(blob[first : last + 1])
        for offset in [each for each, times in self.spoiled.items() if times]:
            if first <= offset <= last:
                part[offset - first] ^= 0xFF
                self.spoiled[offset] -= 1
        handler.send_response(206 if found else 200)
        handler.send_header("Content-Length", str(len(part)))
        handler.send_header("Content-Range", f"bytes {first}-{last}/{len(blob)}")
        handler.end_headers()
        if self.cuts:
            handler.wfile.write(part[: self.cuts.pop(0)])
            handler.close_connection = True
        else:
            handler.wfile.write(part)


@contextmanager
def serving(blobs):
    server = BlobServer(blobs)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # an answer's head and body leave one after the other

        def do_GET(self):
            server.answer(self)

        def log_message(self, *_args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listener:
        listener.daemon_threads = True
        server.url = f"http://127.0.0.1:{listener.server_port}"
        thread = threading.Thread(target=listener.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            listener.shutdown()
            thread.join()
