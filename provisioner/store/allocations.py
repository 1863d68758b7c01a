"""Port `Allocations`: who has what. Each method that changes something is one transaction."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from provisioner.errors import (
    ConflictError,
    ErrorCode,
)
from provisioner.ports.allocations import HandOver, WhyUnfit, fits_always
from provisioner.servers.adoption import refuse_adoption
from provisioner.servers.allocation import (
    Allocation,
    Failure,
    InstanceKey,
    InstanceRequest,
    Phase,
    Protection,
)
from provisioner.servers.model import Power, State
from provisioner.servers.operation import NewOperation, Status
from provisioner.servers.states import MOVES, Intent, next_move
from provisioner.store import moves, rows
from provisioner.store.allocation_rows import asked_of, begin, bury, change, is_buried
from provisioner.store.choice import take_fitting
from provisioner.store.codec import plain
from provisioner.store.holds import last_tenant
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.operations import OPERATION
from provisioner.store.transactions import Transactions
from provisioner.store.turns import open_turn
from provisioner.units import (
    AllocationId,
    ImageName,
    MonotonicSeconds,
    ServerName,
    WallSeconds,
)

MARKS = frozenset(
    {
        "wanted",
        "name",
        "host",
        "owner",
        "networks",
        "reserved_until",
        "known_to_caller",
        "first_boot_asked",
        "commanded_at",
        "stop_grace_until",
        "off_confirmed",
        "needs_reseed",
        "protection",
        "truth",
    }
)
"""What `mark` may set; all else only moves change."""


class SqlAllocations:
    """Implements ports.Allocations."""

    def __init__(self, transactions: Transactions, hand_over: HandOver) -> None:
        self._transactions = transactions
        self._hand_over = hand_over

    def allocation(self, key: InstanceKey) -> Allocation | None:
        """The living one, else the newest ended one."""
        with self._transactions.read() as connection:
            return moves.living_of(connection, key) or rows.allocation(
                connection, rows.of_instance(key)
            )

    def is_deleted(self, key: InstanceKey) -> bool:
        """It has a tombstone: nothing of it begins any more."""
        with self._transactions.read() as connection:
            return is_buried(connection, key)

    def by_id(self, allocation: AllocationId) -> Allocation:
        """Living or ended.

        Raises:
            ConflictError: INSTANCE_UNKNOWN.
        """
        with self._transactions.read() as connection:
            found = rows.allocation_by_id(connection, allocation)
        if found is None:
            raise _unknown(allocation)
        return found

    def last_tenant(self, server: ServerName) -> Allocation | None:
        """Of a dirty server: the newest ended one that may have left data there."""
        with self._transactions.read() as connection:
            return last_tenant(connection, server)

    def living(self) -> tuple[Allocation, ...]:
        """All that have not ended, oldest first."""
        query = sa.select(ALLOCATION).where(rows.living()).order_by(ALLOCATION.c.number)
        with self._transactions.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(rows.allocation_of(row) for row in found)

    def reserve(
        self,
        request: InstanceRequest,
        *,
        until: MonotonicSeconds,
        now: WallSeconds,
        why_unfit: WhyUnfit = fits_always,
    ) -> Allocation:
        """The first free server of the pool by name that fits, or the one already kept.

        Raises:
            TransientError: NO_CAPACITY: none is free that fits.
            InputError: No server of the pool fits: the code and the line say why.
        """
        with self._transactions.write(hands_out=True) as connection:
            kept = _kept(connection, request, now=now)
            if kept is not None and kept.phase is Phase.RESERVED:
                kept = _unless_unfit(connection, kept, why_unfit, now=now)
            if kept is None:
                during = MOVES[(State.AVAILABLE, Intent.RESERVE)].during
                server = take_fitting(connection, request, during, why_unfit)
                kept = begin(connection, request, server, Phase.RESERVED, now=now)
            if kept.phase is Phase.RESERVED:
                columns = {"reserved_until": until, **asked_of(request)}
                kept = change(connection, kept.id, columns)
            return kept

    def allocate_and_open(
        self,
        request: InstanceRequest,
        image: ImageName,
        operation: NewOperation,
        *,
        now: WallSeconds,
        on: ServerName | None = None,
    ) -> Allocation:
        """Take over the reservation, or reserve, and open the deployment.

        Args:
            request: As the verb read it.
            image: Of the pool's map.
            operation: The deployment; its id is the allocation's `operation` where it was opened.
            now: For the records.
            on: The server that the operation was prepared for.

        Raises:
            ConflictError: INSTANCE_BUSY: it would be another server than `on`.
        """
        with self._transactions.write(hands_out=True) as connection:
            kept = _kept(connection, request, now=now)
            if kept is not None and kept.phase is not Phase.RESERVED:
                return kept
            if kept is None:
                during = MOVES[(State.AVAILABLE, Intent.DEPLOY)].during
                server = take_fitting(connection, request, during)
                kept = begin(connection, request, server, Phase.DEPLOYING, now=now)
            else:
                during = MOVES[(State.RESERVED, Intent.DEPLOY)].during
                moves.move_server(connection, kept.server, during, reason="")
            if on not in {None, kept.server}:
                raise ConflictError(ErrorCode.INSTANCE_BUSY, "its reservation has just changed")
            columns = {
                "phase": Phase.DEPLOYING,
                "wanted": Power.ON,
                "image": image,
                "reserved_until": None,
                "stop_grace_until": None,
                **asked_of(request),
            }
            change(connection, kept.id, columns)
            moves.open_operation(
                connection, self._hand_over, kept.server, operation, allocation=kept.id, now=now
            )
            return change(connection, kept.id, {"operation": operation.id})

    def adopt(
        self, key: InstanceKey, server: ServerName, who: str, *, now: WallSeconds
    ) -> Allocation:
        """Dirty, then the instance's, then ACTIVE; one transaction, no hardware."""
        with self._transactions.write(hands_out=True) as connection:
            record, living = rows.server(connection, server), moves.living_of(connection, key)
            refuse_adoption(
                record,
                key,
                busy=rows.open_operation(connection, server) is not None,
                has=living.server if living else None,
                deleted=is_buried(connection, key),
            )
            moves.move_server(connection, server, record.state, reason="", dirty=True)
            request = InstanceRequest(key=key, name="", who=who, pool=record.pool)
            kept = begin(connection, request, server, Phase.ACTIVE, now=now)
            during = MOVES[(State.ENROLLED, Intent.ADOPT)].during
            moves.move_server(connection, server, during, reason="", found_on=False)
            moves.raise_epoch(connection, server)
            # installed by whoever ran it before; CloudStack has the instance, without a start
            known = dict.fromkeys(("ever_powered", "first_boot_asked", "known_to_caller"), True)
            return change(connection, kept.id, known)

    def end_and_open(
        self,
        key: InstanceKey,
        reason: str,
        operation: NewOperation | None,
        *,
        tombstone: bool,
        now: WallSeconds,
        still: Callable[[Allocation], bool] | None = None,
        protection: Protection = Protection.NOT_ASKED,
    ) -> Allocation | None:
        """End the living allocation and open its server's release.

        Args:
            key: Whose.
            reason: For the records.
            operation: The release; None where only an unused reservation is to end.
            tombstone: Refuse this instance from now on.
            now: For the records.
            still: Asked in the transaction: False leaves everything as it is. For timers, since
                a `create` may arrive at the same moment.
            protection: As it was asked for this end; NOT_ASKED: as it is remembered.

        Returns:
            The allocation, ended; None where none lived.

        Raises:
            ConflictError: INSTANCE_BUSY: a release is needed and no operation was given.
        """
        with self._transactions.write() as connection:
            if tombstone:
                bury(connection, key, now=now)
            allocation = moves.living_of(connection, key)
            if allocation is None or (still is not None and not still(allocation)):
                return None
            if protection is not Protection.NOT_ASKED:
                allocation = change(connection, allocation.id, {"protection": protection})
            moves.end_allocation(connection, allocation.id, reason, now=now)
            if not _free(connection, allocation):
                if operation is None:
                    raise ConflictError(ErrorCode.INSTANCE_BUSY, "the instance is in use")
                self._release(connection, allocation, operation, now=now)
            return rows.allocation(connection, ALLOCATION.c.id == allocation.id)

    def _release(
        self,
        connection: sa.Connection,
        allocation: Allocation,
        operation: NewOperation,
        *,
        now: WallSeconds,
    ) -> None:
        move = next_move(rows.server(connection, allocation.server).state, Intent.RELEASE)
        if move is not None:
            moves.move_server(connection, allocation.server, move.during, reason="")
        moves.open_operation(
            connection,
            self._hand_over,
            allocation.server,
            operation,
            allocation=allocation.id,
            now=now,
        )
        open_turn(connection, allocation, operation.id)

    def mark(self, allocation: AllocationId, **fields: Any) -> None:  # noqa: ANN401 fields of Allocation
        """Set named fields; the allocation may have ended.

        Raises:
            ConflictError: INSTANCE_UNKNOWN.
            ValueError: A field that only moves change.
        """
        if wrong := fields.keys() - MARKS:
            raise ValueError(f"only moves change {', '.join(sorted(wrong))}")
        if not fields:
            return
        marked = sa.update(ALLOCATION).where(ALLOCATION.c.id == allocation)
        with self._transactions.write() as connection:
            if not connection.execute(marked.values(**plain(fields))).rowcount:
                raise _unknown(allocation)

    def confirm_off(self, server: ServerName) -> None:
        """Off was seen since its allocations have ended: it is so for all of them."""
        ended = sa.and_(
            ALLOCATION.c.server == server,
            ALLOCATION.c.ended_at.is_not(None),
            ALLOCATION.c.off_confirmed.is_(False),
        )
        with self._transactions.write() as connection:
            connection.execute(sa.update(ALLOCATION).where(ended).values(off_confirmed=True))

    def failure(self, key: InstanceKey) -> Failure | None:
        """How its last deployment or power operation failed; None where it did not."""
        query = (
            sa.select(OPERATION)
            .join(ALLOCATION, ALLOCATION.c.id == OPERATION.c.allocation)
            .where(
                rows.of_instance(key),
                OPERATION.c.kind.in_([Intent.DEPLOY.value, Intent.POWER.value]),
            )
            .order_by(OPERATION.c.number.desc())
            .limit(1)
        )
        with self._transactions.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None or row["status"] not in {Status.FAILED.value, Status.CANCELLED.value}:
            return None
        code = ErrorCode(row["code"] or ErrorCode.INTERNAL)
        return Failure(code=code, brief=row["brief"], at=WallSeconds(row["ended_at"]))


