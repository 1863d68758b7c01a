"""Ports that nobody moves: the operator has declared how servers are kept apart."""

from provisioner.errors import ErrorCode, OperatorError
from provisioner.servers.model import Placement, PortPlacement


class ManualPorts:
    """ports.SwitchPorts for a site whose switches are set by hand.

    Args:
        isolation: The operator's sentence from the configuration, "how a tenant's server cannot
            reach the provisioning network or another tenant's"; "" refuses every placement, so
            that no server is handed out on a belief that nobody stated.
    """

    def __init__(self, isolation: str) -> None:
        self._isolation = isolation.strip()

    async def read(self, port: str) -> PortPlacement:  # noqa: ARG002 none can be seen
        """UNKNOWN, always: nothing was looked at."""
        return PortPlacement(placement=Placement.UNKNOWN)

    async def place(self, port: str, wanted: PortPlacement) -> None:
        """Succeed on the operator's word.

        Raises:
            OperatorError: PORT_ISOLATION_UNDECLARED.
        """
        if not self._isolation:
            raise OperatorError(
                ErrorCode.PORT_ISOLATION_UNDECLARED,
                f"port {port} cannot be moved to {wanted.placement}: the configuration names no "
                "switch adapter and declares no isolation",
            )
