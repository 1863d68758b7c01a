"""May a server that runs be bound to an instance as it is? Pure.

It was found switched on at enrolment and nobody has touched it since (invariant 13). From here
on its instance's owner may start, stop and give it back.
"""

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.allocation import InstanceKey
from provisioner.servers.model import Power, ServerRecord, State
from provisioner.servers.states import Intent, next_move
from provisioner.units import ServerName


def refuse_adoption(
    server: ServerRecord,
    key: InstanceKey,
    *,
    busy: bool,
    has: ServerName | None,
    deleted: bool,
) -> None:
    """Every reason why not; asked in the transaction that would do it, and in a dry run.

    Args:
        server: As it is now.
        key: Whose it would be.
        busy: An operation is open on it.
        has: The server that this instance has already.
        deleted: The instance has a tombstone.

    Raises:
        ConflictError: STATE_CONFLICT, INSTANCE_DELETED, IN_USE.
    """
    next_move(server.state, Intent.ADOPT)
    if deleted:
        raise ConflictError(ErrorCode.INSTANCE_DELETED, f"instance {key.instance} was deleted")
    if has is not None:
        raise ConflictError(ErrorCode.IN_USE, f"instance {key.instance} has server {has} already")
    if busy:
        raise ConflictError(ErrorCode.STATE_CONFLICT, f"an operation runs on {server.name}")
    assert server.state is State.ENROLLED  # the table has no other way here
    if server.identity is None or server.driver is None:
        text = f"nobody has verified {server.name} yet: `rackwright server verify {server.name}`"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    if not server.found_on:
        text = f"{server.name} was not found switched on: nothing of anybody runs on it"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    if server.power.power is not Power.ON:
        text = f"{server.name} must be seen on, and its power is {server.power.power}"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
