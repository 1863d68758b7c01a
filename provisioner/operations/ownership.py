"""Whether a step may still act on its server, asked right before what cannot be taken back."""

from provisioner.errors import ConflictError, ErrorCode
from provisioner.operations.doors import Work
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import Status
from provisioner.store.waiting import stored


async def still_ours(work: Work) -> ServerRecord:
    """The server as it is now.

    A step's beginning compares the same, but between it and its turn at a controller or switch
    minutes may pass (invariant 2).

    Raises:
        ConflictError: SUPERSEDED.
    """
    records = work.doors.records
    server = await stored(records.servers.server, work.server.name)
    operation = await stored(records.operations.operation, work.operation.id)
    if operation.status is not Status.OPEN or operation.epoch != server.epoch:
        raise ConflictError(ErrorCode.SUPERSEDED, "the operation is closed, or has a newer owner")
    return server
