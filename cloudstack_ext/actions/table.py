"""Which action is which module, and how long any of them may take."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Final

from cloudstack_ext.actions.asked import Asked, Row
from cloudstack_ext.actions.certificate import certificate
from cloudstack_ext.actions.console_log import console_log
from cloudstack_ext.actions.cordon import cordon, uncordon
from cloudstack_ext.actions.hardware_inventory import hardware_inventory
from cloudstack_ext.actions.health_check import health_check
from cloudstack_ext.actions.power_cycle import power_cycle
from cloudstack_ext.actions.progress import progress
from cloudstack_ext.actions.reinstall import reinstall
from cloudstack_ext.actions.rescue import rescue
from cloudstack_ext.actions.reseed import reseed
from cloudstack_ext.actions.why import why
from cloudstack_ext.contract import Reply, shown
from cloudstack_ext.registration.actions import ActionName
from provisioner.errors import ErrorCode, TransientError
from provisioner.units import Seconds

ANSWER_WITHIN: Final = Seconds(6.0)
"""What goes on then is answered with its operation and stage."""
GIVEN_UP_AFTER_S: Final = 7.0
"""A database that is away must not hold an answer longer than eight seconds."""

Act = Callable[[Asked], Awaitable[tuple[Row, ...]]]
ACTS: Final[Mapping[ActionName, Act]] = MappingProxyType(
    {
        ActionName.WHY: why,
        ActionName.PROGRESS: progress,
        ActionName.CONSOLE_LOG: console_log,
        ActionName.HARDWARE_INVENTORY: hardware_inventory,
        ActionName.HEALTH_CHECK: health_check,
        ActionName.REINSTALL: reinstall,
        ActionName.RESEED: reseed,
        ActionName.RESCUE: rescue,
        ActionName.POWER_CYCLE: power_cycle,
        ActionName.CERTIFICATE: certificate,
        ActionName.CORDON: cordon,
        ActionName.UNCORDON: uncordon,
    }
)


async def act(asked: Asked) -> Reply:
    """Run one action.

    Raises:
        TransientError: DEADLINE: no answer in time; what it began goes on.
        RackwrightError: As the desk raises.
    """
    name = asked.request.name
    try:
        async with asyncio.timeout(GIVEN_UP_AFTER_S):
            return shown(await ACTS[name](asked))
    except TimeoutError as error:
        text = f"{name} took too long; what it began goes on: ask again"
        raise TransientError(ErrorCode.DEADLINE, text) from error
