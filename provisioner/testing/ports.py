"""Fakes of the network: ports that move in memory, offers in a dictionary."""

from collections import defaultdict

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.servers.model import Placement, PortPlacement
from provisioner.units import MacAddress, ServerName, WallSeconds

NOWHERE = PortPlacement(placement=Placement.QUARANTINE)


class FakePorts:
    """ports.SwitchPorts in memory.

    Attributes:
        moves: Every accepted move, in order.
        stuck: Ports that accept a move and stay where they are.
        away: Ports whose switch does not answer: TransientError until removed from here.
        unseen: Ports whose placement cannot be read.
    """

    def __init__(self) -> None:
        self.moves: list[tuple[str, PortPlacement]] = []
        self.stuck: set[str] = set()
        self.away: set[str] = set()
        self.unseen: set[str] = set()
        self._places: defaultdict[str, PortPlacement] = defaultdict(lambda: NOWHERE)

    async def read(self, port: str) -> PortPlacement:
        """Where it was put last; in quarantine before."""
        self._answer(port)
        if port in self.unseen:
            return PortPlacement(placement=Placement.UNKNOWN)
        return self._places[port]

    async def place(self, port: str, wanted: PortPlacement) -> None:
        """Move it, unless it is stuck."""
        self._answer(port)
        if wanted.placement is Placement.UNKNOWN:
            raise OperatorError(ErrorCode.PORT_NOT_SET, f"port {port}: nowhere to move it to")
        self.moves.append((port, wanted))
        if port not in self.stuck:
            self._places[port] = wanted

    def leads(self, port: str) -> PortPlacement:
        """Where packets go: what a machine behind it finds out, whatever a switch says."""
        return self._places[port]

    def _answer(self, port: str) -> None:
        if port in self.away:
            raise TransientError(ErrorCode.PORT_NOT_SET, f"the switch of {port} does not answer")


class FakeOffers:
    """ports.BootOffers in memory.

    Attributes:
        offered: To whom an answer would be given now.
        log: What was asked for, in order: ("offer" or "withdraw", mac).
    """

    def __init__(self) -> None:
        self.offered: dict[MacAddress, ServerName] = {}
        self.log: list[tuple[str, MacAddress]] = []

    async def offer(self, mac: MacAddress, server: ServerName) -> None:
        """Remember it."""
        self.offered[mac] = server
        self.log.append(("offer", mac))

    async def withdraw(self, mac: MacAddress) -> None:
        """Forget it; safe to repeat."""
        self.offered.pop(mac, None)
        self.log.append(("withdraw", mac))

    async def lines(self, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:  # noqa: ARG002
        """One line for each thing asked about this MAC; the fake keeps no times."""
        return tuple(f"{what} {whose}" for what, whose in self.log if whose == mac)
