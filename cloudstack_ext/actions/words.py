"""What a tenant reads of an instance's state: no machine, no person, no part is named. Pure."""

from datetime import UTC, datetime

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.error_catalogue import CATALOGUE
from provisioner.errors import ErrorCode
from provisioner.ports.tenant_desk import Walk
from provisioner.servers.allocation import InstanceView, Phase
from provisioner.servers.model import Power
from provisioner.servers.operation import OperationRecord, Status
from provisioner.servers.states import Intent
from provisioner.units import WallSeconds

POWER = {PowerState.ON: "on", PowerState.OFF: "off", PowerState.UNKNOWN: "unknown"}
KINDS = {
    Intent.DEPLOY: "installation",
    Intent.REINSTALL: "reinstallation",
    Intent.RESEED: "handing out of new user data",
    Intent.RESCUE: "start of a rescue system",
    Intent.RELEASE: "return and wipe",
    Intent.QUARANTINE: "isolation of the machine",
}
COMMANDS = {
    "start": "start",
    "start-from-off": "start",
    "stop": "stop",
    "reboot": "restart",
    "cut-off": "switching off after a failure",
}
ENDS = {
    Status.OPEN: "goes on",
    Status.DONE: "done",
    Status.FAILED: "failed",
    Status.SUPERSEDED: "given up for a newer one",
    Status.CANCELLED: "cancelled by an operator",
}
FAILURES = frozenset({Status.FAILED, Status.CANCELLED})


def situation(view: InstanceView) -> str:
    """Where the instance is in its life."""
    if view.held:
        return "the service waits for its operators and changes nothing"
    if view.phase is None:
        return "no machine was ever given to it"
    if view.phase is Phase.ENDED:
        return "its installation failed" if view.failed else "its machine was given back"
    if view.quarantined:
        return "its machine is isolated: an operator must look at it"
    if view.phase is Phase.RESERVED:
        return "a machine is kept for it"
    if view.phase is Phase.DEPLOYING:
        return "it is being installed"
    return _installed(view)


def _installed(view: InstanceView) -> str:
    if view.needs_reinstall:
        return "its root disk may be half written: run reinstall, nothing else starts it"
    if view.rescue:
        return "a rescue system runs: stop, start or reboot ends it"
    return "installed, wanted on" if view.wanted is Power.ON else "installed, wanted off"


def power(view: InstanceView) -> str:
    """As `status` says it."""
    return POWER[power_state(view)]


def kind(operation: OperationRecord) -> str:
    """What an operation does."""
    command = operation.steps_name.partition("/")[0]
    return KINDS.get(operation.kind) or COMMANDS.get(command, operation.kind.value)


def stage(walk: Walk) -> str:
    """How far it has come; the stage's name is the one that operators see."""
    total = len(walk.operation.steps)
    return f"{walk.stage} ({walk.number} of {total})" if walk.stage else f"none of {total} yet"


def sentence(code: ErrorCode) -> str:
    """What a code means: from the closed list, since an error's own text may name a disk."""
    return CATALOGUE[code][0]


def failure(operation: OperationRecord) -> tuple[ErrorCode, str]:
    """Code and sentence of one that failed."""
    code = operation.code or ErrorCode.INTERNAL
    return code, sentence(code)


def moment(at: WallSeconds | None) -> str:
    """UTC, to the second."""
    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def size(count: int) -> str:
    """Bytes as people read them."""
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6)):
        if count >= factor:
            return f"{count / factor:.1f} {unit}"
    return f"{count} bytes"
