"""The pieces of a move: each changes rows in the caller's transaction, none begins one."""

from collections.abc import Callable, Collection, Mapping

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.ports.allocations import HandOver
from provisioner.servers.allocation import Allocation, InstanceKey, Phase
from provisioner.servers.model import ServerRecord, State
from provisioner.servers.operation import NewOperation, Status
from provisioner.servers.states import MOVES, Intent, Move
from provisioner.store import rows
from provisioner.store.codec import plain
from provisioner.store.holds import hold
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.boots import SEED
from provisioner.store.tables.catalogue import POOL
from provisioner.store.tables.operations import OPERATION
from provisioner.store.tables.servers import SERVER
from provisioner.units import (
    AllocationId,
    Epoch,
    OperationId,
    PoolName,
    ServerName,
    WallSeconds,
)

Follow = Callable[[ServerRecord], NewOperation]
"""What comes next for a server in its new state; pure, since it runs inside a transaction."""

MOVE_OF: Mapping[Intent, Move] = {intent: move for (_, intent), move in MOVES.items()}
"""Where an operation of a kind runs and ends: the same wherever it began (a test says so)."""
_EPOCH = sa.select(SERVER.c.epoch).where(SERVER.c.name == sa.bindparam("name"))


def take(
    connection: sa.Connection, pool: PoolName, during: State, *, only: ServerName | None = None
) -> ServerName | None:
    """Move the first free server of a pool by name, or that one; one atomic statement."""
    free = _free(pool, frozenset())
    if only is not None:
        free = free.where(SERVER.c.name == only)
    name = connection.scalar(
        sa.update(SERVER)
        .where(SERVER.c.name == free.scalar_subquery(), SERVER.c.state == State.AVAILABLE.value)
        .values(state=during.value, epoch=SERVER.c.epoch + 1, reason="")
        .returning(SERVER.c.name)
    )
    return None if name is None else ServerName(name)


def first_free(
    connection: sa.Connection, pool: PoolName, without: Collection[ServerName]
) -> ServerName | None:
    """The next that `take` may move, if none of these does."""
    name = connection.scalar(_free(pool, without))
    return None if name is None else ServerName(name)


def _free(pool: PoolName, without: Collection[ServerName]) -> sa.Select[str]:
    """AVAILABLE, clean, not in maintenance, and with what the pool requires; first by name."""
    return (
        sa.select(SERVER.c.name)
        .join(POOL, POOL.c.name == SERVER.c.pool)
        .where(
            SERVER.c.pool == pool,
            SERVER.c.state == State.AVAILABLE.value,
            SERVER.c.dirty.is_(False),
            SERVER.c.maintenance.is_(None),
            SERVER.c.cpu_threads >= POOL.c.min_cpu_threads,
            SERVER.c.memory_bytes >= POOL.c.min_memory_bytes,
            SERVER.c.gpus >= POOL.c.min_gpus,
            SERVER.c.name.not_in(without),
        )
        .order_by(SERVER.c.name)
        .limit(1)
        .with_for_update(skip_locked=True, of=SERVER)  # one writer at a time where it is SQLite
    )


def move_server(
    connection: sa.Connection,
    name: ServerName,
    state: State,
    *,
    reason: str,
    **columns: object,
) -> None:
    """Set where a server is, and why."""
    connection.execute(
        sa.update(SERVER)
        .where(SERVER.c.name == name)
        .values(state=state.value, reason=reason, **columns)
    )


def raise_epoch(connection: sa.Connection, name: ServerName) -> Epoch:
    """Fence what runs: a change of owner or of operation."""
    epoch = connection.scalar(
        sa.update(SERVER)
        .where(SERVER.c.name == name)
        .values(epoch=SERVER.c.epoch + 1)
        .returning(SERVER.c.epoch)
    )
    return Epoch(epoch or 0)


def open_operation(
    connection: sa.Connection,
    hand_over: HandOver,
    name: ServerName,
    new: NewOperation,
    *,
    allocation: AllocationId | None,
    now: WallSeconds,
) -> None:
    """Write an operation and hand it over; an older open one of this server is superseded.

    Raises:
        ValueError: Its list names a step twice: effects are keyed by operation and step.
    """
    if len(set(new.steps)) != len(new.steps):
        raise ValueError(f"{new.steps_name} names a step twice")
    end_operations(connection, OPERATION.c.server == name, status=Status.SUPERSEDED, now=now)
    epoch = raise_epoch(connection, name)
    columns = plain(new) | {"status": Status.OPEN.value, "opened_at": now}
    connection.execute(
        sa.insert(OPERATION).values(**columns, server=name, allocation=allocation, epoch=epoch)
    )
    if allocation is not None:
        connection.execute(
            sa.update(ALLOCATION).where(ALLOCATION.c.id == allocation).values(operation=new.id)
        )
    if new.kind is Intent.CLEAN:
        hold(connection, name, new.id)
    hand_over(connection, new.id, name)


def end_operations(
    connection: sa.Connection,
    where: sa.ColumnElement[bool],
    *,
    status: Status,
    now: WallSeconds,
    **columns: object,
) -> None:
    """End the open ones among these; no seed outlives its operation."""
    ended = connection.scalars(
        sa.update(OPERATION)
        .where(where, OPERATION.c.status == Status.OPEN.value)
        .values(status=status.value, ended_at=now, **columns)
        .returning(OPERATION.c.id)
    ).all()
    connection.execute(sa.delete(SEED).where(SEED.c.operation.in_(ended)))


def owned(connection: sa.Connection, operation: OperationId) -> tuple[ServerName, Epoch]:
    """The server of an operation that may still act on it.

    Raises:
        ConflictError: OPERATION_UNKNOWN, SUPERSEDED, CANCELLED.
    """
    record = rows.operation(connection, operation)
    if record.status is Status.CANCELLED:
        raise ConflictError(ErrorCode.CANCELLED, "the operation was cancelled")
    current = connection.scalar(_EPOCH, {"name": record.server})
    if record.status is not Status.OPEN or record.epoch != current:
        raise ConflictError(ErrorCode.SUPERSEDED, "the operation is closed, or has a newer owner")
    return record.server, record.epoch


def end_allocation(
    connection: sa.Connection, identifier: AllocationId, reason: str, *, now: WallSeconds
) -> None:
    """End it for ever."""
    connection.execute(
        sa.update(ALLOCATION)
        .where(ALLOCATION.c.id == identifier, ALLOCATION.c.ended_at.is_(None))
        .values(phase=Phase.ENDED.value, ended_at=now, end_reason=reason)
    )


def living_of(connection: sa.Connection, key: InstanceKey) -> Allocation | None:
    """The one allocation that this instance has."""
    return rows.allocation(connection, rows.living(rows.of_instance(key)))


def living_on(connection: sa.Connection, name: ServerName) -> Allocation | None:
    """The one allocation that has this server."""
    return rows.allocation(connection, rows.living(ALLOCATION.c.server == name))
