"""`power-cycle`: off and on by the same operation as a reboot; it may outlast the answer."""

from cloudstack_ext.actions import words
from cloudstack_ext.actions.asked import Asked, Row, item
from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.servers.operation import Status

RUNNING = "Running"
"""Of CloudStack: after the action the machine is on, and so must the instance be there."""


async def power_cycle(asked: Asked) -> tuple[Row, ...]:
    """Begin it, or attach to one that goes on; a short one is seen to its end."""
    await confirmed(asked)
    state = asked.request.state
    if state != RUNNING:
        text = f"the instance is {state or 'in no known state'} in CloudStack: start it instead"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    walk = await asked.desk.power_cycle(asked.request.instance, until=asked.until)
    is_open = walk.operation.status is Status.OPEN
    return (
        item("restart", "goes on: ask for progress" if is_open else "done"),
        item("operation", walk.operation.id),
        item("stage", words.stage(walk)),
    )


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
