"""Every error this project raises, split by who must act.

RackwrightError
├── InputError       the caller must change the request
├── ConflictError    the object is in another state
├── OperatorError    a person must look at the machine
└── TransientError   the same call may succeed later

By the class our own code decides what to do: ask again, give up, quarantine. What a caller is
told (kind, exit status, HTTP status) follows from the code alone, so that one code never means
two things, wherever it was met. The codes are one closed list; error_catalogue.py gives each
its cause and remedy, and docs/errors.md is generated from there.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """Who must act, as callers are told."""

    INPUT = "input"
    CONFLICT = "conflict"
    OPERATOR = "operator"
    TRANSIENT = "transient"
    INTERNAL = "internal"

    @property
    def exit_code(self) -> int:
        """What a command ends with."""
        return {"input": 64, "conflict": 3, "operator": 4, "transient": 75, "internal": 1}[self]


class ErrorCode(StrEnum):
    """What went wrong, in one word that never changes its meaning, and who must act."""

    _value_: str
    kind: Kind

    def __new__(cls, word: str, kind: Kind = Kind.INTERNAL) -> "ErrorCode":
        """A member: itself the word. With the word alone a known one is looked up."""
        made = str.__new__(cls, word)
        made._value_, made.kind = word, kind
        return made

    # what was asked
    PAYLOAD_EMPTY = ("PAYLOAD_EMPTY", Kind.INPUT)
    PAYLOAD_MALFORMED = ("PAYLOAD_MALFORMED", Kind.INPUT)
    PAYLOAD_TOO_LARGE = ("PAYLOAD_TOO_LARGE", Kind.INPUT)
    PAYLOAD_NOT_AN_OBJECT = ("PAYLOAD_NOT_AN_OBJECT", Kind.INPUT)
    PAYLOAD_FIELD = ("PAYLOAD_FIELD", Kind.INPUT)
    VERB_UNKNOWN = ("VERB_UNKNOWN", Kind.INPUT)
    VERB_NOT_THERE = ("VERB_NOT_THERE", Kind.INPUT)
    CUSTOM_ACTION_REFUSED = ("CUSTOM_ACTION_REFUSED", Kind.INPUT)
    POOL_MISSING = ("POOL_MISSING", Kind.INPUT)
    POOL_UNKNOWN = ("POOL_UNKNOWN", Kind.INPUT)
    IMAGE_MISSING = ("IMAGE_MISSING", Kind.INPUT)
    IMAGE_UNKNOWN = ("IMAGE_UNKNOWN", Kind.INPUT)
    VLAN_MISSING = ("VLAN_MISSING", Kind.INPUT)
    NETWORKS_TOO_MANY = ("NETWORKS_TOO_MANY", Kind.INPUT)
    USER_DATA_TOO_LARGE = ("USER_DATA_TOO_LARGE", Kind.INPUT)
    USER_DATA_UNREADABLE = ("USER_DATA_UNREADABLE", Kind.INPUT)
    SEED_INVALID = ("SEED_INVALID", Kind.INPUT)
    USAGE = ("USAGE", Kind.INPUT)
    CONFIG_INVALID = ("CONFIG_INVALID", Kind.INPUT)
    MANIFEST_INVALID = ("MANIFEST_INVALID", Kind.INPUT)
    NAME_INVALID = ("NAME_INVALID", Kind.INPUT)
    FILE_UNREADABLE = ("FILE_UNREADABLE", Kind.INPUT)
    # who has what
    INSTANCE_DELETED = ("INSTANCE_DELETED", Kind.CONFLICT)
    INSTANCE_UNKNOWN = ("INSTANCE_UNKNOWN", Kind.INPUT)
    INSTANCE_ENDED = ("INSTANCE_ENDED", Kind.CONFLICT)
    INSTANCE_QUARANTINED = ("INSTANCE_QUARANTINED", Kind.CONFLICT)
    TRUTH_SILENT = ("TRUTH_SILENT", Kind.TRANSIENT)
    OFFERING_FOREIGN = ("OFFERING_FOREIGN", Kind.INPUT)
    OFFERING_DIFFERS = ("OFFERING_DIFFERS", Kind.CONFLICT)
    TEMPLATE_FOREIGN = ("TEMPLATE_FOREIGN", Kind.INPUT)
    IMAGE_DIFFERS = ("IMAGE_DIFFERS", Kind.INPUT)
    SITE_KEY_MISSING = ("SITE_KEY_MISSING", Kind.INPUT)
    REINSTALL_NEEDED = ("REINSTALL_NEEDED", Kind.CONFLICT)
    KEYS_MISSING = ("KEYS_MISSING", Kind.INPUT)
    POOL_DIFFERS = ("POOL_DIFFERS", Kind.INPUT)
    INSTANCE_BUSY = ("INSTANCE_BUSY", Kind.CONFLICT)
    NO_CAPACITY = ("NO_CAPACITY", Kind.TRANSIENT)
    SERVER_UNKNOWN = ("SERVER_UNKNOWN", Kind.INPUT)
    SITE_UNKNOWN = ("SITE_UNKNOWN", Kind.INPUT)
    SERVER_EXISTS = ("SERVER_EXISTS", Kind.CONFLICT)
    STATE_CONFLICT = ("STATE_CONFLICT", Kind.CONFLICT)
    OPERATION_UNKNOWN = ("OPERATION_UNKNOWN", Kind.INPUT)
    OPERATION_ENDED = ("OPERATION_ENDED", Kind.CONFLICT)
    ALREADY_INITIALISED = ("ALREADY_INITIALISED", Kind.CONFLICT)
    IN_USE = ("IN_USE", Kind.CONFLICT)
    # time
    DEADLINE = ("DEADLINE", Kind.TRANSIENT)
    SUPERSEDED = ("SUPERSEDED", Kind.CONFLICT)
    CANCELLED = ("CANCELLED", Kind.CONFLICT)
    # controllers and ports
    CONTROLLER_UNREACHABLE = ("CONTROLLER_UNREACHABLE", Kind.TRANSIENT)
    CONTROLLER_PASSWORD = ("CONTROLLER_PASSWORD", Kind.OPERATOR)
    CONTROLLER_NONSENSE = ("CONTROLLER_NONSENSE", Kind.OPERATOR)
    CONTROLLER_REFUSED = ("CONTROLLER_REFUSED", Kind.OPERATOR)
    CONTROLLER_BUSY = ("CONTROLLER_BUSY", Kind.TRANSIENT)
    CONTROLLER_CERTIFICATE = ("CONTROLLER_CERTIFICATE", Kind.OPERATOR)
    CONTROLLER_BREAKER = ("CONTROLLER_BREAKER", Kind.TRANSIENT)
    CONTROLLER_SYSTEMS = ("CONTROLLER_SYSTEMS", Kind.OPERATOR)
    OTHER_MACHINE = ("OTHER_MACHINE", Kind.OPERATOR)
    POWER_NOT_REACHED = ("POWER_NOT_REACHED", Kind.OPERATOR)
    POSSIBLY_RUNNING = ("POSSIBLY_RUNNING", Kind.OPERATOR)
    BOOT_DEVICE_NOT_SET = ("BOOT_DEVICE_NOT_SET", Kind.OPERATOR)
    PORT_NOT_SET = ("PORT_NOT_SET", Kind.OPERATOR)
    PORT_ISOLATION_UNDECLARED = ("PORT_ISOLATION_UNDECLARED", Kind.OPERATOR)
    # network boot and agent
    AGENT_SILENT = ("AGENT_SILENT", Kind.OPERATOR)
    AGENT_LOST = ("AGENT_LOST", Kind.OPERATOR)
    AGENT_FAILED = ("AGENT_FAILED", Kind.OPERATOR)
    EPOCH_DIFFERS = ("EPOCH_DIFFERS", Kind.CONFLICT)
    BOOT_TOKEN_TAKEN = ("BOOT_TOKEN_TAKEN", Kind.OPERATOR)
    TOKEN_REFUSED = ("TOKEN_REFUSED", Kind.INPUT)
    FACTS_DIFFER = ("FACTS_DIFFER", Kind.OPERATOR)
    RAMDISK_MISSING = ("RAMDISK_MISSING", Kind.OPERATOR)
    RAMDISK_BUILD = ("RAMDISK_BUILD", Kind.OPERATOR)
    PACKAGE_GONE = ("PACKAGE_GONE", Kind.OPERATOR)
    PROOF_OF_LIFE_MISSING = ("PROOF_OF_LIFE_MISSING", Kind.OPERATOR)
    # disks, images, wipe
    DISK_NOT_FOUND = ("DISK_NOT_FOUND", Kind.INPUT)
    DISK_AMBIGUOUS = ("DISK_AMBIGUOUS", Kind.INPUT)
    DISK_TOO_SMALL = ("DISK_TOO_SMALL", Kind.INPUT)
    DISK_SECTOR_SIZE = ("DISK_SECTOR_SIZE", Kind.INPUT)
    DISK_FABRIC = ("DISK_FABRIC", Kind.INPUT)
    DISK_FAILED = ("DISK_FAILED", Kind.OPERATOR)
    DISK_FROZEN = ("DISK_FROZEN", Kind.OPERATOR)
    IMAGE_FORMAT = ("IMAGE_FORMAT", Kind.INPUT)
    IMAGE_CLAIMS = ("IMAGE_CLAIMS", Kind.INPUT)
    IMAGE_TOO_LARGE = ("IMAGE_TOO_LARGE", Kind.INPUT)
    IMAGE_EXISTS = ("IMAGE_EXISTS", Kind.CONFLICT)
    IMAGE_BUILD = ("IMAGE_BUILD", Kind.OPERATOR)
    IMAGE_DIGEST = ("IMAGE_DIGEST", Kind.OPERATOR)
    IMAGE_READ_BACK = ("IMAGE_READ_BACK", Kind.OPERATOR)
    BLOBS_UNREACHABLE = ("BLOBS_UNREACHABLE", Kind.TRANSIENT)
    WIPE_METHOD_MISSING = ("WIPE_METHOD_MISSING", Kind.OPERATOR)
    WIPE_FAILED = ("WIPE_FAILED", Kind.OPERATOR)
    WIPE_NOT_PROVEN = ("WIPE_NOT_PROVEN", Kind.OPERATOR)
    EVIDENCE_INVALID = ("EVIDENCE_INVALID", Kind.OPERATOR)
    EVIDENCE_UNKNOWN = ("EVIDENCE_UNKNOWN", Kind.INPUT)
    # CloudStack's API, and what is registered there
    CLOUDSTACK_KEY = ("CLOUDSTACK_KEY", Kind.INPUT)
    CLOUDSTACK_RIGHTS = ("CLOUDSTACK_RIGHTS", Kind.INPUT)
    CLOUDSTACK_REFUSED = ("CLOUDSTACK_REFUSED", Kind.OPERATOR)
    CLOUDSTACK_UNREACHABLE = ("CLOUDSTACK_UNREACHABLE", Kind.TRANSIENT)
    CLOUDSTACK_SILENT = ("CLOUDSTACK_SILENT", Kind.TRANSIENT)
    CLOUDSTACK_NONSENSE = ("CLOUDSTACK_NONSENSE", Kind.OPERATOR)
    CLOUDSTACK_LIST_CUT = ("CLOUDSTACK_LIST_CUT", Kind.TRANSIENT)
    REGISTRATION_INVALID = ("REGISTRATION_INVALID", Kind.INPUT)
    REGISTRATION_REFUSED = ("REGISTRATION_REFUSED", Kind.CONFLICT)
    REGISTRATION_ROW = ("REGISTRATION_ROW", Kind.INPUT)
    REGISTRATION_PATH = ("REGISTRATION_PATH", Kind.TRANSIENT)
    REGISTRATION_BUSY = ("REGISTRATION_BUSY", Kind.TRANSIENT)
    # other machines over SSH
    SSH_UNREACHABLE = ("SSH_UNREACHABLE", Kind.TRANSIENT)
    SSH_HOST_KEY = ("SSH_HOST_KEY", Kind.OPERATOR)
    SSH_KEY = ("SSH_KEY", Kind.OPERATOR)
    SSH_FAILED = ("SSH_FAILED", Kind.OPERATOR)
    SSH_SUDO = ("SSH_SUDO", Kind.OPERATOR)
    # GPU hosts
    BUNDLE_INVALID = ("BUNDLE_INVALID", Kind.INPUT)
    HOST_UNKNOWN = ("HOST_UNKNOWN", Kind.INPUT)
    HOST_EXISTS = ("HOST_EXISTS", Kind.CONFLICT)
    # the service itself
    SERVICE_DOWN = ("SERVICE_DOWN", Kind.TRANSIENT)
    SERVICE_HELD = ("SERVICE_HELD", Kind.OPERATOR)
    ADDRESS_MISSING = ("ADDRESS_MISSING", Kind.TRANSIENT)
    SERVICE_STOPPING = ("SERVICE_STOPPING", Kind.TRANSIENT)
    PERMISSION = ("PERMISSION", Kind.INPUT)
    TLS_REFUSED = ("TLS_REFUSED", Kind.OPERATOR)
    SECRET_UNREADABLE = ("SECRET_UNREADABLE", Kind.OPERATOR)
    ROUTE_UNKNOWN = ("ROUTE_UNKNOWN", Kind.INPUT)
    TOO_MANY_REQUESTS = ("TOO_MANY_REQUESTS", Kind.TRANSIENT)
    DATABASE_BUSY = ("DATABASE_BUSY", Kind.TRANSIENT)
    DATABASE_FULL = ("DATABASE_FULL", Kind.TRANSIENT)
    DATABASE_IN_USE = ("DATABASE_IN_USE", Kind.CONFLICT)
    DATABASE_FAILED = ("DATABASE_FAILED", Kind.OPERATOR)
    STEP_UNKNOWN = ("STEP_UNKNOWN", Kind.OPERATOR)
    OPERATION_LOST = ("OPERATION_LOST", Kind.OPERATOR)
    CANNOT_TELL = ("CANNOT_TELL", Kind.OPERATOR)
    LAB = ("LAB", Kind.OPERATOR)
    INTERNAL = ("INTERNAL", Kind.INTERNAL)


@dataclass(eq=False)
class RackwrightError(Exception):
    """Base of the tree.

    Attributes:
        code: From the closed list.
        brief: One line: what, where, and what to do. No secret; safe to show a tenant.
        detail: For logs and operators: command, status, body, last console lines.
    """

    code: ErrorCode
    brief: str
    detail: str = ""

    @property
    def exit_code(self) -> int:
        """What a command ends with."""
        return self.code.kind.exit_code

    def __str__(self) -> str:
        return f"{self.code}: {self.brief}"


class InputError(RackwrightError):
    """The request itself is wrong; calling again unchanged gives the same answer."""


class ConflictError(RackwrightError):
    """The object is in a state, or in hands, that do not allow this."""


class OperatorError(RackwrightError):
    """A person must look at the machine, the disk or the installation."""


class TransientError(RackwrightError):
    """Nothing was changed for good; the same call may succeed later."""
