"""Another machine, reached over SSH: commands, and files that are there whole or not at all."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from provisioner.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellAddress:
    """Where, as whom, and whom we expect there.

    Attributes:
        host_key: Type and key in base64, as a known_hosts line has them behind the name; or the
            key's fingerprint, SHA256:…; "" is not known, and the error tells what it is.
        key_file: Private key on this machine, without a passphrase; None: the keys of the agent
            of this process's environment.
        jump: The machine through which it is reached.
    """

    host: str
    port: int
    user: str
    host_key: str
    key_file: Path | None
    jump: "ShellAddress | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellResult:
    """How a command ended; a status other than 0 is a value."""

    status: int
    output: bytes
    errors: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenFile:
    """A regular file there.

    Attributes:
        mode: Permission bits.
    """

    content: bytes
    owner: int
    mode: int


class Shell(Protocol):
    """One machine, while it is open."""

    @property
    def host_key(self) -> str:
        """Type and key that it has shown."""
        ...

    async def run(
        self, words: Sequence[str], *, stdin: bytes = b"", within: Seconds
    ) -> ShellResult:
        """A program with its arguments; nothing in them is taken for the shell's.

        Raises:
            TransientError: SSH_UNREACHABLE: it was lost, or not done in time.
        """
        ...

    async def read(self, path: PurePosixPath) -> SeenFile | None:
        """None where there is no such file.

        Raises:
            OperatorError: SSH_FAILED: not readable, no regular file, too large.
        """
        ...

    async def put(self, path: PurePosixPath, content: bytes, *, mode: int, owner: int) -> None:
        """Whole, or the old one stays: written beside it, synced, renamed over it.

        Raises:
            OperatorError: SSH_FAILED.
        """
        ...


OpenShell = Callable[[ShellAddress], AbstractAsyncContextManager[Shell]]
"""Connects, and lets go at the end.

Raises:
    TransientError: SSH_UNREACHABLE.
    OperatorError: SSH_HOST_KEY: another machine answers. SSH_KEY: ours is not accepted.
"""
