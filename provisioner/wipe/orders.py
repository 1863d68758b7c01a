"""The three orders of a wipe and their results, as they travel between service and agent.

`mark` reads what each disk is and remembers blocks of the old owner's data; `erase` runs the
methods; `verify` reads back. Both sides read the other's JSON through these types, strictly.
"""

import dataclasses
import typing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from provisioner.hardware.inventory import Disk, read
from provisioner.wipe.capabilities import Capabilities, SanitizeState
from provisioner.wipe.device_log import DeviceLog
from provisioner.wipe.method import Leaves, Method
from provisioner.wipe.samples import EDGE_BYTES, samples_needed

MARKS_A_DISK = 128
CANARIES_A_TURN = 64


class Message:
    """JSON to and from the frozen dataclasses below."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """A tree of JSON values; `from_json` gives an equal value."""
        return dataclasses.asdict(typing.cast("Any", self))

    @classmethod
    def from_json(cls, body: object) -> Self:
        """Read what the other side sent.

        Raises:
            ValueError: With the path of the first field that is missing or of a wrong type.
        """
        return typing.cast("Self", read(cls, body, "body"))


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskReference(Message):
    """One disk by what does not change over boots; the agent finds exactly one, or none."""

    serial: str | None
    wwn: str | None
    bytes: int
    model: str | None

    @classmethod
    def of(cls, disk: Disk) -> Self:
        """Of a disk in an inventory."""
        return cls(serial=disk.serial, wwn=disk.wwn, bytes=disk.bytes, model=disk.model)

    def label(self) -> str:
        """What people and canaries call it."""
        return self.serial or self.wwn or f"{self.model or 'disk'}/{self.bytes}"


# --- orders -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class MarkOrder(Message):
    """Read only: capabilities, the disk's log, and digests of the old owner's blocks.

    Attributes:
        key: 32 random bytes in hex, of this wipe; the same in all of its orders.
        marks: How many blocks with data to remember on each disk, at most.
    """

    disks: tuple[DiskReference, ...]
    key: str
    marks: int = MARKS_A_DISK


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskToErase(Message):
    """Which methods, in this order."""

    disk: DiskReference
    methods: tuple[Method, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseOrder(Message):
    """Before each method so many canaries are written and read back; after it they are gone."""

    disks: tuple[DiskToErase, ...]
    key: str
    canaries: int = CANARIES_A_TURN


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark(Message):
    """A block of the old owner's data, by place in bytes and keyed digest."""

    offset: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskToVerify(Message):
    """What must hold.

    Attributes:
        leaves: What blocks may read as; the ends are zeros always.
        turns: How many methods wrote canaries before they ran.
    """

    disk: DiskReference
    leaves: Leaves
    turns: int
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOrder(Message):
    """Read back past every cache."""

    disks: tuple[DiskToVerify, ...]
    key: str
    canaries: int = CANARIES_A_TURN
    samples: int = samples_needed()
    edges_bytes: int = EDGE_BYTES


# --- results ----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyedDisk(Message):
    """What `mark` found of one disk.

    Attributes:
        looked_at: Blocks read in search of data.
        error: Why it could not be read, "" otherwise.
    """

    disk: DiskReference
    path: str
    capabilities: Capabilities
    log: DeviceLog
    marks: tuple[Mark, ...]
    looked_at: int
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveys(Message):
    """Result of `mark`, in the order's order."""

    disks: tuple[SurveyedDisk, ...]


class RunStatus(StrEnum):
    """How one method ended."""

    DONE = "done"
    FAILED = "failed"
    NO_EFFECT = "no-effect"
    FROZEN = "frozen"
    IO_ERROR = "io-error"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodRun(Message):
    """One method on one disk.

    Attributes:
        commands: As they were run.
        begun_ms: Since the order began, by the agent's monotonic clock; its date may be wrong.
        canaries_kept: Of those written, how many read back before the method ran.
        canaries_left: How many still read back right after it.
        sanitize_state: What the disk's own log says afterwards; UNKNOWN for other methods.
        text: Why it did not end well, "" otherwise.
    """

    method: Method
    status: RunStatus
    commands: tuple[str, ...]
    begun_ms: int
    ended_ms: int
    canaries_written: int
    canaries_kept: int
    canaries_left: int
    sanitize_state: SanitizeState = SanitizeState.UNKNOWN
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasedDisk(Message):
    """What `erase` did to one disk; `runs` has all methods unless the disk is frozen or fails.

    Attributes:
        edges_zeroed: Both ends were written with zeros last, where a method leaves noise.
        error: What kept it from trying at all, "" otherwise.
    """

    disk: DiskReference
    path: str
    capabilities: Capabilities
    runs: tuple[MethodRun, ...]
    edges_zeroed: bool
    log: DeviceLog
    error: str = ""

    def is_frozen(self) -> bool:
        """A power-on is needed before its security erase."""
        return any(run.status is RunStatus.FROZEN for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasures(Message):
    """Result of `erase`, in the order's order."""

    disks: tuple[ErasedDisk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedDisk(Message):
    """What `verify` read on one disk.

    Attributes:
        blocks: Of 4 KiB, on the whole disk.
        unwiped: Samples that read as none of what may be there.
        edges_unwiped: Blocks of the two ends that are not zeros.
        zeros: Samples that are all zeros.
        first_unwiped: Byte offset of the first block that should not be there.
        read_errors: Reads that failed; such a block counts as neither wiped nor unwiped.
    """

    disk: DiskReference
    path: str
    blocks: int
    samples: int
    unwiped: int
    zeros: int
    edges_bytes: int
    edges_unwiped: int
    marks_checked: int
    marks_left: int
    canaries_checked: int
    canaries_left: int
    read_errors: int
    first_unwiped: int | None
    ms: int
    log: DeviceLog
    error: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifications(Message):
    """Result of `verify`, in the order's order."""

    disks: tuple[VerifiedDisk, ...]
