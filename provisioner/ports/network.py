"""Switch ports, and to whom the provisioning network's DHCP answers."""

from typing import Protocol

from provisioner.servers.model import PortPlacement
from provisioner.units import MacAddress, ServerName, WallSeconds


class SwitchPorts(Protocol):
    """The ports behind the servers' cards."""

    async def read(self, port: str) -> PortPlacement:
        """Where it leads now; Placement.UNKNOWN where the adapter cannot see it."""
        ...

    async def place(self, port: str, wanted: PortPlacement) -> None:
        """Move it; reading back is the caller's.

        Raises:
            OperatorError: PORT_NOT_SET, PORT_ISOLATION_UNDECLARED.
            TransientError: The switch is away; call again.
        """
        ...


class BootOffers(Protocol):
    """To whom the provisioning network's DHCP answers."""

    async def offer(self, mac: MacAddress, server: ServerName) -> None:
        """Answer this MAC from now on."""
        ...

    async def withdraw(self, mac: MacAddress) -> None:
        """Never answer it again; safe to repeat."""
        ...

    async def lines(self, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:
        """What the DHCP server logged about this MAC."""
        ...
