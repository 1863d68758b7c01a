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
        try:
            async for part in stream:
                await asyncio.to_thread(self.kept.append, operation, CONSOLE, part)
        except RackwrightError as error:
            log.info("console: %s", error, extra={"operation": operation})


def last_lines(kept: Keepsakes, operation: OperationId, most: int = 20) -> str:
    """The console's end, printable: what stands in the detail of a failure."""
    text = kept.read(operation, CONSOLE)[-16384:].decode("utf-8", "replace")
    clean = re.sub(r"\x1b\[[0-9;=?]*[A-Za-z]|[^\x20-\x7e\n]", "", text.replace("\r", "\n"))
    return "\n".join([line for line in clean.split("\n") if line.strip()][-most:])
