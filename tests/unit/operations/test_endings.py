import pytest

from provisioner.errors import (
    ConflictError,
    ErrorCode,
    InputError,
    OperatorError,
    TransientError,
)
from provisioner.operations.endings import NeedsPersonError, cannot_tell, outcome_of
from provisioner.servers.states import MOVES, Ending, Intent

E, I, O, T = Ending, InputError, OperatorError, TransientError  # noqa: E741

# error, code -> ending before power, ending after it
TABLE = [
    (I, "DISK_NOT_FOUND", E.INPUT, E.MACHINE),
    (I, "DISK_FABRIC", E.INPUT, E.MACHINE),
    (I, "DISK_TOO_SMALL", E.INPUT, E.MACHINE),
    (I, "FACTS_DIFFER", E.INPUT, E.MACHINE),
    (I, "NETWORKS_TOO_MANY", E.INPUT, E.OURS),
    (I, "IMAGE_MISSING", E.INPUT, E.OURS),
    (I, "SEED_INVALID", E.INPUT, E.OURS),
    (ConflictError, "SERVER_UNKNOWN", E.INPUT, E.OURS),
    (T, "IMAGE_MISSING", E.OURS, E.OURS),
    (T, "BLOBS_UNREACHABLE", E.OURS, E.OURS),
    (T, "IMAGE_DIGEST", E.OURS, E.OURS),
    (T, "DATABASE_BUSY", E.OURS, E.OURS),
    (T, "DATABASE_FULL", E.OURS, E.OURS),
    (T, "DEADLINE", E.OURS, E.OURS),
    (T, "EPOCH_DIFFERS", E.OURS, E.OURS),
    (O, "RAMDISK_MISSING", E.OURS, E.OURS),
    (T, "CONTROLLER_UNREACHABLE", E.MACHINE, E.MACHINE),
    (T, "CONTROLLER_BREAKER", E.MACHINE, E.MACHINE),
    (T, "PORT_NOT_SET", E.MACHINE, E.MACHINE),
    (O, "PORT_NOT_SET", E.MACHINE, E.MACHINE),
    (O, "POWER_NOT_REACHED", E.MACHINE, E.MACHINE),
    (O, "AGENT_SILENT", E.MACHINE, E.MACHINE),
    (O, "AGENT_LOST", E.MACHINE, E.MACHINE),
    (O, "OTHER_MACHINE", E.MACHINE, E.MACHINE),
    (O, "FACTS_DIFFER", E.MACHINE, E.MACHINE),
    (O, "DISK_FAILED", E.MACHINE, E.MACHINE),
    (O, "WIPE_NOT_PROVEN", E.MACHINE, E.MACHINE),
    (O, "CANNOT_TELL", E.MACHINE, E.MACHINE),
    (O, "INTERNAL", E.MACHINE, E.MACHINE),
    (NeedsPersonError, "STATE_CONFLICT", E.PERSON, E.PERSON),
]


@pytest.mark.parametrize(("kind", "code", "before", "after"), TABLE)
def test_an_error_ends_an_operation_by_whose_fault_it_was(kind, code, before, after):
    error = kind(ErrorCode(code), "brief", "detail")
    for touched, ending in ((False, before), (True, after)):
        outcome = outcome_of(error, power_touched=touched)
        assert outcome.ending is ending
        assert (outcome.code, outcome.brief, outcome.detail) == (code, "brief", "detail")


@pytest.mark.parametrize("kind", [I, ConflictError, O, T, NeedsPersonError])
def test_no_error_leaves_a_server_free_once_power_was_touched(kind):
    for code in ErrorCode:
        ending = outcome_of(kind(code, ""), power_touched=True).ending
        assert ending not in {E.DONE, E.INPUT}
        for (_, intent), move in MOVES.items():
            if intent in {Intent.DEPLOY, Intent.RELEASE, Intent.CLEAN}:
                assert move.ends[ending] != "AVAILABLE"


def test_what_cannot_be_told_is_the_machines():
    outcome = cannot_tell("sign", "KeyError: 'x'")
    assert (outcome.ending, outcome.code) == (E.MACHINE, ErrorCode.CANNOT_TELL)
    assert "sign" in outcome.brief
    assert outcome.detail == "KeyError: 'x'"
