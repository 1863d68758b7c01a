"""Local processes: one that ends, and one that is spoken to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from provisioner.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child ended. A status other than 0 is a value, not an error."""

    status: int
    output: bytes
    error: bytes = b""


class Processes(Protocol):
    """The only way to start a local process."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        limit: Seconds,
        environ: Mapping[str, str] | None = None,
        given: bytes = b"",
    ) -> Ended:
        """Run without a shell; `given` goes to its standard input; its group dies at the limit.

        Raises:
            TimeoutError: The limit passed; nothing of the child is left.
        """
        ...


class Child(Protocol):
    """A process that is spoken to while it runs."""

    async def say(self, given: bytes) -> None:
        """Write to its standard input, or to its terminal.

        Raises:
            ConnectionError: It has ended.
        """
        ...

    async def hear(self, most: int) -> bytes:
        """What it writes next, at most so many bytes; b"" once it has ended."""
        ...

    async def hear_line(self, most: int) -> bytes:
        """One whole line; shorter and without its end once the child has ended.

        Raises:
            ValueError: The line is longer than `most`.
        """
        ...

    async def end(self) -> None:
        """Kill its group and wait; safe to repeat."""
        ...


class Children(Protocol):
    """Starts a process that stays; it dies with this one."""

    async def start(
        self, argv: Sequence[str], *, terminal: bool = False, given: bytes = b""
    ) -> Child:
        """Start without a shell.

        Args:
            argv: An argument equal to GIVEN_FILE becomes the path of a file with `given` in it.
            terminal: Its input and output are a terminal of its own, else pipes.
            given: Held in memory only, readable by this child alone.
        """
        ...


GIVEN_FILE = "@given"


"""Stands in argv for the file that a child reads its secret from."""
