"""Steps about media that only the controller names (invariant 7)."""

from collections.abc import Mapping
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.boot_steps import facts_of
from provisioner.operations.doors import Work
from provisioner.operations.steps import Step
from provisioner.operations.talk import talk
from provisioner.servers.controller_media import hidden
from provisioner.units import Seconds


async def _controller_media(work: Work) -> Mapping[str, Any]:
    """One that was hidden at inspection and is gone has left with what was on it."""
    found = await _media_anew(work)
    if found["gone"]:
        raise OperatorError(
            ErrorCode.FACTS_DIFFER,
            f"the controller does not name any more: {', '.join(found['gone'])}",
        )
    return {"named": found["named"], "hidden": found["hidden"]}


async def _media_anew(work: Work) -> Mapping[str, Any]:
    """What the controller names, asked while the machine runs: some forget it at power-off."""
    async with talk(work) as controller:
        named = await controller.media()
    known = {each.label() for each in named or ()}
    gone = [each for each in work.server.hidden_media if each not in known]
    if named is None:
        return {"named": None, "hidden": [], "gone": gone}
    facts = await facts_of(work)
    found = hidden(named, facts.disks, work.server.excluded_disks)
    return {"named": len(named), "hidden": [each.label() for each in found], "gone": gone}


MEDIA_ANEW = Step(name="controller-media-anew", act=_media_anew, limit=Seconds(300.0))
CONTROLLER_MEDIA = Step(name="controller-media", act=_controller_media, limit=Seconds(300.0))
