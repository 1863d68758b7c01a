"""The listener whose callers show a certificate: entries on other machines.

The handshake sees to it that the certificate was issued by our own authority, for clients, and
has not expired; whose it is stands in its subject and is noted for the application.
"""

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Any, ClassVar, Final

from starlette.requests import Request
from starlette.types import ASGIApp

from provisioner.errors import ErrorCode, OperatorError
from provisioner.service.entries import UNIT, Shown
from provisioner.service.peers import BoundedPeer
from provisioner.service.server import Listener, open_tcp
from provisioner.units import SiteName, WallSeconds

log = logging.getLogger(__name__)

PEER_CERTIFICATE: Final = "peer_certificate"


def on_tcp_by_certificate(
    name: str, app: ASGIApp, address: str, port: int, tls: ssl.SSLContext
) -> Listener:
    """A listener on an address of this machine; `tls` comes from `mutual_tls`."""
    sockets = (open_tcp(address, port),)
    return Listener(name=name, app=app, sockets=sockets, peers=CertificatePeer, tls=tls)


def mutual_tls(certificate: Path, authority: Path) -> ssl.SSLContext:
    """TLS 1.2 or newer, as old as a management server's Python may be.

    No session is taken up again: each connection shows its certificate anew. Tickets are not
    given; who asks with the number of a session (TLS 1.2: OpenSSL remembers it while its
    connection is open) is cut off.

    Args:
        certificate: Ours with its key, in one PEM file.
        authority: Of the callers; nothing that the system trusts is.

    Raises:
        OperatorError: FILE_UNREADABLE.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = _Telling
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_mode = ssl.CERT_REQUIRED
    context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
    context.num_tickets = 0
    path = certificate
    try:
        context.load_cert_chain(certificate)
        path = authority
        context.load_verify_locations(authority)
    except OSError as error:  # ssl.SSLError is one
        text = f"{path}: {error.strerror or error}"
        raise OperatorError(ErrorCode.FILE_UNREADABLE, text) from error
    return context


class _Telling(ssl.SSLObject):
    """Lets the other end know why its certificate is refused.

    Quirk: asyncio drops what OpenSSL has to say about a handshake that failed, so the other end
    would see a cut connection and ask again. Claiming that more is to be read makes asyncio send
    it; the failure follows with the next bytes, the other end's farewell or the handshake's limit.
    Seen with Python 3.11.
    """

    _failure: ssl.SSLError | None = None

    def do_handshake(self) -> None:
        """As the base does it.

        Raises:
            SSLError: A while later than there.
        """
        if self._failure is not None:
            raise self._failure
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as error:
            self._failure = error
            why = getattr(error, "verify_message", None) or error.reason
            log.warning("refused in the handshake: %s", why)
            raise ssl.SSLWantReadError from error
        if self.session_reused:
            log.warning("refused in the handshake: a session taken up again")
            raise ssl.SSLError(ssl.SSL_ERROR_SSL, "a session taken up again")


class CertificatePeer(BoundedPeer):
    """Notes whose certificate it is, in the request's state.

    A management server holds a connection for each verb that runs, so one source may have many.
    """

    most_of_one_source: ClassVar[int] = 512

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Called by the event loop, behind the handshake."""
        super().connection_made(transport)
        shown = shown_of(transport.get_extra_info("peercert") or {})
        self.app_state = {**self.app_state, PEER_CERTIFICATE: shown}


def peer_certificate(request: Request) -> Shown | None:
    """What the other end has shown; None where it is no entry's."""
    shown: Any = getattr(request.state, PEER_CERTIFICATE, None)
    return shown if isinstance(shown, Shown) else None


def shown_of(certificate: dict[str, Any]) -> Shown | None:
    """Source of the form: ssl.SSLSocket.getpeercert."""
    subject = [pair for group in certificate.get("subject", ()) for pair in group]
    named = dict(subject)
    if len(named) != len(subject) or named.get("organizationalUnitName") != UNIT:
        return None
    return Shown(
        name=named.get("commonName", ""),
        site=SiteName(named.get("organizationName", "")),
        serial=int(certificate["serialNumber"], 16),
        ends_at=WallSeconds(float(ssl.cert_time_to_seconds(certificate["notAfter"]))),
    )
