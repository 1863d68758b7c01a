"""Every error this project raises, split by who must act.

RackwrightError                                       exit 1
├── InputError       the caller must change the request   64
├── ConflictError    the object is in another state        3
├── OperatorError    a person must look at the machine     4
└── TransientError   the same call may succeed later      75

The codes are one closed list; error_catalogue.py gives each its cause and remedy, and
docs/errors.md is generated from there.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


class ErrorCode(StrEnum):
    """What went wrong, in one word that never changes its meaning."""

    # what was asked
    PAYLOAD_EMPTY = "PAYLOAD_EMPTY"
    PAYLOAD_MALFORMED = "PAYLOAD_MALFORMED"
    PAYLOAD_TOO_LARGE = "PAYLOAD_TOO_LARGE"
    PAYLOAD_NOT_AN_OBJECT = "PAYLOAD_NOT_AN_OBJECT"
    PAYLOAD_FIELD = "PAYLOAD_FIELD"
    VERB_UNKNOWN = "VERB_UNKNOWN"
    VERB_NOT_THERE = "VERB_NOT_THERE"
    CUSTOM_ACTION_REFUSED = "CUSTOM_ACTION_REFUSED"
    POOL_MISSING = "POOL_MISSING"
    POOL_UNKNOWN = "POOL_UNKNOWN"
    IMAGE_MISSING = "IMAGE_MISSING"
    IMAGE_UNKNOWN = "IMAGE_UNKNOWN"
    VLAN_MISSING = "VLAN_MISSING"
    NETWORKS_TOO_MANY = "NETWORKS_TOO_MANY"
    USER_DATA_TOO_LARGE = "USER_DATA_TOO_LARGE"
    USER_DATA_UNREADABLE = "USER_DATA_UNREADABLE"
    SEED_INVALID = "SEED_INVALID"
    USAGE = "USAGE"
    CONFIG_INVALID = "CONFIG_INVALID"
    MANIFEST_INVALID = "MANIFEST_INVALID"
    NAME_INVALID = "NAME_INVALID"
    FILE_UNREADABLE = "FILE_UNREADABLE"
    # who has what
    INSTANCE_DELETED = "INSTANCE_DELETED"
    INSTANCE_UNKNOWN = "INSTANCE_UNKNOWN"
    INSTANCE_ENDED = "INSTANCE_ENDED"
    INSTANCE_QUARANTINED = "INSTANCE_QUARANTINED"
    INSTANCE_BUSY = "INSTANCE_BUSY"
    NO_CAPACITY = "NO_CAPACITY"
    SERVER_UNKNOWN = "SERVER_UNKNOWN"
    SERVER_EXISTS = "SERVER_EXISTS"
    STATE_CONFLICT = "STATE_CONFLICT"
    OPERATION_UNKNOWN = "OPERATION_UNKNOWN"
    OPERATION_ENDED = "OPERATION_ENDED"
    ALREADY_INITIALISED = "ALREADY_INITIALISED"
    IN_USE = "IN_USE"
    # time
    DEADLINE = "DEADLINE"
    SUPERSEDED = "SUPERSEDED"
    CANCELLED = "CANCELLED"
    # controllers and ports
    CONTROLLER_UNREACHABLE = "CONTROLLER_UNREACHABLE"
    CONTROLLER_PASSWORD = "CONTROLLER_PASSWORD"  # noqa: S105 a code, no password
    CONTROLLER_NONSENSE = "CONTROLLER_NONSENSE"
    CONTROLLER_REFUSED = "CONTROLLER_REFUSED"
    CONTROLLER_BUSY = "CONTROLLER_BUSY"
    CONTROLLER_CERTIFICATE = "CONTROLLER_CERTIFICATE"
    CONTROLLER_BREAKER = "CONTROLLER_BREAKER"
    CONTROLLER_SYSTEMS = "CONTROLLER_SYSTEMS"
    OTHER_MACHINE = "OTHER_MACHINE"
    POWER_NOT_REACHED = "POWER_NOT_REACHED"
    BOOT_DEVICE_NOT_SET = "BOOT_DEVICE_NOT_SET"
    PORT_NOT_SET = "PORT_NOT_SET"
    PORT_ISOLATION_UNDECLARED = "PORT_ISOLATION_UNDECLARED"
    # network boot and agent
    AGENT_SILENT = "AGENT_SILENT"
    AGENT_LOST = "AGENT_LOST"
    AGENT_FAILED = "AGENT_FAILED"
    EPOCH_DIFFERS = "EPOCH_DIFFERS"
    BOOT_TOKEN_TAKEN = "BOOT_TOKEN_TAKEN"  # noqa: S105
    TOKEN_REFUSED = "TOKEN_REFUSED"  # noqa: S105
    FACTS_DIFFER = "FACTS_DIFFER"
    RAMDISK_MISSING = "RAMDISK_MISSING"
    RAMDISK_BUILD = "RAMDISK_BUILD"
    PACKAGE_GONE = "PACKAGE_GONE"
    PROOF_OF_LIFE_MISSING = "PROOF_OF_LIFE_MISSING"
    # disks, images, wipe
    DISK_NOT_FOUND = "DISK_NOT_FOUND"
    DISK_AMBIGUOUS = "DISK_AMBIGUOUS"
    DISK_TOO_SMALL = "DISK_TOO_SMALL"
    DISK_SECTOR_SIZE = "DISK_SECTOR_SIZE"
    DISK_FABRIC = "DISK_FABRIC"
    DISK_FAILED = "DISK_FAILED"
    DISK_FROZEN = "DISK_FROZEN"
    IMAGE_FORMAT = "IMAGE_FORMAT"
    IMAGE_CLAIMS = "IMAGE_CLAIMS"
    IMAGE_TOO_LARGE = "IMAGE_TOO_LARGE"
    IMAGE_EXISTS = "IMAGE_EXISTS"
    IMAGE_BUILD = "IMAGE_BUILD"
    IMAGE_DIGEST = "IMAGE_DIGEST"
    IMAGE_READ_BACK = "IMAGE_READ_BACK"
    BLOBS_UNREACHABLE = "BLOBS_UNREACHABLE"
    WIPE_METHOD_MISSING = "WIPE_METHOD_MISSING"
    WIPE_FAILED = "WIPE_FAILED"
    WIPE_NOT_PROVEN = "WIPE_NOT_PROVEN"
    EVIDENCE_INVALID = "EVIDENCE_INVALID"
    EVIDENCE_UNKNOWN = "EVIDENCE_UNKNOWN"
    # the service itself
    SERVICE_DOWN = "SERVICE_DOWN"
    SERVICE_HELD = "SERVICE_HELD"
    SERVICE_STOPPING = "SERVICE_STOPPING"
    PERMISSION = "PERMISSION"
    SECRET_UNREADABLE = "SECRET_UNREADABLE"  # noqa: S105
    ROUTE_UNKNOWN = "ROUTE_UNKNOWN"
    TOO_MANY_REQUESTS = "TOO_MANY_REQUESTS"
    DATABASE_BUSY = "DATABASE_BUSY"
    DATABASE_FULL = "DATABASE_FULL"
    DATABASE_IN_USE = "DATABASE_IN_USE"
    DATABASE_FAILED = "DATABASE_FAILED"
    STEP_UNKNOWN = "STEP_UNKNOWN"
    OPERATION_LOST = "OPERATION_LOST"
    CANNOT_TELL = "CANNOT_TELL"
    LAB = "LAB"
    INTERNAL = "INTERNAL"


@dataclass(eq=False)
class RackwrightError(Exception):
    """Base of the tree.

    Attributes:
        code: From the closed list.
        brief: One line: what, where, and what to do. No secret; safe to show a tenant.
        detail: For logs and operators: command, status, body, last console lines.
    """

    exit_code: ClassVar[int] = 1
    code: ErrorCode
    brief: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.code}: {self.brief}"


class InputError(RackwrightError):
    """The request itself is wrong; calling again unchanged gives the same answer."""

    exit_code = 64


class ConflictError(RackwrightError):
    """The object is in a state, or in hands, that do not allow this."""

    exit_code = 3


class OperatorError(RackwrightError):
    """A person must look at the machine, the disk or the installation."""

    exit_code = 4


class TransientError(RackwrightError):
    """Nothing was changed for good; the same call may succeed later."""

    exit_code = 75
