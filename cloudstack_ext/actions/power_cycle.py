"""`power-cycle`: off and on by the same operation as a reboot; it may outlast the answer."""

from cloudstack_ext.actions.asked import Asked, Row
from cloudstack_ext.actions.begun import rows_of, running
from provisioner.errors import ErrorCode, InputError


async def power_cycle(asked: Asked) -> tuple[Row, ...]:
    """Begin it, or attach to one that goes on; a short one is seen to its end."""
    await confirmed(asked)
    running(asked)
    walk = await asked.desk.power_cycle(asked.request.instance, until=asked.until)
    return tuple(rows_of("restart", walk))


async def confirmed(asked: Asked) -> None:
    """What switches a machine off is named by hand: no guard, but nobody does it by a slip.

    Payloads carry the instance's id and inner name ("i-7-3-VM") alone; for the name that its
    owner gave it CloudStack is asked.

    Raises:
        InputError: PAYLOAD_FIELD.
    """
    instance = asked.request.instance
    given = asked.request.parameters["confirm"].strip()
    if given and given.lower() in {instance.name.lower(), instance.key.instance}:
        return
    if given not in await asked.names(instance.key):
        text = f"parameters.confirm: wanted the instance's name, its id or {instance.name}"
        raise InputError(ErrorCode.PAYLOAD_FIELD, text)
