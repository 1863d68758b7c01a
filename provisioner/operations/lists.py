"""Every released list of steps, and what follows when an operation ends."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import MappingProxyType

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.deploy import DEPLOY
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.power import REBOOT, START, START_FROM_OFF, STOP
from provisioner.operations.quarantine import CUT_OFF, QUARANTINE, RETIRE
from provisioner.operations.rebaseline import REBASELINE
from provisioner.operations.reinstall import (
    REINSTALL,
    REINSTALL_STOPPED,
    RESEED,
    RESEED_STOPPED,
)
from provisioner.operations.release import CLEAN, RELEASE
from provisioner.operations.rescue import RESCUE
from provisioner.operations.steps import new_operation, table_of
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import NewOperation, OperationRecord, Outcome
from provisioner.servers.states import FOLLOWS, Intent

LISTS = (
    VERIFY,
    INSPECT,
    REBASELINE,
    CLEAN,
    DEPLOY,
    REINSTALL,
    REINSTALL_STOPPED,
    RESEED,
    RESEED_STOPPED,
    RESCUE,
    START,
    START_FROM_OFF,
    STOP,
    REBOOT,
    CUT_OFF,
    RELEASE,
    QUARANTINE,
    RETIRE,
)
STEPS = table_of(LISTS)
BY_NAME = MappingProxyType({each.name: each for each in LISTS})

_BY_INTENT = MappingProxyType(
    {
        Intent.VERIFY: VERIFY,
        Intent.INSPECT: INSPECT,
        Intent.CLEAN: CLEAN,
        Intent.RELEASE: RELEASE,
        Intent.QUARANTINE: QUARANTINE,
        Intent.POWER: CUT_OFF,
    }
)


def follow(
    record: OperationRecord, outcome: Outcome
) -> Callable[[ServerRecord], NewOperation] | None:
    """What is opened in the transaction that ends this operation; None: nothing."""
    intent = FOLLOWS.get((record.kind, outcome.ending))
    if intent is None:
        return None
    handed_on = {key: record.parameters[key] for key in ("erase",) if key in record.parameters}

    def made(_server: ServerRecord) -> NewOperation:
        return replace(new_operation(_BY_INTENT[intent], record.who), parameters=handed_on)

    return made


def check_steps(still_open: Iterable[OperationRecord]) -> None:
    """Refuse to start while an open operation names a step that this release lacks.

    Raises:
        OperatorError: STEP_UNKNOWN, with the operation and the step.
    """
    for record in still_open:
        missing = [name for name in record.steps if name not in STEPS]
        if missing:
            raise OperatorError(
                ErrorCode.STEP_UNKNOWN,
                f"operation {record.id} ({record.steps_name}) needs the step {missing[0]}, which "
                "this release lacks: start the release that opened it and let it end",
            )
