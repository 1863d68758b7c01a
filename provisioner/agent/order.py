"""What every order of the agent shares: how it fails, how it reports, how it fetches.

Standard library only.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(eq=False)
class OrderFailedError(Exception):
    """An order that ended without its effect, or that cannot tell.

    Attributes:
        code: One of the service's error codes ("DISK_NOT_FOUND", "IMAGE_DIGEST", ...).
        text: One line: what and where; no secret.
    """

    code: str
    text: str

    def __str__(self) -> str:
        return f"{self.code}: {self.text}"


class Link(Protocol):
    """The agent's way to the service, as an order sees it. Thread-safe."""

    def progress(
        self, done_bytes: int, total_bytes: int, *, disk: str = "", note: str = ""
    ) -> None:
        """Report; at most two a second go out, the last one always does."""
        ...

    def fetch(self, url: str, *, start: int = 0, length: int | None = None) -> bytes:
        """Bytes of a blob, resumed after lost connections until the order's time is over.

        Plain HTTP for blobs (their digests come over TLS), HTTPS with the token for the rest.

        Raises:
            OrderFailedError: BLOBS_UNREACHABLE when nothing answers for five minutes.
        """
        ...

    def journal(self, line: str) -> None:
        """A line for the operation's record."""
        ...


Order = Callable[[Mapping[str, Any], Link], dict[str, Any]]
"""Parameters and link in, result out; raises OrderFailedError."""
