"""Port `Turns`: whose wipe may begin, counted in the transaction that lets it begin."""

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.allocation import Allocation, Phase
from provisioner.servers.model import State
from provisioner.servers.operation import Status
from provisioner.servers.turns import HOUR_S, Line, Pace, Turn, Wait, wait_of
from provisioner.store import moves, rows
from provisioner.store.codec import fill
from provisioner.store.holds import HELD, held_on
from provisioner.store.tables.operations import OPERATION, TURN
from provisioner.store.tables.servers import SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import MonotonicSeconds, OperationId, ServerName

_TURN = sa.select(TURN).where(TURN.c.operation == sa.bindparam("operation"))
_OPEN = sa.exists().where(
    OPERATION.c.id == TURN.c.operation, OPERATION.c.status == Status.OPEN.value
)


class SqlTurns:
    """Implements ports.Turns."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def take(self, operation: OperationId, pace: Pace, *, now: MonotonicSeconds) -> Wait | None:
        """Begin the wipe, or say why it must wait; a look that changes nothing writes nothing."""
        with self._transactions.read() as connection:
            moves.owned(connection, operation)
            turn = _turn(connection, operation)
            if turn is None or turn.begun_at is not None:
                return None
            wait = wait_of(turn, _line(connection, turn, pace, now), pace, now=now)
        if wait is not None and turn.waits_for == wait.why:
            return wait
        with self._transactions.write() as connection:
            moves.owned(connection, operation)
            turn = _turn(connection, operation)
            assert turn is not None
            wait = wait_of(turn, _line(connection, turn, pace, now), pace, now=now)
            columns = {
                "asked_at": now if turn.asked_at is None else turn.asked_at,
                "waits_for": wait.why.value if wait else "",
                "begun_at": None if wait else now,
            }
            here = TURN.c.operation == operation
            connection.execute(sa.update(TURN).where(here).values(**columns))
            return wait

    def turn(self, operation: OperationId) -> Turn:
        """Of an open release that has not begun its wipe."""
        with self._transactions.read() as connection:
            return _not_begun(connection, operation)

    def held(self, server: ServerName) -> Allocation | None:
        """Whose disks are held on this server."""
        with self._transactions.read() as connection:
            return held_on(connection, server)

    def let_go(self, operation: OperationId, who: str) -> None:
        """By name, whatever the others do."""
        with self._transactions.write() as connection:
            if not _not_begun(connection, operation).let_go_by:
                here = TURN.c.operation == operation
                connection.execute(sa.update(TURN).where(here).values(let_go_by=who))

    def waiting(self) -> tuple[Turn, ...]:
        """Those that wait now, in their order."""
        query = sa.select(TURN).where(TURN.c.waits_for != "", _OPEN).order_by(TURN.c.number)
        with self._transactions.read() as connection:
            return tuple(fill(Turn, {**row}) for row in connection.execute(query).mappings())


def open_turn(connection: sa.Connection, allocation: Allocation, operation: OperationId) -> None:
    """Beside the release of what a tenant had; as it was before its end.

    One that no tenant ever had ACTIVE, and that is not protected, waits for nobody.
    """
    counted, held = allocation.phase is Phase.ACTIVE, allocation.protection in HELD
    if counted or held:
        connection.execute(
            sa.insert(TURN).values(
                operation=operation,
                server=allocation.server,
                pool=allocation.pool,
                counted=counted,
                held=held,
            )
        )


def _not_begun(connection: sa.Connection, operation: OperationId) -> Turn:
    record, turn = rows.operation(connection, operation), _turn(connection, operation)
    if record.status is not Status.OPEN:
        raise ConflictError(ErrorCode.OPERATION_ENDED, f"the operation is {record.status}")
    if turn is None or turn.begun_at is not None:
        raise ConflictError(ErrorCode.STATE_CONFLICT, "nothing keeps this operation from going on")
    return turn


def _turn(connection: sa.Connection, operation: OperationId) -> Turn | None:
    row = connection.execute(_TURN, {"operation": operation}).mappings().one_or_none()
    return None if row is None else fill(Turn, {**row})


def _line(connection: sa.Connection, turn: Turn, pace: Pace, now: MonotonicSeconds) -> Line:
    number = sa.select(TURN.c.number).where(TURN.c.operation == turn.operation).scalar_subquery()
    same = sa.and_(TURN.c.pool == turn.pool, TURN.c.counted)
    # who is let go begins in a moment, with a place in the hour or without
    in_line = sa.or_(
        sa.not_(TURN.c.held), TURN.c.asked_at + pace.protected_hold_s <= now, TURN.c.let_go_by != ""
    )
    waiting = (TURN.c.begun_at.is_(None), TURN.c.asked_at.is_not(None), TURN.c.number < number)
    return Line(
        servers=_count(
            connection, SERVER.c.pool == turn.pool, SERVER.c.state != State.RETIRED.value
        ),
        begun=_count(connection, same, TURN.c.begun_at > now - HOUR_S),
        before=_count(connection, same, in_line, *waiting, _OPEN),
    )


def _count(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).where(*where)) or 0
