"""Port `Operations`: opened and closed with the server's move, in one transaction."""

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.ports.allocations import HandOver
from provisioner.ports.operations import FollowUp
from provisioner.servers.changes import is_asked_again, left_by, refuse_presuming
from provisioner.servers.model import ServerRecord, State
from provisioner.servers.operation import NewOperation, OperationRecord, Outcome, Status
from provisioner.servers.quarantine_reason import said_anew, with_doubt, without_doubt
from provisioner.servers.states import CHANGES, FOLLOWS, Ending, Intent, next_move
from provisioner.store import moves, rows
from provisioner.store.codec import plain
from provisioner.store.moves import MOVE_OF, Follow
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.operations import EFFECT, OPERATION
from provisioner.store.transactions import Transactions
from provisioner.units import AllocationId, OperationId, ServerName, WallSeconds

OPENED_HERE = frozenset(
    {
        Intent.VERIFY,
        Intent.INSPECT,
        Intent.REBASELINE,
        Intent.CLEAN,
        Intent.POWER,
        *CHANGES,
        Intent.RELEASE,
        Intent.QUARANTINE,
        Intent.RETIRE,
    }
)
"""The other kinds begin or end an allocation, or have no operation."""
WITH_OWNER = frozenset({Intent.POWER, Intent.QUARANTINE, *CHANGES})
"""Kinds that may be opened while an allocation of the server lives."""
IN_USE = frozenset({State.ACTIVE, State.RESCUE})


class SqlOperations:
    """Implements ports.Operations."""

    def __init__(self, transactions: Transactions, hand_over: HandOver) -> None:
        self._transactions = transactions
        self._hand_over = hand_over

    def operation(self, operation: OperationId) -> OperationRecord:
        """One of them."""
        with self._transactions.read() as connection:
            return rows.operation(connection, operation)

    def operations(
        self, *, open_only: bool = False, server: ServerName | None = None, most: int = 100
    ) -> tuple[OperationRecord, ...]:
        """Newest first."""
        query = sa.select(OPERATION).order_by(OPERATION.c.number.desc()).limit(most)
        if open_only:
            query = query.where(OPERATION.c.status == Status.OPEN.value)
        if server is not None:
            query = query.where(OPERATION.c.server == server)
        with self._transactions.read() as connection:
            return tuple(rows.operation_of(row) for row in connection.execute(query).mappings())

    def open(
        self,
        server: ServerName,
        operation: NewOperation,
        *,
        now: WallSeconds,
        of: AllocationId | None = None,
        alone: bool = False,
    ) -> OperationRecord:
        """Move the server and open its operation; an older open one is superseded.

        Where the server already is in the running state of this kind, the open operation of
        the same kind is answered, or a new one opened if it was lost. The same command of a
        tenant that runs already is answered too: who asks twice gets it once.

        Args:
            server: Whose.
            operation: New.
            now: For the records.
            of: The allocation that it is asked for. The server may have another by now.
            alone: Nothing else may go on; what does is not superseded.

        Raises:
            ConflictError: STATE_CONFLICT: no such move, nothing to do, or still allocated.
                INSTANCE_ENDED: it is not the server's allocation any more.
                INSTANCE_BUSY: it was to be alone and is not; or presumes what is not so.
            ValueError: A kind that is not opened here.
        """
        if operation.kind not in OPENED_HERE:
            raise ValueError(f"{operation.kind} is not opened alone")
        with self._transactions.write() as connection:
            record = rows.server(connection, server)
            allocation = moves.living_on(connection, server)
            if of is not None and (allocation is None or allocation.id != of):
                raise ConflictError(ErrorCode.INSTANCE_ENDED, "its server was given back")
            if allocation is not None and operation.kind not in WITH_OWNER:
                raise ConflictError(
                    ErrorCode.STATE_CONFLICT,
                    f"{server} is allocated to instance {allocation.key.instance}",
                )
            running = rows.open_operation(connection, server)
            if running is not None:
                if is_asked_again(running, operation, plain(operation.parameters)):
                    return running
                _refuse_beside(running, alone=alone)
            refuse_presuming(operation, allocation)
            move = next_move(record.state, operation.kind)
            if move is not None:
                reason = str(operation.parameters.get("reason", ""))
                moves.move_server(connection, server, move.during, reason=reason)
            else:
                if running is not None and running.kind is operation.kind:
                    return running
                _expect_running_state(record, operation.kind)
                _say_anew(connection, record, operation)
            moves.open_operation(
                connection,
                self._hand_over,
                server,
                operation,
                allocation=allocation.id if allocation else None,
                now=now,
            )
            return rows.operation(connection, operation.id)

    def close(
        self,
        operation: OperationId,
        outcome: Outcome,
        follow: Follow | None,
        *,
        now: WallSeconds,
    ) -> None:
        """End an open operation with its server's move and what follows; closed stays closed.

        An ending that the records do not bear out (a wipe that is done and left no evidence, a
        wrong request that made the server dirty) is refused by the guards: IntegrityError, a
        defect of the caller.

        Args:
            operation: Which.
            outcome: What the failed or the last step decided.
            follow: Makes the operation that states.FOLLOWS names; pure.
            now: For the records.

        Raises:
            ValueError: `follow` is missing or makes another kind than FOLLOWS says.
        """
        with self._transactions.write() as connection:
            record = rows.operation(connection, operation)
            if record.status is not Status.OPEN:
                return
            done = outcome.ending is Ending.DONE
            status = Status.DONE if done else Status.FAILED
            columns = {"ending": outcome.ending.value}
            self._end(connection, record, outcome, follow, status=status, now=now, **columns)

    def note(self, operation: OperationId, text: str, progress_bytes: tuple[int, int]) -> None:
        """Progress, as the agent acknowledged it; of a closed one nothing is noted any more."""
        done, total = progress_bytes
        here = sa.and_(OPERATION.c.id == operation, OPERATION.c.status == Status.OPEN.value)
        columns = {"note": text, "progress_done": done, "progress_total": total}
        with self._transactions.write() as connection:
            connection.execute(sa.update(OPERATION).where(here).values(**columns))

    def cancel(
        self,
        operation: OperationId,
        who: str,
        follow: FollowUp,
        *,
        now: WallSeconds,
    ) -> None:
        """Close as cancelled: once a step has begun like a fault of the machine, else of the input.

        What runs sees it before its next step; what follows begins after its act has ended.

        Raises:
            ConflictError: OPERATION_ENDED.
            ValueError: As `close`.
        """
        with self._transactions.write() as connection:
            record = rows.operation(connection, operation)
            if record.status is not Status.OPEN:
                raise ConflictError(
                    ErrorCode.OPERATION_ENDED, f"the operation is {record.status} already"
                )
            begun = sa.select(EFFECT.c.step).where(EFFECT.c.operation == operation).limit(1)
            touched = connection.scalar(begun) is not None
            outcome = Outcome(
                ending=Ending.MACHINE if touched else Ending.INPUT,
                code=ErrorCode.CANCELLED,
                brief=f"cancelled by {who}",
            )
            self._end(
                connection,
                record,
                outcome,
                follow(record, outcome),
                status=Status.CANCELLED,
                now=now,
            )

    def _end(
        self,
        connection: sa.Connection,
        record: OperationRecord,
        outcome: Outcome,
        follow: Follow | None,
        *,
        status: Status,
        now: WallSeconds,
        ending: str | None = None,
    ) -> None:
        """The operation's row, its allocation, its server, and what follows."""
        code = outcome.code.value if outcome.code else None
        columns = {"code": code, "brief": outcome.brief, "detail": outcome.detail}
        _move(connection, record, outcome, now=now)
        here = OPERATION.c.id == record.id
        moves.end_operations(connection, here, status=status, now=now, ending=ending, **columns)
        server = rows.server(connection, record.server)
        kind = FOLLOWS.get((record.kind, outcome.ending))
        if kind is None or server.state is not MOVE_OF[kind].during:
            return
        new = follow(server) if follow else None
        if new is None or new.kind is not kind:
            raise ValueError(f"{kind} must follow {record.kind} that ended with {outcome.ending}")
        moves.open_operation(
            connection, self._hand_over, server.name, new, allocation=record.allocation, now=now
        )