def _unknown(allocation: AllocationId) -> ConflictError:
    return ConflictError(ErrorCode.INSTANCE_UNKNOWN, f"there is no allocation {allocation}")


def _kept(
    connection: sa.Connection, request: InstanceRequest, *, now: WallSeconds
) -> Allocation | None:
    """The living allocation, unless it is a reservation that is of no use any more.

    Raises:
        ConflictError: INSTANCE_DELETED.
    """
    key = request.key
    if is_buried(connection, key):
        raise ConflictError(ErrorCode.INSTANCE_DELETED, f"instance {key.instance} was deleted")
    kept = moves.living_of(connection, key)
    if kept is None or kept.phase is not Phase.RESERVED:
        return kept
    state = rows.server(connection, kept.server).state
    if state is State.RESERVED and request.pool in {None, kept.pool}:
        return kept
    moves.end_allocation(connection, kept.id, f"its server is {state}", now=now)
    _free(connection, kept)
    return None


def _unless_unfit(
    connection: sa.Connection, kept: Allocation, why_unfit: WhyUnfit, *, now: WallSeconds
) -> Allocation | None:
    """A reservation that was made for less (without an image, with fewer networks) ends."""
    why = why_unfit(rows.server(connection, kept.server))
    if why is None:
        return kept
    moves.end_allocation(connection, kept.id, why.brief, now=now)
    _free(connection, kept)
    return None


def _free(connection: sa.Connection, ended: Allocation) -> bool:
    """Free the server of an allocation that has just ended; False where it needs a release."""
    record = rows.server(connection, ended.server)
    if record.state is State.QUARANTINED:
        # it stays so; what fences it goes on and must not lose its epoch
        if rows.open_operation(connection, record.name) is None:
            moves.raise_epoch(connection, record.name)
        return True
    if record.state is not State.RESERVED or ended.ever_powered or record.dirty:
        return False
    free = MOVES[(State.RESERVED, Intent.UNRESERVE)].during
    moves.move_server(connection, record.name, free, reason="")
    moves.raise_epoch(connection, record.name)
    return True
