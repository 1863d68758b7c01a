"""HTTP connections of the agent: TLS to the service, plain to the blob server.

Standard library only.
"""

import http.client
import ssl
import threading
import urllib.parse
from dataclasses import dataclass

from provisioner.agent.settings import AgentSettings

ANSWER_WITHIN_S = 40.0
"""Twice the service's longest poll."""
LOST = (OSError, http.client.HTTPException)
"""What a connection ends with when it is lost; TLS errors are OSErrors."""


def pinned_context(authority_file: str) -> ssl.SSLContext:
    """TLS 1.3, trusting the site's authority and nobody else."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(authority_file)
    return context


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a request goes."""

    secure: bool
    host: str
    port: int


class _Kept:
    """The connections of one thread; they end with it."""

    def __init__(self) -> None:
        self.by_target: dict[Target, http.client.HTTPConnection] = {}

    def __del__(self) -> None:
        for each in self.by_target.values():
            each.close()


class Connections:
    """One kept connection for each thread and target."""

    def __init__(self, context: ssl.SSLContext) -> None:
        """No connection yet."""
        self._context = context
        self._mine = threading.local()

    def to(self, target: Target) -> http.client.HTTPConnection:
        """The calling thread's connection; it connects at its first request."""
        kept = self._kept()
        if target not in kept:
            kept[target] = (
                http.client.HTTPSConnection(
                    target.host, target.port, timeout=ANSWER_WITHIN_S, context=self._context
                )
                if target.secure
                else http.client.HTTPConnection(target.host, target.port, timeout=ANSWER_WITHIN_S)
            )
        return kept[target]

    def drop(self, target: Target) -> None:
        """Close it, so that the next request connects anew."""
        lost = self._kept().pop(target, None)
        if lost is not None:
            lost.close()

    def _kept(self) -> dict[Target, http.client.HTTPConnection]:
        if not hasattr(self._mine, "kept"):
            self._mine.kept = _Kept()
        kept: _Kept = self._mine.kept
        return kept.by_target


def target_of(url: str, settings: AgentSettings) -> tuple[Target, str]:
    """Where a URL leads, and the path to ask for.

    Raises:
        ValueError: Neither plain HTTP nor the service's own HTTPS: the token goes nowhere else.
    """
    parts = urllib.parse.urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    own = (parts.hostname, port) == (settings.host, settings.port)
    if not parts.hostname or parts.scheme not in {"http", "https"} or (secure and not own):
        raise ValueError(f"not a URL of this site: {url[:200]}")
    path = parts.path or "/"
    if parts.query:
        path = f"{path}?{parts.query}"
    if not path.isascii() or not path.isprintable() or " " in path:
        raise ValueError("a URL has characters that do not belong there")
    return Target(secure=secure, host=parts.hostname, port=port), path
