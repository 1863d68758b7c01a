"""The one way by which a step switches a server on, and the guard on it (invariant 4)."""

from functools import partial

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.conversation import Conversation
from provisioner.operations.doors import Work
from provisioner.operations.ownership import still_ours
from provisioner.ports.controllers import BootDevice
from provisioner.servers.model import Power, PowerReading
from provisioner.servers.power_on import why_not
from provisioner.store.waiting import stored

OVERRIDE = "network-first"
"""The step that sets the start from the network, and keeps what was read back of it."""
WRITTEN = "write-image"
"""The step that writes a root disk and reads it back; it is found once it was done."""


async def switch_on(work: Work, controller: Conversation, device: BootDevice) -> PowerReading:
    """On, as read; a server that is on already is left alone, unless it must run our agent.

    A start that was asked for and lost in a crash may have used up the boot device, so it is
    set anew.

    Raises:
        OperatorError: POWER_NOT_REACHED: somebody else has switched it on before its start
            from the network. STATE_CONFLICT: it must not be switched on.
        ConflictError: SUPERSEDED: by now somebody else has the server.
    """
    if work.again or device is BootDevice.NETWORK:
        await _prepare(work, controller, device)
    return await controller.reach_on(until=work.until, allowed=partial(_allowed, work, device))


async def _prepare(work: Work, controller: Conversation, device: BootDevice) -> None:
    reading = await controller.power(until=work.until)
    if reading.power is not Power.ON:
        if work.again:
            await _allowed(work, device)
            await controller.boot_from(device)
    elif not work.again:
        raise OperatorError(
            ErrorCode.POWER_NOT_REACHED,
            f"{work.server.name} was switched on by somebody else: what runs on it is not ours",
        )


async def _allowed(work: Work, device: BootDevice) -> None:
    """Asked right before each press: since the step began the server may have got another owner."""
    allocations, allocation = work.doors.records.allocations, None
    if work.operation.allocation is not None:
        allocation = await stored(allocations.by_id, work.operation.allocation)
    refusal = why_not(
        await still_ours(work),
        allocation,
        from_network=device is BootDevice.NETWORK,
        override=OVERRIDE in work.found and "device" in work.found[OVERRIDE],
        is_new=bool(work.found.get(WRITTEN)),
    )
    if refusal:
        raise OperatorError(ErrorCode.STATE_CONFLICT, f"not switched on: {refusal}")
