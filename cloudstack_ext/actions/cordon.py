"""`cordon` and `uncordon`: keep the machine back after this instance."""

from cloudstack_ext.actions.asked import Asked, Row, item
from provisioner.errors import ErrorCode, InputError


async def cordon(asked: Asked) -> tuple[Row, ...]:
    """Nothing happens to the instance itself."""
    return await _change(asked, asked.request.parameters["reason"])


async def uncordon(asked: Asked) -> tuple[Row, ...]:
    """Ends what an administrator of this CloudStack began, not what an operator did."""
    return await _change(asked, None)


async def _change(asked: Asked, reason: str | None) -> tuple[Row, ...]:
    """CloudStack has asked the registered roles; a claim that says less is refused here too."""
    if not asked.request.by_admin:
        raise InputError(ErrorCode.PERMISSION, f"{asked.request.name} is for administrators")
    who = asked.request.instance.who
    answer = await asked.desk.cordon(asked.key, who, reason)
    return (item(asked.request.name, answer.text),)
