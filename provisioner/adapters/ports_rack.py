"""The virtual rack's ports: a server's persistent tap, moved between the rack's bridges.

Runs inside the rack's network namespace and needs CAP_NET_ADMIN there, nothing else.
"""

import json

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.processes import Processes
from provisioner.servers.model import Placement, PortPlacement
from provisioner.units import Seconds, Vlan

PROVISIONING_BRIDGE = "br-prov"
_TENANT_BRIDGE = "br-v"
"""With the VLAN's number behind it; this kernel may have no 802.1Q, so a bridge is a VLAN."""
_LIMIT = Seconds(10.0)
_EXISTS = b"File exists"


class RackPorts:
    """ports.SwitchPorts over `ip link`.

    A tap below a bridge and up is in that network; up without a bridge it leads nowhere
    (quarantine); down without a bridge it is shut.
    """

    def __init__(self, processes: Processes) -> None:
        self._processes = processes

    async def read(self, port: str) -> PortPlacement:
        """As the kernel says now; UNKNOWN for a state that `place` never makes."""
        (link,) = json.loads(await self._ip("-json", "link", "show", "dev", port))
        return _placement(link.get("master"), is_up="UP" in link["flags"])

    async def place(self, port: str, wanted: PortPlacement) -> None:
        """Move it, making the VLAN's bridge where there is none.

        Raises:
            OperatorError: PORT_NOT_SET: no such tap, or a trunk was asked for.
            TransientError: PORT_NOT_SET: the kernel's answer did not come in time.
        """
        match wanted.placement:
            case Placement.PROVISIONING:
                await self._join(port, PROVISIONING_BRIDGE)
            case Placement.TENANT:
                await self._join(port, await self._tenant_bridge(wanted.vlans))
            case Placement.QUARANTINE:
                await self._ip("link", "set", "dev", port, "nomaster", "up")
            case Placement.SHUT:
                await self._ip("link", "set", "dev", port, "nomaster", "down")
            case Placement.UNKNOWN:
                raise OperatorError(ErrorCode.PORT_NOT_SET, f"port {port}: nowhere to move it to")

    async def _join(self, port: str, bridge: str) -> None:
        await self._ip("link", "set", "dev", port, "master", bridge, "up")

    async def _tenant_bridge(self, vlans: tuple[Vlan, ...]) -> str:
        if len(vlans) != 1:
            raise OperatorError(
                ErrorCode.PORT_NOT_SET,
                f"a port of the virtual rack carries one network, not {len(vlans)}",
            )
        bridge = f"{_TENANT_BRIDGE}{vlans[0]}"
        kind = ("type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
        await self._ip("link", "add", "name", bridge, *kind, tolerate=_EXISTS)
        await self._ip("link", "set", "dev", bridge, "up")
        return bridge

    async def _ip(self, *arguments: str, tolerate: bytes | None = None) -> bytes:
        argv = ("ip", *arguments)
        try:
            ended = await self._processes.run(argv, limit=_LIMIT)
        except TimeoutError as error:
            raise TransientError(
                ErrorCode.PORT_NOT_SET, f"{' '.join(argv)} did not end in {_LIMIT:.0f} s"
            ) from error
        if ended.status and not (tolerate and tolerate in ended.error):
            raise OperatorError(
                ErrorCode.PORT_NOT_SET,
                f"{' '.join(argv)} failed",
                detail=ended.error.decode("utf-8", "replace").strip(),
            )
        return ended.output


def _placement(master: str | None, *, is_up: bool) -> PortPlacement:
    if master is None:
        return PortPlacement(placement=Placement.QUARANTINE if is_up else Placement.SHUT)
    if master == PROVISIONING_BRIDGE and is_up:
        return PortPlacement(placement=Placement.PROVISIONING)
    vlan = master.removeprefix(_TENANT_BRIDGE)
    if master.startswith(_TENANT_BRIDGE) and vlan.isdecimal() and is_up:
        return PortPlacement(placement=Placement.TENANT, vlans=(Vlan(int(vlan)),))
    return PortPlacement(placement=Placement.UNKNOWN)
