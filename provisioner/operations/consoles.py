"""The serial console of an operation, kept from each power-on."""

import asyncio
import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Protocol

from provisioner.errors import RackwrightError
from provisioner.units import OperationId, ServerName

log = logging.getLogger(__name__)

CONSOLE = "console.log"
TOKEN_WORD = b"rackwright.token="
TOKEN = re.compile(rb"(rackwright\.token=)[^\s\0]+(?=[\s\0])")
ENDS_WORD = re.compile(rb"[\s\0]")
LONGEST_TOKEN = 256


class Keepsakes(Protocol):
    """What an operation keeps beside its rows: console, agent's journal, boot files."""

    def append(self, operation: OperationId, name: str, content: bytes) -> None:
        """Add to a bounded file; what is too much is dropped from its beginning."""
        ...

    def read(self, operation: OperationId, name: str) -> bytes:
        """All that is kept; b"" where there is nothing."""
        ...


@dataclass(slots=True)
class Consoles:
    """One listening task a server; belongs to the engine's loop."""

    kept: Keepsakes
    _tasks: dict[ServerName, asyncio.Task[None]] = field(default_factory=dict)

    def follow(
        self, server: ServerName, operation: OperationId, stream: AsyncIterator[bytes]
    ) -> None:
        """Listen from now on; an older stream of this server ends."""
        self.leave(server)
        listen = self._listen(operation, stream)
        self._tasks[server] = asyncio.get_running_loop().create_task(listen)

    def leave(self, server: ServerName) -> None:
        """Stop listening; safe to repeat."""
        task = self._tasks.pop(server, None)
        if task is not None:
            task.cancel()

    async def _listen(self, operation: OperationId, stream: AsyncIterator[bytes]) -> None:
        mask = TokenMask()
        try:
            async for part in stream:
                await self._keep(operation, mask.pass_on(part))
            await self._keep(operation, mask.rest())
        except (RackwrightError, OSError) as error:  # no console ends an operation
            log.info("console: %s", error, extra={"operation": operation})

    async def _keep(self, operation: OperationId, part: bytes) -> None:
        if part:
            await asyncio.to_thread(self.kept.append, operation, CONSOLE, part)


class TokenMask:
    """Boot tokens out of a stream: a kernel that is told to be loud shows its command line."""

    def __init__(self) -> None:
        self._held = b""

    def pass_on(self, part: bytes) -> bytes:
        """What may be kept by now; what may become a token is held back."""
        whole = TOKEN.sub(rb"\1***", self._held + part)
        at = len(whole) - _open_word(whole)
        self._held = whole[at:]
        return whole[:at] if len(self._held) <= LONGEST_TOKEN else whole[:at] + self.rest()

    def rest(self) -> bytes:
        """At the end of the stream."""
        held, self._held = self._held, b""
        return held[: len(TOKEN_WORD)] + (b"***" if len(held) > len(TOKEN_WORD) else b"")


def _open_word(text: bytes) -> int:
    """How many bytes at the end are the beginning of a token's word, or all of it so far."""
    at = text.rfind(TOKEN_WORD)
    if at >= 0 and not ENDS_WORD.search(text, at):
        return len(text) - at
    lengths = range(min(len(TOKEN_WORD) - 1, len(text)), 0, -1)
    return next((n for n in lengths if text.endswith(TOKEN_WORD[:n])), 0)


def last_lines(kept: Keepsakes, operation: OperationId, most: int = 20) -> str:
    """The console's end, printable: what stands in the detail of a failure."""
    text = kept.read(operation, CONSOLE)[-16384:].decode("utf-8", "replace")
    clean = re.sub(r"\x1b\[[0-9;=?]*[A-Za-z]|[^\x20-\x7e\n]", "", text.replace("\r", "\n"))
    return "\n".join([line for line in clean.split("\n") if line.strip()][-most:])
