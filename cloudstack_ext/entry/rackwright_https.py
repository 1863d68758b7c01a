"""The entry's way over HTTPS: lies beside the entry, which reads it only where `url` is configured.

Standard library of Python 3.9 or newer. Both ends show a certificate: the service's has to
come from the one authority that is configured and to name the host of the URL, ours is shown
to the service. What the system trusts counts for nothing.
"""

import _socket
import _thread
import re
import socket
import ssl
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

URL = re.compile(r"https://(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9.-]+))(?::([0-9]{1,5}))?/?")
CONNECT_S = 3.0
"""A machine that is off does not even refuse. Long enough for the first packet to be lost."""
ALIVE_S, ALIVE_TRIES = 15, 4
"""A held connection whose other end went without a word is found out within 75 s."""
OPTIONS = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, ALIVE_S),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, ALIVE_S),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, ALIVE_TRIES),
)


class OverHttps:
    """One service, by its URL.

    Args:
        url: https://HOST:PORT; the certificate has to name this host.
        ca: The authority's certificate, a PEM file.
        certificate: Ours, a PEM file.
        key: Of our certificate, a PEM file without a password.

    Raises:
        ValueError: No such URL, or files that hold something else; says which.
    """

    def __init__(self, *, url: str, ca: str, certificate: str, key: str) -> None:
        found = URL.fullmatch(url)
        if not found:
            text = f"url: wanted https://HOST:PORT, not {url}"
            raise ValueError(text)
        self.url = url
        # bytes: as text it would load tables of characters that no host of ours has
        self.host, self.port = (found[1] or found[2]).encode(), found[3] or "443"
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.tls.minimum_version = ssl.TLSVersion.TLSv1_2
        what = f"ca {ca}"
        try:
            self.tls.load_verify_locations(ca)
            what = f"certificate {certificate} with key {key}"
            self.tls.load_cert_chain(certificate, key, password="")  # else a terminal is asked
        except OSError as error:
            text = f"{what}: {words(error) or error.strerror or 'no PEM'}"
            raise ValueError(text) from None

    def __str__(self) -> str:
        return self.url

    def connected(self, until: float) -> ssl.SSLSocket:
        """A connection to the first address that answers.

        Args:
            until: By the monotonic clock; it is kept, whatever the other end does.

        Raises:
            OSError: TimeoutError without a number: the time is over.
        """
        plain = self._reached(until)
        plain.settimeout(left(until))
        return self.tls.wrap_socket(plain, server_hostname=self.host)

    def _reached(self, until: float) -> socket.socket:
        failure = OSError(0, "the name has no address")
        for family, kind, protocol, _, address in self._addresses(until):
            connection = socket.socket(family, kind, protocol)
            for option in OPTIONS:
                connection.setsockopt(*option)
            connection.settimeout(min(left(until), CONNECT_S))
            try:
                connection.connect(address)
            except OSError as error:
                connection.close()
                failure = OSError(error.errno or 0, error.strerror or "no answer")
            else:
                return connection
        left(until)
        raise failure

    def _addresses(self, until: float) -> "list[Any]":
        """Of the host; a resolver takes no limit, so a thread asks it, and may be left behind."""
        found: list[list[Any]] = []
        failed: list[OSError] = []
        done = _thread.allocate_lock()

        def ask() -> None:
            try:
                found.append(_socket.getaddrinfo(self.host, self.port, 0, _socket.SOCK_STREAM))
            except OSError as error:
                failed.append(error)
            done.release()

        done.acquire()
        _thread.start_new_thread(ask, ())
        if not done.acquire(timeout=left(until)):
            raise _socket.timeout
        if failed:
            raise failed[0]
        return found[0]

    def refusal(self, error: OSError) -> str:
        """Why the two ends do not accept each other, "" where they do: the service is away."""
        unbelieved = getattr(error, "verify_message", "")
        if unbelieved:
            return (
                f"{self.url}: its certificate is not believed by the authority in ca: {unbelieved}"
            )
        said = words(error)
        if not said or "eof" in said:
            return ""
        alert = said.partition("alert ")[2]
        if alert:
            return f"{self.url} refuses our certificate: {alert}"
        return f"{self.url} does not speak TLS as we do: {said}"


def words(error: OSError) -> str:
    """OpenSSL's word for it, readable; "" where it is none of its errors."""
    return (getattr(error, "reason", None) or "").replace("_", " ").lower()


def left(until: float) -> float:
    """Seconds to the deadline.

    Raises:
        TimeoutError: It has passed.
    """
    seconds = until - time.monotonic()
    if seconds <= 0:
        raise _socket.timeout
    return seconds
