"""HTTP: a request's parameters to the dispatch, its answer back, faults in between."""

import json
import socket
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.calls import CallRecord, Calls, Outcome, shown
from cloudstack_ext.api_server.dispatch import Answer, Dispatch
from cloudstack_ext.api_server.faults import JOB_FAULTS, Fault, FaultKind, Faults, When
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.api_server.xml_answer import as_xml

PATH = "/client/api"
_JSON = "application/json;charset=utf-8"
_XML = "text/xml;charset=UTF-8"
_HTML = "text/html;charset=utf-8"
_PAGE = b"<html><body>HTTP ERROR 404 Not Found</body></html>"
_LONGEST_FORM = 1 << 20
"""More is answered with 404 and a page of HTML, as seen."""


class Listener(ThreadingHTTPServer):
    """One port; a thread a connection."""

    daemon_threads = True

    def __init__(
        self, settings: ServerSettings, dispatch: Dispatch, faults: Faults, calls: Calls
    ) -> None:
        super().__init__((settings.address, settings.port), _Connection)
        self.dispatch = dispatch
        self.faults = faults
        self.calls = calls
        self.closing = threading.Event()
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()

    def close(self) -> None:
        """Stop listening and cut every connection."""
        self.closing.set()
        self.shutdown()
        self.server_close()
        with self._open_lock:
            for connection in self._open:
                _cut(connection)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Remember it, to cut it at the end."""
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        """It has ended."""
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A caller that went away is no news; anything else is a bug and is said."""
        import sys

        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    """Head and body go out together; apart, the caller waits for 40 ms in between."""
    disable_nagle_algorithm = True  # header and body are written apart: 40 ms a call else
    server: Listener

    def do_GET(self) -> None:  # the library's name
        self._answer(urlsplit(self.path).query)

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if length > _LONGEST_FORM:
            self._send(HTTPStatus.NOT_FOUND, _HTML, _PAGE)
            return
        query = urlsplit(self.path).query
        self._answer(f"{query}&{body.decode()}" if query else body.decode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The call log says it better."""

    def _answer(self, query: str) -> None:
        if urlsplit(self.path).path != PATH:
            self._send(HTTPStatus.NOT_FOUND, _HTML, _PAGE)
            return
        given = dict(parse_qsl(query, keep_blank_values=True))
        command = given.get("command", "")
        number = self.server.calls.next_number()
        fault = self.server.faults.take(number, command)
        acts = fault is None or fault.kind in JOB_FAULTS or fault.when is When.AFTER
        answer = self.server.dispatch.answer(given, fault) if acts else None
        self._record(number, given, answer, fault)
        if fault is not None and fault.kind not in JOB_FAULTS:
            self._fail(fault, command)
        elif answer is not None:
            kind, body = _written(given, answer.body)
            self._send(answer.status, kind, body)

    def _record(
        self, number: int, given: Mapping[str, str], answer: Answer | None, fault: Fault | None
    ) -> None:
        error = answer.status if answer is not None and answer.status != HTTPStatus.OK else None
        self.server.calls.add(
            CallRecord(
                number=number,
                at=time.time(),
                command=given.get("command", ""),
                parameters=shown(given),
                account=answer.account if answer is not None else None,
                outcome=_outcome(fault, error),
                acted=answer is not None and error is None,
                error=error,
                job=answer.job if answer is not None else None,
            )
        )

    def _fail(self, fault: Fault, command: str) -> None:
        match fault.kind:
            case FaultKind.CUT:
                self._cut()
            case FaultKind.SILENT:
                self.server.closing.wait(fault.seconds)
                self._cut()
            case FaultKind.NOT_JSON:
                self._send(fault.code, _HTML, b"<html><body>Bad Gateway</body></html>")
            case FaultKind.EMPTY:
                body = json.dumps({f"{command.lower()}response": {}})
                self._send(HTTPStatus.OK, _JSON, body.encode())
            case _:
                refusal = _refusal(fault, command)
                self._send(refusal.code, _JSON, json.dumps(refusal.body(command)).encode())

    def _cut(self) -> None:
        self.close_connection = True
        _cut(self.connection)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _written(given: Mapping[str, str], body: Mapping[str, Any]) -> tuple[str, bytes]:
    """In the form that was asked for: XML unless `response` says JSON."""
    if given.get("response", "").lower() == "json":
        return _JSON, json.dumps(body).encode()
    return _XML, as_xml(body)


def _cut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it has ended by itself
        return


def _outcome(fault: Fault | None, error: int | None) -> Outcome:
    if fault is not None and fault.kind in {FaultKind.CUT, FaultKind.SILENT}:
        return Outcome.CUT_AFTER if fault.when is When.AFTER else Outcome.CUT_BEFORE
    if fault is not None and fault.kind not in JOB_FAULTS:
        return Outcome.FALSE
    return Outcome.ANSWERED if error is None else Outcome.REFUSED


def _refusal(fault: Fault, command: str) -> refusals.RefusalError:
    match fault.code:
        case refusals.UNAUTHORIZED:
            return refusals.unauthorized(named=True)
        case refusals.UNAVAILABLE:
            return refusals.unavailable(command, "00000000-0000-0000-0000-000000000000")
        case code:
            text = fault.text or refusals.INTERNAL_TEXT
            return refusals.RefusalError(code, text, kind=refusals.GENERAL)
