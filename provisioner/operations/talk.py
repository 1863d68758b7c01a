"""How a step comes to a conversation with its server's controller."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.conversation import Conversation
from provisioner.operations.doors import Work
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds


@asynccontextmanager
async def talk(
    work: Work, *, turn_by: MonotonicSeconds | None = None
) -> AsyncIterator[Conversation]:
    """One conversation; the controller's identity is compared at its first call (13).

    Args:
        work: The step.
        turn_by: When the controller must be free; None: while the step has time.

    Raises:
        OperatorError: OTHER_MACHINE: none is remembered that could be compared.
        TransientError: CONTROLLER_BUSY: its turn did not come.
    """
    if work.server.identity is None:
        raise OperatorError(
            ErrorCode.OTHER_MACHINE,
            f"the controller of {work.server.name} was never verified: who answers is not known",
        )
    password = await stored(work.doors.records.servers.password, work.server.name)
    to = work.doors.conversations.to(
        work.server, password, source=work.source, turn_by=turn_by or work.until
    )
    async with to as each:
        yield each
