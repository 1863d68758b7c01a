"""GPU hosts as remembered, and the way to their texts."""

from collections.abc import Awaitable, Callable
from typing import Protocol

from provisioner.hosts.facts import HostFacts
from provisioner.hosts.model import HostRecord, SshAccess
from provisioner.units import HostName, WallSeconds


class Hosts(Protocol):
    """GPU hosts as remembered."""

    def host(self, name: HostName) -> HostRecord:
        """Raises InputError HOST_UNKNOWN."""
        ...

    def hosts(self) -> tuple[HostRecord, ...]:
        """All, by name."""
        ...

    def add(self, record: HostRecord, bundle: bytes) -> None:
        """Remember a new one.

        Raises:
            ConflictError: HOST_EXISTS: name, system uuid or controller belongs to another machine.
        """
        ...

    def observe(self, name: HostName, facts: HostFacts, bundle: bytes, *, now: WallSeconds) -> None:
        """Newer facts, and the texts that they are from.

        Raises:
            InputError: HOST_UNKNOWN.
            ConflictError: HOST_EXISTS: its system uuid, now known, is another machine's.
        """
        ...

    def bundle(self, name: HostName) -> bytes:
        """The texts of the newest facts. Raises InputError HOST_UNKNOWN."""
        ...


Gather = Callable[[SshAccess], Awaitable[tuple[bytes, str]]]
"""The host's bundle, and its key in known_hosts' form.

Raises:
    TransientError: SSH_UNREACHABLE.
    OperatorError: SSH_HOST_KEY, SSH_KEY, SSH_SUDO, SSH_FAILED.
"""