def _refuse_beside(running: OperationRecord, *, alone: bool) -> None:
    if alone:
        text = f"another operation goes on: {running.id}"
        raise ConflictError(ErrorCode.INSTANCE_BUSY, text)


def _say_anew(connection: sa.Connection, record: ServerRecord, operation: NewOperation) -> None:
    """Who quarantines once more says why; nobody else's reason changes."""
    if new := str(operation.parameters.get("reason", "")):
        reason = said_anew(record.reason, new)
        moves.move_server(connection, record.name, record.state, reason=reason)


def _expect_running_state(record: ServerRecord, kind: Intent) -> None:
    if record.state is not MOVE_OF[kind].during:
        raise ConflictError(
            ErrorCode.STATE_CONFLICT, f"nothing to do: {record.name} is {record.state}"
        )


def _move(
    connection: sa.Connection, record: OperationRecord, outcome: Outcome, *, now: WallSeconds
) -> None:
    move = MOVE_OF[record.kind]
    if rows.server(connection, record.server).state is not move.during:
        return
    done = outcome.ending is Ending.DONE
    if record.kind is Intent.DEPLOY and record.allocation is not None and not done:
        reason = f"{outcome.code or outcome.ending}: {outcome.brief}"
        moves.end_allocation(connection, record.allocation, reason, now=now)
        moves.raise_epoch(connection, record.server)
    end = move.ends[outcome.ending]
    reason = "" if done else outcome.brief
    if record.kind is Intent.QUARANTINE:  # why it is there stays
        why = rows.server(connection, record.server).reason
        code = outcome.code or outcome.ending
        reason = without_doubt(why) if done else with_doubt(why, code, outcome.brief)
    # whatever the steps said: a server that a tenant runs on is dirty
    columns = {"dirty": True} if end in IN_USE else {}
    moves.move_server(connection, record.server, end, reason=reason, **columns)
    if left := left_by(record, outcome.ending):
        here = rows.living(ALLOCATION.c.id == record.allocation)
        connection.execute(sa.update(ALLOCATION).where(here).values(**plain(left)))
