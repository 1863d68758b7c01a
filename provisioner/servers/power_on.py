"""May a server be switched on? The one rule of invariant 4. Pure."""

from provisioner.servers.allocation import Allocation
from provisioner.servers.model import ServerRecord, State

FOR_ITS_TENANT = frozenset({State.DEPLOYING, State.ACTIVE, State.RESCUE})
"""Where a server may start what is on its disks, for the tenant who has it."""


def why_not(
    server: ServerRecord,
    allocation: Allocation | None,
    *,
    from_network: bool,
    override: bool,
    is_new: bool = False,
) -> str:
    """Why it must not be switched on, in one line; "" where it may be.

    Args:
        server: As it is now.
        allocation: The one that the operation is for, as it is now.
        from_network: The start is to be our agent's.
        override: The start from the network was set for this very start, and read back where
            this controller can report it.
        is_new: Its root disk was written and read back by this very operation.
    """
    if from_network:
        return "" if override else f"{server.name} would not start from the network"
    is_its = allocation is not None and allocation.server == server.name
    if allocation is None or not is_its or allocation.ended_at is not None:
        return f"nobody has {server.name}, and it would start what is on its disks"
    if server.state not in FOR_ITS_TENANT:
        return f"{server.name} is {server.state}, and would start what is on its disks"
    if allocation.needs_reinstall and not is_new:
        return f"the root disk of {server.name} may be half written: reinstall it"
    return ""
