"""Steps that speak with the controller: off, on, boot device."""

import asyncio
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, OperatorError, RackwrightError
from provisioner.operations.consoles import CONSOLE
from provisioner.operations.doors import Work
from provisioner.operations.port_steps import shut_all
from provisioner.operations.power_on import switch_on
from provisioner.operations.steps import Step
from provisioner.operations.talk import talk
from provisioner.ports.controllers import BootDevice
from provisioner.servers.model import Placement, Power, PowerReading
from provisioner.servers.quarantine_reason import POSSIBLY_RUNNING
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, OperationId, Seconds

FENCE = "fence"
"""Arrival: off is confirmed, or the port is shut; `delete` waits for it."""
AGENT_ENDS_S, LOOK_S = 20.0, Seconds(1.0)
"""An agent that was told to end has gone off by then."""
FENCE_S = Seconds(8.0)
"""`delete` answers after ten seconds at the latest; the port must be shut by then."""


async def remember(work: Work, reading: PowerReading) -> Mapping[str, Any]:
    """Note the reading; an allocation that has ended is off for good, once it was seen off."""
    await stored(work.doors.records.servers.note_readings, {work.server.name: reading})
    # opened when nobody had the server, or by now its owner's allocation has ended
    nobodys = work.allocation is None or work.allocation.ended_at is not None
    if reading.power is Power.OFF and nobodys:
        await stored(work.doors.records.allocations.confirm_off, work.server.name)
    return {"power": reading.power, "at": work.doors.clock.wall()}


async def remember_unknown(work: Work, error: RackwrightError) -> None:
    """Off was not to be had: what was read before says nothing any more."""
    at = work.doors.clock.monotonic()
    reading = PowerReading(power=Power.UNKNOWN, at=at, source=work.source, why=str(error))
    await stored(work.doors.records.servers.note_readings, {work.server.name: reading})


async def _off(work: Work) -> Mapping[str, Any]:
    async with talk(work) as controller:
        reading = await controller.reach_off(until=work.until)
    return await remember(work, reading)


async def _agent_off(work: Work) -> Mapping[str, Any]:
    """The agent is gone for sure, and so is its token.

    It was told to end: it is given the time, and cut off only where it does not.
    """
    clock = work.doors.clock
    async with talk(work) as controller:
        reading = await controller.power()
        while reading.power is not Power.OFF and clock.monotonic() < work.begun + AGENT_ENDS_S:
            await clock.sleep(LOOK_S)
            reading = await controller.power()
        reading = await controller.reach_off(until=work.until)
    found = await remember(work, reading)
    now = work.doors.clock.wall()
    close = partial(work.doors.records.boots.change_boot, work.operation.id, closed_at=now)
    await stored(close)
    return found


async def _off_gracefully(work: Work) -> Mapping[str, Any]:
    grace = Seconds(work.doors.site.times.soft_off_s)
    async with talk(work) as controller:
        reading = await controller.reach_off(until=work.until, graceful=grace)
    return await remember(work, reading)


async def _off_for_good(work: Work) -> Mapping[str, Any]:
    """A release does not pass a server that may still run (invariant 5)."""
    try:
        return await _off(work)
    except RackwrightError as error:
        await remember_unknown(work, error)
        raise OperatorError(
            error.code, f"{POSSIBLY_RUNNING}: {error.brief}", error.detail
        ) from error


async def _fence(work: Work) -> Mapping[str, Any]:
    """Off, else cut off: whichever is sure first; `delete` is answered after it."""
    until = MonotonicSeconds(min(work.until, work.begun + FENCE_S))
    try:
        async with talk(work, turn_by=until) as controller:
            reading = await controller.reach_off(until=until)
        found = {"fence": "off", **await remember(work, reading)}
    except RackwrightError as error:
        await remember_unknown(work, error)
        placed = await shut_all(work)
        # ports that an operator answers for cannot be seen from here
        shut = set(placed.values()) == {Placement.SHUT.value}
        found = {
            "fence": "shut" if shut else "unseen",
            "why": f"{error.code}: {error.brief}",
        }
    # the outcome first: whoever is woken by the fence looks for it
    await stored(work.doors.bell.ring, work.operation.id, f"{FENCE}:{found['fence']}")
    await stored(work.doors.bell.ring, work.operation.id, FENCE)
    return found


