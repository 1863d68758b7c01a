"""Operations as they are remembered: what was asked, which steps, how it ended."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from provisioner.errors import ErrorCode
from provisioner.servers.states import Ending, Intent
from provisioner.units import AllocationId, Epoch, OperationId, ServerName, WallSeconds


class Status(StrEnum):
    """Where an operation is; all but OPEN are for ever."""

    OPEN = "open"
    DONE = "done"
    FAILED = "failed"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewOperation:
    """An operation to be opened, in the transaction of its state move.

    Attributes:
        steps_name: "deploy/1": the released list; stored with its steps, never edited.
        who: Operator identity, or site and caller.
        parameters: JSON values the steps need: ids, names and choices; never a secret.
    """

    id: OperationId
    kind: Intent
    steps_name: str
    steps: tuple[str, ...]
    who: str
    parameters: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationRecord:
    """What the store remembers of one operation.

    Attributes:
        ending: None while open, and where it was superseded or cancelled.
        brief: Why it did not succeed: one line, safe for a tenant.
        detail: For operators: with the last console lines.
        progress_bytes: (done, total) as the agent acknowledged; (0, 0) where nothing moves bytes.
    """

    id: OperationId
    kind: Intent
    steps_name: str
    steps: tuple[str, ...]
    server: ServerName
    epoch: Epoch
    who: str
    status: Status
    opened_at: WallSeconds
    parameters: dict[str, Any]
    allocation: AllocationId | None = None
    ended_at: WallSeconds | None = None
    ending: Ending | None = None
    code: ErrorCode | None = None
    brief: str = ""
    detail: str = ""
    note: str = ""
    progress_bytes: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What earlier runs of one step left behind.

    Attributes:
        begun: Of the first beginning; deadlines count from here.
        again: An earlier run began and its end is not on record.
        result: What the step found, for later steps; {} before it is done.
        beginnings: How often the step began; too often for its limit is given up.
    """

    step: str
    begun: WallSeconds
    again: bool
    done: WallSeconds | None = None
    result: dict[str, Any] = field(default_factory=dict)
    beginnings: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How an operation ends: decided by the step that failed, or by the last one."""

    ending: Ending
    code: ErrorCode | None = None
    brief: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Boot:
    """One network boot of one server for one operation.

    Attributes:
        token_sha256: The token itself is never stored.
        window_opened_at: When the controller confirmed power-on; before it no script is given.
        served_at: When the one script went out; a second request is an alarm.
        seed_sha256: Of the seed this boot may fetch; None before the image is verified, and
            after the agent acknowledged it.
    """

    operation: OperationId
    server: ServerName
    epoch: Epoch
    mac: str
    token_sha256: str
    opened_at: WallSeconds
    window_opened_at: WallSeconds | None = None
    served_at: WallSeconds | None = None
    called_in_at: WallSeconds | None = None
    closed_at: WallSeconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOrder:
    """One order for the agent of a boot; `number` rises over the operation.

    Attributes:
        result: What the agent answered, {} before; never trusted as markup or path.
        ok: None before the agent answered.
    """

    operation: OperationId
    step: str
    number: int
    epoch: Epoch
    kind: str
    parameters: dict[str, Any]
    ok: bool | None = None
    result: dict[str, Any] = field(default_factory=dict)
    error_code: str = ""
    error_text: str = ""
