"""When the wipe of a given-back server may begin: its pool's pace, and protected instances. Pure.

A release fences at once; what follows waits here. A mistaken delete of many leaves so much time
to notice it, and a protected instance's disks stay as they are for some days, also where the
release ended in quarantine and somebody provides the server anew.
"""

from dataclasses import dataclass
from enum import StrEnum

from provisioner.units import MonotonicSeconds, OperationId, PoolName, ServerName, WallSeconds

HOUR_S = 3600.0
LEAST_AN_HOUR = 4
"""Of a small pool too: a handful of instances given back at once is everyday life."""
PARTS = 10
"""A tenth of the pool, where nothing else is said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How fast what tenants had may be wiped.

    Attributes:
        at_most_per_hour: Wipes that begin in any hour, of each pool; None: a tenth of its
            servers, at least four.
        protected_hold_s: For so long a protected instance's disks stay as they are.
    """

    at_most_per_hour: int | None = None
    protected_hold_s: float = 7 * 86400.0

    def held_until(self, ended_at: WallSeconds) -> WallSeconds:
        """The end of a hold, for people."""
        return WallSeconds(ended_at + self.protected_hold_s)

    def most(self, servers: int) -> int:
        """For a pool of so many servers."""
        if self.at_most_per_hour is not None:
            return self.at_most_per_hour
        return max(LEAST_AN_HOUR, servers // PARTS)


class Why(StrEnum):
    """What a release waits for."""

    PROTECTED = "protected"
    PACE = "pace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What the store keeps of a release, or of a later wipe, that may have to wait.

    Attributes:
        counted: A tenant had it ACTIVE: its wipe counts in the pool's hour, and waits for it.
        held: The instance was protected when it was deleted, or nobody could say.
        asked_at: When its wipe was about to begin; None before. Of a wipe after a release that
            ended in quarantine: when the instance ended.
        waits_for: As it was last looked at; "" where it does not wait.
        let_go_by: Who let it go on by name; "" where nobody has.
        begun_at: From here on its wipe may begin; None before.
    """

    operation: OperationId
    server: ServerName
    pool: PoolName
    counted: bool
    held: bool
    asked_at: MonotonicSeconds | None = None
    waits_for: str = ""
    let_go_by: str = ""
    begun_at: MonotonicSeconds | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """Who else there is in the same pool.

    Attributes:
        servers: Of the pool, but for retired ones.
        begun: Counted wipes that began within the last hour.
        before: Counted releases that have waited for longer, and only for the pace.
    """

    servers: int
    begun: int
    before: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Why a wipe does not begin yet.

    Attributes:
        until: Of a protected one; the pace says no time, since others may be let go.
        most: Wipes an hour, where it is the pace.
    """

    why: Why
    until: MonotonicSeconds | None = None
    most: int = 0


def wait_of(turn: Turn, line: Line, pace: Pace, *, now: MonotonicSeconds) -> Wait | None:
    """Why this one must wait; None: its wipe begins now."""
    if turn.let_go_by:
        return None
    asked_at = now if turn.asked_at is None else turn.asked_at
    until = MonotonicSeconds(asked_at + pace.protected_hold_s)
    if turn.held and now < until:
        return Wait(why=Why.PROTECTED, until=until)
    most = pace.most(line.servers)
    if turn.counted and line.begun + line.before >= most:
        return Wait(why=Why.PACE, most=most)
    return None