def fence_text(operation: OperationId, arrived: Collection[tuple[OperationId, str]]) -> str:
    """What a `delete` is told of this release's fence."""
    if (operation, f"{FENCE}:off") in arrived:
        return "off is confirmed; the wipe follows"
    if (operation, f"{FENCE}:shut") in arrived:
        return "its controller does not answer: its port is shut"
    if (operation, f"{FENCE}:unseen") in arrived:
        return "its controller does not answer: an operator must cut its port off"
    return "the release goes on in the background"


async def _on(work: Work, device: BootDevice = BootDevice.DISK) -> Mapping[str, Any]:
    """On; its console is kept from here, as far as the controller delivers it."""
    consoles = work.doors.consoles
    before = await asyncio.to_thread(consoles.kept.read, work.operation.id, CONSOLE)
    async with talk(work) as controller:
        reading = await switch_on(work, controller, device)
        stream = controller.console()
        if stream is not None:
            consoles.follow(work.server.name, work.operation.id, stream)
            await asyncio.sleep(0)  # the stream begins while the conversation is open
    await stored(work.doors.records.servers.note_readings, {work.server.name: reading})
    return {
        "power": reading.power,
        "at": work.doors.clock.wall(),
        "console": stream is not None,
        "console_offset": len(before),
    }


async def _on_to_network(work: Work) -> Mapping[str, Any]:
    """On, and from this moment the boot's one script may be fetched."""
    found = await _on(work, BootDevice.NETWORK)
    now = work.doors.clock.wall()
    change = partial(work.doors.records.boots.change_boot, work.operation.id, window_opened_at=now)
    await stored(change)
    return found


async def _disk_first(work: Work) -> Mapping[str, Any]:
    async with talk(work) as controller:
        setting = await controller.boot_from(BootDevice.DISK)
    return {"device": setting.device, "mode": setting.mode, "reported": setting.device is not None}


async def _first_on(work: Work) -> Mapping[str, Any]:
    """The tenant's first boot: from here on a deadline of `create` is a success."""
    found = await _on(work)
    if work.allocation is None:
        raise OperatorError(ErrorCode.CANNOT_TELL, "a first boot without an allocation")
    mark = partial(work.doors.records.allocations.mark, work.allocation.id, first_boot_asked=True)
    await stored(mark)
    return found


# Off may take two minutes on a controller that is itself rebooting; on as well.
OFF = Step(name="off", act=_off, limit=Seconds(180.0))
OFF_GRACEFULLY = Step(name="off-gracefully", act=_off_gracefully, limit=Seconds(420.0))
OFF_FOR_GOOD = Step(name="off-for-good", act=_off_for_good, limit=Seconds(180.0))
FENCED = Step(name="fence", act=_fence, limit=Seconds(60.0))
ON_TO_NETWORK = Step(name="on-to-network", act=_on_to_network, limit=Seconds(180.0), powers=True)
ON_TO_NETWORK_FOR_TENANT = Step(
    name="on-to-network-for-tenant",
    act=_on_to_network,
    limit=Seconds(180.0),
    powers=True,
    dirties=True,
    marks=("off_first",),
)
AGENT_OFF = Step(name="agent-off", act=_agent_off, limit=Seconds(180.0))
DISK_FIRST = Step(name="disk-first", act=_disk_first, limit=Seconds(60.0))
FIRST_ON = Step(name="first-on", act=_first_on, limit=Seconds(180.0), powers=True, dirties=True)
ON = Step(name="on", act=_on, limit=Seconds(180.0), powers=True, dirties=True)
