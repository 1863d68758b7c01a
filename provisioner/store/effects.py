"""Port `Effects`: what steps did, fenced in the transaction that notes their beginning."""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from provisioner.servers.operation import Effect, Status
from provisioner.store import moves, rows
from provisioner.store.codec import fill, plain
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.operations import ARRIVAL, EFFECT, OPERATION
from provisioner.store.tables.servers import SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId, ServerName, WallSeconds

_EFFECTS = sa.select(EFFECT).where(EFFECT.c.operation == sa.bindparam("operation"))
_IN_ORDER = _EFFECTS.order_by(EFFECT.c.number)
_EFFECT = _EFFECTS.where(EFFECT.c.step == sa.bindparam("step"))
_FINISH = sa.update(EFFECT).where(
    EFFECT.c.operation == sa.bindparam("of"),
    EFFECT.c.step == sa.bindparam("its"),
    EFFECT.c.done.is_(None),
)
_ARRIVALS = (
    sa.select(ARRIVAL.c.operation, ARRIVAL.c.what)
    .join(OPERATION, OPERATION.c.id == ARRIVAL.c.operation)
    .where(OPERATION.c.status == Status.OPEN.value)
)


class SqlEffects:
    """Implements ports.Effects."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def begin(
        self,
        operation: OperationId,
        step: str,
        *,
        now: WallSeconds,
        dirties: bool = False,
        marks: Sequence[str] = (),
    ) -> Effect:
        """Note a beginning; with `dirties` the server is dirty from here on.

        Args:
            operation: Which.
            step: Its name in the stored list.
            now: Deadlines of the step count from its first beginning.
            dirties: The step may power the server on for a tenant: the server becomes dirty
                and the allocation "powered once", in this transaction.
            marks: Fields of the allocation that are true from here on, likewise.

        Raises:
            ConflictError: SUPERSEDED, CANCELLED: a newer owner, or the operation is closed.
        """
        with self._transactions.write() as connection:
            server, epoch = moves.owned(connection, operation)
            old = _effect(connection, operation, step)
            if old is not None and old.done is not None:
                return old
            if dirties:
                _make_dirty(connection, server)
                _mark(connection, server, ever_powered=True)
            if marks:
                _mark(connection, server, **dict.fromkeys(marks, True))
            here = sa.and_(EFFECT.c.operation == operation, EFFECT.c.step == step)
            if old is None:
                first = {"operation": operation, "step": step, "epoch": epoch, "begun": now}
                connection.execute(sa.insert(EFFECT), first | {"result": {}, "beginnings": 1})
                return Effect(step=step, begun=now, again=False)
            connection.execute(
                sa.update(EFFECT).where(here).values(beginnings=EFFECT.c.beginnings + 1)
            )
            return Effect(step=step, begun=old.begun, again=True, beginnings=old.beginnings + 1)

    def finish(
        self, operation: OperationId, step: str, result: Mapping[str, Any], *, now: WallSeconds
    ) -> None:
        """Note the end, with what later steps need; a second time changes nothing.

        It is noted for a superseded operation too: the act did end.
        """
        ended = {"of": operation, "its": step, "done": now, "result": plain(result)}
        with self._transactions.write() as connection:
            connection.execute(_FINISH, ended)

    def effects(self, operation: OperationId) -> tuple[Effect, ...]:
        """In the order of their beginning."""
        with self._transactions.read() as connection:
            found = connection.execute(_IN_ORDER, {"operation": operation}).mappings()
            return tuple(_of_row(row) for row in found)

    def arrived(self, operation: OperationId, what: str) -> None:
        """Record something that was waited for; a second time changes nothing."""
        here = sa.and_(ARRIVAL.c.operation == operation, ARRIVAL.c.what == what)
        with self._transactions.write() as connection:
            rows.operation(connection, operation)
            if connection.scalar(sa.select(ARRIVAL.c.what).where(here)) is None:
                connection.execute(sa.insert(ARRIVAL).values(operation=operation, what=what))

    def arrivals(self) -> frozenset[tuple[OperationId, str]]:
        """Of all open operations, in one query."""
        with self._transactions.read() as connection:
            found = connection.execute(_ARRIVALS)
            return frozenset((OperationId(row[0]), row[1]) for row in found)


def _make_dirty(connection: sa.Connection, server: ServerName) -> None:
    connection.execute(sa.update(SERVER).where(SERVER.c.name == server).values(dirty=True))


def _mark(connection: sa.Connection, server: ServerName, **columns: bool) -> None:
    here = rows.living(ALLOCATION.c.server == server)
    connection.execute(sa.update(ALLOCATION).where(here).values(**columns))


def _effect(connection: sa.Connection, operation: OperationId, step: str) -> Effect | None:
    found = connection.execute(_EFFECT, {"operation": operation, "step": step})
    row = found.mappings().one_or_none()
    return None if row is None else _of_row(row)


def _of_row(row: rows.Row) -> Effect:
    return fill(Effect, {**row, "again": row["done"] is None})
