"""From an error in a step to how the operation ends: by whose fault it was. Pure."""

from provisioner.errors import (
    ConflictError,
    ErrorCode,
    InputError,
    OperatorError,
    RackwrightError,
    TransientError,
)
from provisioner.servers.operation import OperationRecord, Outcome
from provisioner.servers.states import Ending


class NeedsPersonError(OperatorError):
    """Nothing failed; a person must say what happens next."""


OUR_SIDE = frozenset(
    {
        ErrorCode.BLOBS_UNREACHABLE,
        ErrorCode.IMAGE_DIGEST,
        ErrorCode.IMAGE_MISSING,
        ErrorCode.RAMDISK_MISSING,
        ErrorCode.DATABASE_BUSY,
        ErrorCode.DATABASE_FULL,
        ErrorCode.DEADLINE,
        ErrorCode.CANCELLED,
        ErrorCode.EPOCH_DIFFERS,
    }
)
"""Nothing is wrong with the machine: it may be wiped and handed out again."""
DISKS = frozenset(
    {
        ErrorCode.DISK_FABRIC,
        ErrorCode.DISK_NOT_FOUND,
        ErrorCode.DISK_AMBIGUOUS,
        ErrorCode.DISK_TOO_SMALL,
        ErrorCode.DISK_SECTOR_SIZE,
        ErrorCode.FACTS_DIFFER,
    }
)
"""A wrong request before power; after it the machine is not what the baseline said."""


def outcome_of(error: RackwrightError, *, power_touched: bool) -> Outcome:
    """How an operation ends whose step raised this.

    Args:
        error: What the step raised.
        power_touched: A step that powers the server on has begun; before it a wrong request
            leaves the server as clean as it was.
    """
    ending = _ending(error, power_touched=power_touched)
    return Outcome(ending=ending, code=error.code, brief=error.brief, detail=error.detail)


def _ending(error: RackwrightError, *, power_touched: bool) -> Ending:
    is_request = isinstance(error, InputError | ConflictError)
    if isinstance(error, NeedsPersonError):
        return Ending.PERSON
    if is_request and not power_touched:
        return Ending.INPUT
    if error.code in DISKS:
        return Ending.MACHINE
    return Ending.OURS if is_request or error.code in OUR_SIDE else Ending.MACHINE


def cannot_tell(step: str, what: str) -> Outcome:
    """The end of an operation about which nothing certain can be said."""
    return Outcome(
        ending=Ending.MACHINE,
        code=ErrorCode.CANNOT_TELL,
        brief=f"cannot tell whether {step} took place: the server is switched off and cut off",
        detail=what,
    )


def failure_of(record: OperationRecord) -> RackwrightError:
    """Why an operation did not succeed, as the error its caller gets."""
    code = record.code or ErrorCode.SUPERSEDED
    brief = record.brief or f"the {record.kind} was {record.status}"
    kinds: dict[Ending | None, type[RackwrightError]] = {
        Ending.INPUT: InputError,
        Ending.OURS: TransientError,
        None: ConflictError,
    }
    return kinds.get(record.ending, OperatorError)(code, brief, record.detail)
