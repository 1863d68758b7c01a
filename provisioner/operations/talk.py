"""How a step comes to a conversation with its server's controller."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.conversation import Conversation
from provisioner.operations.doors import Work
from provisioner.store.waiting import stored


@asynccontextmanager
async def talk(work: Work) -> AsyncIterator[Conversation]:
    """One conversation; the controller's identity is compared at its first call (13).

    Raises:
        OperatorError: OTHER_MACHINE: none is remembered that could be compared.
    """
    if work.server.identity is None:
        raise OperatorError(
            ErrorCode.OTHER_MACHINE,
            f"the controller of {work.server.name} was never verified: who answers is not known",
        )
    password = await stored(work.doors.records.servers.password, work.server.name)
    async with work.doors.conversations.to(work.server, password, source=work.source) as each:
        yield each
