"""What the actions that last long have in common: where they end, whom they ask, what they say."""

from collections.abc import Iterator
from dataclasses import dataclass

from cloudstack_ext.actions import words
from cloudstack_ext.actions.asked import Asked, Row, item
from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.ports.instance_changes import InstanceChanges
from provisioner.ports.tenant_desk import Walk
from provisioner.servers.allocation import InstanceRequest
from provisioner.servers.model import Power
from provisioner.servers.operation import Status

RUNNING, STOPPED = "Running", "Stopped"
ENDS = {RUNNING: Power.ON, STOPPED: Power.OFF}
"""An action leaves the machine in the power state that CloudStack holds."""
NOT_ASKED = "not asked"


def running(asked: Asked) -> None:
    """Raises ConflictError STATE_CONFLICT: after the action it is on, and not so in CloudStack."""
    state = asked.request.state
    if state != RUNNING:
        text = f"the instance is {state or 'in no known state'} in CloudStack: start it instead"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)


def ends(asked: Asked) -> Power:
    """Raises ConflictError STATE_CONFLICT: CloudStack is about to change its power."""
    state = asked.request.state
    if state not in ENDS:
        text = f"the instance is {state or 'in no known state'} in CloudStack: ask again"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    return ENDS[state]


def changes_of(asked: Asked) -> InstanceChanges:
    """Raises InputError CUSTOM_ACTION_REFUSED."""
    if asked.changes is None:
        text = f"these machines have no {asked.request.name}"
        raise InputError(ErrorCode.CUSTOM_ACTION_REFUSED, text)
    return asked.changes


@dataclass(slots=True, kw_only=True)
class Certifying:
    """ports.machines.Certify, and whether anybody was asked.

    Attributes:
        image: A registered template's name or id; None: the one that it has.
        needed: Why nothing is done where nobody can be asked; "" where it is done all the same.
    """

    asked: Asked
    image: str | None = None
    needed: str = ""
    nobody_asked: bool = False

    async def __call__(self, request: InstanceRequest, size: str | None) -> InstanceRequest:
        """As CloudStack says it now."""
        found = await self.asked.anew(request, size or "", self.image, self.asked.until)
        self.nobody_asked = found.truth == NOT_ASKED
        if self.nobody_asked and self.needed:
            raise InputError(ErrorCode.SITE_KEY_MISSING, self.needed)
        return found


def rows_of(word: str, walk: Walk) -> Iterator[Row]:
    """As the tenant reads it."""
    is_open = walk.operation.status is Status.OPEN
    yield item(word, "goes on: ask for progress" if is_open else "done")
    yield item("operation", walk.operation.id)
    yield item("stage", words.stage(walk))
