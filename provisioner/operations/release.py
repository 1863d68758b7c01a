"""Release and clean: from whatever a server was to available, with proof."""

from collections.abc import Mapping
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations import boot_steps, port_steps, power_steps, wipe_steps
from provisioner.operations.deploy import AGENT_ENDS
from provisioner.operations.doors import Work
from provisioner.operations.steps import Step, StepList
from provisioner.operations.talk import talk
from provisioner.servers.model import Power
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import Seconds


async def _secrets(work: Work) -> Mapping[str, Any]:
    """What the service still keeps of the tenant's secrets goes before anything else."""
    allocation = work.allocation
    if allocation is not None and allocation.operation is not None:
        await stored(work.doors.records.seeds.drop_seed, allocation.operation)
    return {}


async def _rest(work: Work) -> Mapping[str, Any]:
    """Off between two owners for as long as is set: memory loses its content."""
    times = work.doors.site.times
    since = work.found[power_steps.OFF_FOR_GOOD.name]["at"]
    hold = max(times.wipe_off_s, times.release_hold_s)
    left = since + hold - work.doors.clock.wall()
    if left > 0:
        await work.doors.clock.sleep(Seconds(left))
    off_s = round(work.doors.clock.wall() - since)
    await _still_off(work)
    return {"off_s": off_s}


async def _still_off(work: Work) -> None:
    """The evidence says so, and the port leads to us next (5).

    Raises:
        OperatorError: POWER_NOT_REACHED: it was switched on meanwhile, or nobody can say.
    """
    while True:
        async with talk(work) as controller:
            reading = await controller.power(until=work.until)
        if reading.power is Power.OFF:
            return
        if reading.power is Power.ON or work.doors.clock.wall() + LOOK_AGAIN_S >= work.until:
            raise OperatorError(
                ErrorCode.POWER_NOT_REACHED,
                f"{work.server.name} had to rest without power and is {reading.power}",
                reading.why,
            )
        await work.doors.clock.sleep(LOOK_AGAIN_S)


LOOK_AGAIN_S = Seconds(5.0)
SECRETS = Step(name="secrets", act=_secrets, limit=Seconds(60.0))
REST = Step(
    name="rest",
    act=_rest,
    limit=Seconds(60.0),
    waits=lambda times: max(times.wipe_off_s, times.release_hold_s),
)

WIPE = (
    boot_steps.SAME_MACHINE,
    wipe_steps.MARK,
    wipe_steps.ERASE,
    wipe_steps.VERIFY,
    wipe_steps.SIGN,
    boot_steps.WITHDRAW,
    AGENT_ENDS,
    power_steps.AGENT_OFF,
    port_steps.AT_REST,
)

RELEASE = StepList(
    name="release/1",
    kind=Intent.RELEASE,
    steps=(
        power_steps.FENCED,
        power_steps.OFF_FOR_GOOD,
        port_steps.TO_QUARANTINE,
        SECRETS,
        REST,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK,
        boot_steps.AGENT_CALLED_IN,
        *WIPE,
    ),
)

CLEAN = StepList(
    name="clean/1",
    kind=Intent.CLEAN,
    steps=(
        power_steps.OFF_FOR_GOOD,
        REST,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK,
        boot_steps.AGENT_CALLED_IN,
        wipe_steps.BLANK,
        *WIPE,
    ),
)
