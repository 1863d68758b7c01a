"""The entry's way over HTTPS: lies beside the entry, which reads it only where `url` is configured.

Standard library of Python 3.9 or newer. Both ends show a certificate: the service's has to
come from the one authority that is configured and to name the host of the URL, ours is shown
to the service. What the system trusts counts for nothing.
"""

import _socket
import _thread
import posix
import re
import socket
import ssl
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
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
KEYS = ("ca", "certificate", "key")


class OverHttps:
    """One service.

    Args:
        values: Of the configuration: url, ca, certificate, key.
        opened: Descriptor of a regular file, and more; fails for anything else.
        ours_alone: Descriptor of a file that nobody else may read.
        failure: Ends the call: a code, and words. Raised here for wrong values too.
        lost: The service is away: it may be asked again.
    """

    def __init__(
        self,
        values: "dict[str, str]",
        opened: "Callable[[str], tuple[int, object]]",
        ours_alone: "Callable[[str], int]",
        failure: "type[Exception]",
        lost: "type[Exception]",
    ) -> None:
        self.url, self._failure, self._lost = values["url"], failure, lost
        found = URL.fullmatch(self.url)
        if not found:
            raise failure("CONFIG_INVALID", f"url: wanted https://HOST:PORT, not {self.url}")
        # bytes: as text it would load tables of characters that no host of ours has
        self._host, self._port = (found[1] or found[2]).encode(), found[3] or "443"
        ca, certificate, key = (values[each] for each in KEYS)
        for descriptor in (opened(ca)[0], opened(certificate)[0], ours_alone(key)):
            posix.close(descriptor)
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.minimum_version = ssl.TLSVersion.TLSv1_2
        what = ca
        try:
            self._tls.load_verify_locations(ca)
            what = f"{certificate} with {key}"
            self._tls.load_cert_chain(certificate, key, password="")  # else a terminal is asked
        except OSError as error:
            raise failure("CONFIG_INVALID", what, words(error) or "not readable as PEM") from None

    def __str__(self) -> str:
        return self.url

    def connected(self, until: float) -> "Connection":
        """A connection to the first address that answers; `until` by the monotonic clock."""
        try:
            plain = self._reached(until)
            plain.settimeout(left(until))
            made = self._tls.wrap_socket(plain, server_hostname=self._host)
        except OSError as error:
            raise self.meaning(error) from None
        return Connection(self, made, until)

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
                found.append(_socket.getaddrinfo(self._host, self._port, 0, _socket.SOCK_STREAM))
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

    def meaning(self, error: OSError) -> Exception:
        """Of a connection's error: our deadline, ends that refuse each other, an absent service."""
        if isinstance(error, _socket.timeout) and error.errno is None:
            return error
        unbelieved = getattr(error, "verify_message", "")
        if unbelieved:
            text = f"its certificate is not believed by the authority in ca: {unbelieved}"
            return self._failure("TLS_REFUSED", self.url, text)
        said = words(error)
        if not said or "eof" in said:
            return self._lost(error.strerror or type(error).__name__)
        alert = said.partition("alert ")[2]
        if alert:
            return self._failure("TLS_REFUSED", self.url, f"refuses our certificate: {alert}")
        return self._failure("TLS_REFUSED", self.url, f"does not speak TLS as we do: {said}")


class Connection:
    """A socket as the entry uses one; keeps the deadline and raises what the entry knows."""

    def __init__(self, service: OverHttps, tls: ssl.SSLSocket, until: float) -> None:
        self._service, self._tls, self._until = service, tls, until

    def settimeout(self, seconds: float) -> None:
        """Of the next call."""
        self._tls.settimeout(seconds)

    def sendall(self, data: bytes) -> None:
        """All of it; an end that closed has perhaps said why, so that is no error here."""
        unsent = memoryview(data)
        try:
            while unsent:
                self._tls.settimeout(left(self._until))
                unsent = unsent[self._tls.send(unsent) :]
        except _socket.timeout:
            raise
        except OSError:
            return

    def recv(self, most: int) -> bytes:
        """Some bytes, b"" at the end."""
        try:
            return self._tls.recv(most)
        except OSError as error:
            raise self._service.meaning(error) from None

    def close(self) -> None:
        """Without a farewell, which would have to be waited for."""
        self._tls.close()


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
