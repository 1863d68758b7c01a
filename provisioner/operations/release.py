"""Release and clean: from whatever a server was to available, with proof."""

import logging
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations import boot_steps, port_steps, power_steps, turn_steps, wipe_steps
from provisioner.operations.deploy import AGENT_ENDS
from provisioner.operations.doors import Work
from provisioner.operations.media_steps import CONTROLLER_MEDIA
from provisioner.operations.steps import Step, StepList
from provisioner.operations.talk import talk
from provisioner.servers.model import Power, ServerRecord
from provisioner.servers.root_disk import own_disks
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, Seconds

log = logging.getLogger(__name__)


async def _secrets(work: Work) -> Mapping[str, Any]:
    """What the service still keeps of the tenant's secrets goes before anything else."""
    allocation = work.allocation
    if allocation is not None and allocation.operation is not None:
        await stored(work.doors.records.seeds.drop_seed, allocation.operation)
    return {}


async def _rest(work: Work) -> Mapping[str, Any]:
    """Off between two owners for as long as is set: memory loses its content."""
    times = work.doors.site.times
    hold = max(times.wipe_off_s, times.release_hold_s)
    left = work.begun + hold - work.doors.clock.monotonic()
    if left > 0:
        await work.doors.clock.sleep(Seconds(left))
    await _ramdisk(work)
    off_s = round(work.doors.clock.monotonic() - work.begun)
    await _still_off(work)
    return {"off_s": off_s}


async def _ramdisk(work: Work) -> None:
    """Off and cut off a server can wait for what is missing on our side: nothing is lost.

    Raises:
        OperatorError: RAMDISK_MISSING: nobody has built one in all that time.
    """
    note = partial(work.doors.records.operations.note, work.operation.id)
    waited = False
    while True:
        try:
            work.doors.site.ramdisk()
        except OperatorError as error:
            if work.doors.clock.monotonic() + LOOK_AGAIN_S + STILL_OFF_S >= work.until:
                raise
            if not waited:
                log.warning("a wipe waits: %s", error, extra={"server": work.server.name})
                await stored(note, f"waits: {error.brief}", (0, 0))
            waited = True
            await work.doors.clock.sleep(LOOK_AGAIN_S)
        else:
            if waited:
                await stored(note, "", (0, 0))
            return


async def _still_off(work: Work) -> None:
    """The evidence says so, and the port leads to us next (5).

    Raises:
        OperatorError: POWER_NOT_REACHED: it was switched on meanwhile, or nobody can say.
    """
    until = MonotonicSeconds(min(work.until, work.doors.clock.monotonic() + STILL_OFF_S))
    while True:
        async with talk(work) as controller:
            reading = await controller.power(until=until)
        if reading.power is Power.OFF:
            return
        if reading.power is Power.ON or work.doors.clock.monotonic() + LOOK_AGAIN_S >= until:
            raise OperatorError(
                ErrorCode.POWER_NOT_REACHED,
                f"{work.server.name} had to rest without power and is {reading.power}",
                reading.why,
            )
        await work.doors.clock.sleep(LOOK_AGAIN_S)


LOOK_AGAIN_S, STILL_OFF_S = Seconds(5.0), 60.0
RAMDISK_S = 86400.0
"""Somebody builds one within a day; then the server is quarantined, with that as the reason."""
SECRETS = Step(name="secrets", act=_secrets, limit=Seconds(60.0))
REST = Step(
    name="rest",
    act=_rest,
    limit=Seconds(STILL_OFF_S + RAMDISK_S),
    waits=lambda times: max(times.wipe_off_s, times.release_hold_s),
)

WIPE = (
    boot_steps.SAME_MACHINE,
    CONTROLLER_MEDIA,
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
    name="release/2",
    kind=Intent.RELEASE,
    steps=(
        power_steps.FENCED,
        power_steps.OFF_FOR_GOOD,
        port_steps.TO_QUARANTINE,
        SECRETS,
        turn_steps.HAS_BASELINE,
        turn_steps.TURN,
        REST,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK,
        boot_steps.AGENT_CALLED_IN,
        *WIPE,
    ),
)


def refuse_unknown_disks(server: ServerRecord, steps: StepList, said: Collection[str]) -> None:
    """A clean erases what the baseline lists: a wrong name is found before power is touched.

    Raises:
        InputError: DISK_NOT_FOUND.
    """
    if steps is CLEAN and server.baseline is not None:
        own = own_disks(server.baseline.disks, server.excluded_disks)
        wipe_steps.refuse_unknown(own, said)


CLEAN = StepList(
    name="clean/2",
    kind=Intent.CLEAN,
    steps=(
        power_steps.OFF_FOR_GOOD,
        turn_steps.TURN,
        REST,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK,
        boot_steps.AGENT_CALLED_IN,
        wipe_steps.BLANK,
        *WIPE,
    ),
)
