"""Port `FailureNotes`: of each failed operation, whether its instance's owner was told."""

from collections.abc import Mapping

import sqlalchemy as sa

from provisioner.errors import ErrorCode
from provisioner.ports.failure_notes import FailureNote
from provisioner.servers.operation import Status
from provisioner.servers.states import CHANGES, Intent
from provisioner.store.tables.allocations import ALLOCATION, FAILURE_NOTE, TOMBSTONE
from provisioner.store.tables.operations import OPERATION
from provisioner.store.transactions import Transactions
from provisioner.units import InstanceId, OperationId, SiteName, WallSeconds

KINDS = tuple(each.value for each in (Intent.DEPLOY, Intent.POWER, *CHANGES))
CUT_OFF = "cut-off/%"
"""Lists that clear up behind a failure: they explain none, and their end is no success."""
_LATER, _HIS = OPERATION.alias("later"), ALLOCATION.alias("his")
_AFTER = sa.and_(
    _HIS.c.id == _LATER.c.allocation,
    _HIS.c.site == ALLOCATION.c.site,
    _HIS.c.instance == ALLOCATION.c.instance,
    _LATER.c.kind.in_(KINDS),
    _LATER.c.steps_name.not_like(CUT_OFF),
    _LATER.c.number > OPERATION.c.number,
)
_BURIED = sa.exists().where(
    TOMBSTONE.c.site == ALLOCATION.c.site, TOMBSTONE.c.instance == ALLOCATION.c.instance
)


class SqlFailureNotes:
    """Implements ports.FailureNotes."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def due(self, site: SiteName, since: WallSeconds) -> tuple[FailureNote, ...]:
        """Failed since then, the newest of its instance, which is not deleted; without a note."""
        noted = sa.exists().where(FAILURE_NOTE.c.operation == OPERATION.c.id)
        query = (
            sa.select(OPERATION.c.id, ALLOCATION.c.instance, OPERATION.c.code)
            .join(ALLOCATION, ALLOCATION.c.id == OPERATION.c.allocation)
            .where(
                ALLOCATION.c.site == site,
                OPERATION.c.kind.in_(KINDS),
                OPERATION.c.steps_name.not_like(CUT_OFF),
                OPERATION.c.status == Status.FAILED.value,
                OPERATION.c.ended_at > since,
                ~noted,
                ~_BURIED,
                ~sa.exists().where(_AFTER),
            )
            .order_by(OPERATION.c.number)
        )
        with self._transactions.read() as connection:
            return tuple(
                FailureNote(
                    operation=OperationId(operation),
                    instance=InstanceId(instance),
                    code=ErrorCode(code or ErrorCode.INTERNAL),
                )
                for operation, instance, code in connection.execute(query)
            )

    def over(self, site: SiteName) -> tuple[FailureNote, ...]:
        """Notes that were left and whose instance had a success since, or is deleted."""
        succeeded = sa.exists().where(_AFTER, _LATER.c.status == Status.DONE.value)
        query = (
            sa.select(
                OPERATION.c.id, ALLOCATION.c.instance, OPERATION.c.code, FAILURE_NOTE.c.outside_id
            )
            .join(ALLOCATION, ALLOCATION.c.id == OPERATION.c.allocation)
            .join(FAILURE_NOTE, FAILURE_NOTE.c.operation == OPERATION.c.id)
            .where(
                ALLOCATION.c.site == site,
                FAILURE_NOTE.c.taken_back_at.is_(None),
                sa.or_(succeeded, _BURIED),
            )
            .order_by(OPERATION.c.number)
        )
        with self._transactions.read() as connection:
            return tuple(
                FailureNote(
                    operation=OperationId(operation),
                    instance=InstanceId(instance),
                    code=ErrorCode(code or ErrorCode.INTERNAL),
                    outside_id=outside_id,
                )
                for operation, instance, code, outside_id in connection.execute(query)
            )

    def left(self, operation: OperationId, outside_id: str, *, now: WallSeconds) -> None:
        """A note was left under this id."""
        columns = {"operation": operation, "outside_id": outside_id, "left_at": now}
        self._keep(columns)

    def given_up(self, operation: OperationId, *, now: WallSeconds) -> None:
        """None was left, and none will be: a row that begins where it ends."""
        columns = {"operation": operation, "outside_id": "", "left_at": now, "taken_back_at": now}
        self._keep(columns)

    def taken_back(self, operation: OperationId, *, now: WallSeconds) -> None:
        """It is gone."""
        here = FAILURE_NOTE.c.operation == operation
        with self._transactions.write() as connection:
            connection.execute(sa.update(FAILURE_NOTE).where(here).values(taken_back_at=now))

    def _keep(self, columns: Mapping[str, object]) -> None:
        with self._transactions.write() as connection:
            connection.execute(sa.insert(FAILURE_NOTE).values(**columns))
