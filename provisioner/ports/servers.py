"""Servers as remembered."""

from collections.abc import Mapping
from typing import Any, Protocol

from provisioner.secret import Secret
from provisioner.servers.model import PowerReading, ServerRecord
from provisioner.units import ServerName


class Servers(Protocol):
    """Servers as remembered."""

    def server(self, name: ServerName) -> ServerRecord:
        """Raises ConflictError SERVER_UNKNOWN."""
        ...

    def servers(self) -> tuple[ServerRecord, ...]:
        """All, by name."""
        ...

    def enrol(self, record: ServerRecord, password: Secret) -> None:
        """Remember a new one; a known identity continues its history, dirty.

        Raises:
            ConflictError: SERVER_EXISTS: name, controller address, system uuid or MAC is taken.
        """
        ...

    def change(self, name: ServerName, **fields: Any) -> None:  # noqa: ANN401 fields of ServerRecord
        """Set named fields, or the password; never state, dirty or epoch: moves change those."""
        ...

    def password(self, name: ServerName) -> Secret:
        """Decrypted; for the door to the controller only."""
        ...

    def note_readings(self, readings: Mapping[ServerName, PowerReading]) -> None:
        """All of one cycle in one transaction."""
        ...
