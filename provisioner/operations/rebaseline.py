"""A new baseline after a repair: the same machine with other parts, and a wipe that says so."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.hardware.inventory import Inventory
from provisioner.operations import boot_steps, deploy, port_steps, power_steps, wipe_steps
from provisioner.operations.doors import Work
from provisioner.operations.inspect import inspected
from provisioner.operations.media_steps import MEDIA_ANEW
from provisioner.operations.steps import Step, StepList
from provisioner.servers.baseline import gone, strange
from provisioner.servers.model import Rebaseline
from provisioner.servers.root_disk import own_disks
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import Seconds, WallSeconds


async def _same_after_repair(work: Work) -> Mapping[str, Any]:
    """Who the machine is may not have changed (13), and no disk over a fabric is seen (14)."""
    facts = await boot_steps.facts_of(work)
    found = strange(work.server, facts)
    if found:
        raise OperatorError(
            ErrorCode.OTHER_MACHINE,
            f"not {work.server.name}, repaired, but another machine: {'; '.join(found)}",
        )
    own_disks(facts.disks, work.server.excluded_disks)
    return {"identity": await boot_steps.identity_class(work)}


async def _inventory_anew(work: Work) -> Mapping[str, Any]:
    """The new baseline with the old one beside it, until a wipe's evidence has named both (7)."""
    facts, before = await inspected(work), work.server.baseline
    known, media = work.server.rebaselines, work.found[MEDIA_ANEW.name]
    if all(each.operation != work.operation.id for each in known):  # else the step is repeated
        assert before is not None  # it was compared
        known = (*known, _new(work, before, facts, media))
    change = partial(
        work.doors.records.servers.change,
        work.server.name,
        baseline=facts,
        baseline_at=known[-1].at,
        hidden_media=tuple(media["hidden"]),
        rebaselines=known,
    )
    await stored(change)
    return {"disks": len(facts.disks), "gone": list(known[-1].gone)}


def _new(work: Work, before: Inventory, after: Inventory, media: Mapping[str, Any]) -> Rebaseline:
    hidden = (f"medium {name}, which only the controller named" for name in media["gone"])
    return Rebaseline(
        operation=work.operation.id,
        reason=str(work.operation.parameters["reason"]),
        who=work.operation.who,
        at=work.doors.clock.wall(),
        before=before,
        before_at=work.server.baseline_at or WallSeconds(0.0),
        after=after,
        gone=(*gone(before, after), *hidden),
    )


SAME_AFTER_REPAIR = Step(name="same-after-repair", act=_same_after_repair, limit=Seconds(180.0))
INVENTORY_ANEW = Step(name="inventory-anew", act=_inventory_anew, limit=Seconds(600.0))

REBASELINE = StepList(
    name="rebaseline/1",
    kind=Intent.REBASELINE,
    steps=(
        power_steps.OFF,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK,
        boot_steps.AGENT_CALLED_IN,
        SAME_AFTER_REPAIR,
        MEDIA_ANEW,
        INVENTORY_ANEW,
        boot_steps.WITHDRAW,
        deploy.AGENT_ENDS,
        power_steps.AGENT_OFF,
        port_steps.AT_REST,
        wipe_steps.BLANK,
    ),
)
