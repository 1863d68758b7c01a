"""Whether the installed system runs: how that is known is recorded."""

import asyncio
import re
from collections.abc import Mapping
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.consoles import CONSOLE
from provisioner.operations.doors import Work
from provisioner.operations.talk import talk
from provisioner.servers.model import Power
from provisioner.units import Seconds

SIGNS = re.compile(
    rb"(login: ?$|login: |Reached target .*[Mm]ulti-User|Cloud-init v\. .* finished"
    rb"|RACKWRIGHT-[A-Z]+-READY)"
)
"""What a running system writes: a login prompt (getty), systemd's target, cloud-init's end.

Quirk: a controller's serial-over-LAN may drop characters (OpenIPMI 2.0.33's simulator does), so
a sign may be missed; then power without a reset counts, recorded as assumed.
"""
LOOK_S = Seconds(2.0)


async def proof_of_life(work: Work) -> Mapping[str, Any]:
    """What the firmware says, else a sign on the console, else power for long enough: "assumed".

    Raises:
        OperatorError: PROOF_OF_LIFE_MISSING: it is not on any more.
    """
    times = work.doors.site.times
    offset = int(work.found["first-on"].get("console_offset", 0))
    settled_at = work.begun + times.proof_settle_s
    firmware_tells = True
    while True:
        if firmware_tells:
            started = await _has_started(work)
            firmware_tells = started is not None
            if started:
                return {"proof": "boot progress"}
        kept = await asyncio.to_thread(work.doors.consoles.kept.read, work.operation.id, CONSOLE)
        sign = SIGNS.search(kept[offset:])
        if sign is not None:
            return {"proof": "console", "sign": sign.group().decode("ascii", "replace")}
        if work.doors.clock.wall() >= settled_at:
            on = await _is_on(work)
            if on is not None:
                return on
        await work.doors.clock.sleep(LOOK_S)


async def _has_started(work: Work) -> bool | None:
    """Redfish's boot progress, where the firmware fills it."""
    async with talk(work) as controller:
        return await controller.has_started()


async def _is_on(work: Work) -> Mapping[str, Any] | None:
    """None while its controller does not say, and there is time to ask again."""
    async with talk(work) as controller:
        reading = await controller.power()
    now = work.doors.clock.wall()
    if reading.power is Power.ON:
        return {"proof": "assumed", "on_s": round(now - work.begun)}
    if reading.power is Power.UNKNOWN and now + LOOK_S < work.until:
        return None
    raise OperatorError(
        ErrorCode.PROOF_OF_LIFE_MISSING,
        f"the installed system did not stay on: its power is {reading.power}",
    )
