"""Verify and inspect: who the controller is, and what the machine is made of."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.hardware.inventory import Inventory
from provisioner.operations import boot_steps, deploy, port_steps, power_steps, wipe_steps
from provisioner.operations.agent_orders import order
from provisioner.operations.doors import Work
from provisioner.operations.endings import NeedsPersonError
from provisioner.operations.media_steps import CONTROLLER_MEDIA
from provisioner.operations.steps import Step, StepList
from provisioner.operations.verification import verify_controller
from provisioner.servers.baseline import differences
from provisioner.servers.expected import unmet
from provisioner.servers.model import Power
from provisioner.servers.root_disk import own_disks
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import Seconds


async def _verify(work: Work) -> Mapping[str, Any]:
    """Identity and certificate pinned; the power-restore policy set, or its refusal kept.

    A server found switched on is left alone, power and port, until a person provides it.
    """
    records = work.doors.records
    password = await stored(records.servers.password, work.server.name)
    seen = await verify_controller(work.doors.conversations, work.server, password)
    on = seen.power.power is not Power.OFF
    change = partial(
        records.servers.change,
        work.server.name,
        driver=seen.driver,
        identity=seen.identity,
        controller=seen.address,
        restore_policy=seen.restore_policy,
        found_on=on,
    )
    await stored(change)
    await stored(records.servers.note_readings, {work.server.name: seen.power})
    if on:
        raise NeedsPersonError(
            ErrorCode.STATE_CONFLICT,
            "found switched on: nothing was touched; `rackwright server provide` takes it over",
        )
    return {"driver": seen.driver, "restore_policy": seen.restore_policy}


async def inspected(work: Work) -> Inventory:
    """What the agent finds when it is asked: what it said at its call-in, and what was enrolled.

    Raises:
        OperatorError: FACTS_DIFFER: otherwise than a moment ago.
        InputError: FACTS_DIFFER, DISK_FABRIC: not as it was enrolled.
    """
    answer = await order(work, "inspect", {})
    facts = Inventory.from_json(answer["facts"])
    # at its call-in this boot was compared with an older baseline, where there is one
    said = await boot_steps.facts_of(work)
    found = differences(replace(work.server, baseline=said), facts)
    if found:
        raise OperatorError(
            ErrorCode.FACTS_DIFFER, f"found otherwise than a moment ago: {'; '.join(found)}"
        )
    if facts.firmware.mode != work.server.firmware:
        raise InputError(
            ErrorCode.FACTS_DIFFER,
            f"enrolled with {work.server.firmware} firmware, it booted by {facts.firmware.mode}",
        )
    own = own_disks(facts.disks, work.server.excluded_disks)
    missed = unmet(work.server.expected, facts, own)
    if missed:
        text = f"not the hardware that was enrolled: {'; '.join(missed)}"
        raise InputError(ErrorCode.FACTS_DIFFER, text)
    return facts


async def _inventory(work: Work) -> Mapping[str, Any]:
    """The baseline: what every later boot is compared with."""
    facts = await inspected(work)
    change = partial(
        work.doors.records.servers.change,
        work.server.name,
        baseline=facts,
        baseline_at=work.doors.clock.wall(),
        hidden_media=tuple(work.found[CONTROLLER_MEDIA.name]["hidden"]),
    )
    await stored(change)
    return {"disks": len(facts.disks), "memory_bytes": facts.memory_bytes}


VERIFY_CONTROLLER = Step(name="verify-controller", act=_verify, limit=Seconds(300.0))
INVENTORY = Step(name="inventory", act=_inventory, limit=Seconds(600.0))

VERIFY = StepList(name="verify/1", kind=Intent.VERIFY, steps=(VERIFY_CONTROLLER,))

INSPECT = StepList(
    name="inspect/1",
    kind=Intent.INSPECT,
    steps=(
        power_steps.OFF,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK,
        boot_steps.AGENT_CALLED_IN,
        boot_steps.SAME_MACHINE,
        CONTROLLER_MEDIA,
        INVENTORY,
        boot_steps.WITHDRAW,
        deploy.AGENT_ENDS,
        power_steps.AGENT_OFF,
        port_steps.AT_REST,
        wipe_steps.BLANK,
    ),
)
