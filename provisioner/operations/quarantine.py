"""Quarantine and retirement: off and cut off, as far as that can be had."""

from collections.abc import Mapping
from typing import Any

from provisioner.errors import ErrorCode, OperatorError, RackwrightError
from provisioner.operations import boot_steps, port_steps, power_steps
from provisioner.operations.doors import Work
from provisioner.operations.steps import Step, StepList
from provisioner.operations.talk import talk
from provisioner.servers.quarantine_reason import POSSIBLY_RUNNING
from provisioner.servers.states import Intent
from provisioner.units import MonotonicSeconds, Seconds

PATIENCE_S = 90.0


async def _off_or_unknown(work: Work) -> Mapping[str, Any]:
    """Off, or the word that nobody knows: then the port is shut."""
    until = MonotonicSeconds(work.doors.clock.monotonic() + PATIENCE_S)
    try:
        async with talk(work, turn_by=until) as controller:
            reading = await controller.reach_off(until=until)
    except RackwrightError as error:
        await power_steps.remember_unknown(work, error)
        return {"power": "unknown", "why": f"{error.code}: {error.brief}"}
    return await power_steps.remember(work, reading)


async def _off_confirmed(work: Work) -> Mapping[str, Any]:
    """All was done that could be; it is well only where off was confirmed (invariant 5)."""
    found = work.found[OFF_OR_UNKNOWN.name]
    if found["power"] != "off":
        raise OperatorError(ErrorCode.POSSIBLY_RUNNING, f"{POSSIBLY_RUNNING}: {found['why']}")
    return {}


OFF_OR_UNKNOWN = Step(name="off-or-unknown", act=_off_or_unknown, limit=Seconds(180.0))
OFF_CONFIRMED = Step(name="off-confirmed", act=_off_confirmed, limit=Seconds(30.0))

QUARANTINE = StepList(
    name="quarantine/1",
    kind=Intent.QUARANTINE,
    steps=(OFF_OR_UNKNOWN, port_steps.TO_NOWHERE, boot_steps.WITHDRAW, OFF_CONFIRMED),
)

CUT_OFF = StepList(
    name="cut-off/1",
    kind=Intent.POWER,
    steps=(OFF_OR_UNKNOWN, port_steps.TO_NOWHERE, boot_steps.WITHDRAW, OFF_CONFIRMED),
)
"""Behind a failed reinstall, reseed or rescue: as a quarantine, and its tenant keeps the server."""

RETIRE = StepList(name="retire/1", kind=Intent.RETIRE, steps=(port_steps.AT_REST,))
