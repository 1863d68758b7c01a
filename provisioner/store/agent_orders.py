"""Port `AgentOrders`: orders for agents, numbered within an operation, and their results."""

from typing import Any

import sqlalchemy as sa

from provisioner.servers.operation import AgentOrder, Status
from provisioner.store.codec import fill, plain
from provisioner.store.tables.boots import AGENT_ORDER
from provisioner.store.tables.operations import OPERATION
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId

_OF = sa.select(AGENT_ORDER).where(AGENT_ORDER.c.operation == sa.bindparam("operation"))
_OF_STEP = _OF.where(AGENT_ORDER.c.step == sa.bindparam("step"))
_NEXT = (
    _OF.where(
        AGENT_ORDER.c.number > sa.bindparam("after"),
        AGENT_ORDER.c.ok.is_(None),
        AGENT_ORDER.c.operation.in_(
            sa.select(OPERATION.c.id).where(OPERATION.c.status == Status.OPEN.value)
        ),
    )
    .order_by(AGENT_ORDER.c.number)
    .limit(1)
)


class SqlAgentOrders:
    """Implements ports.AgentOrders."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def put_order(self, order: AgentOrder) -> AgentOrder:
        """Remember it under the next number; the same (operation, step) gives the stored one."""
        last = sa.select(sa.func.coalesce(sa.func.max(AGENT_ORDER.c.number), 0))
        with self._transactions.write() as connection:
            stored = _one(connection, _OF_STEP, operation=order.operation, step=order.step)
            if stored is not None:
                return stored
            of_this = last.where(AGENT_ORDER.c.operation == order.operation)
            number = (connection.scalar(of_this) or 0) + 1
            columns = plain(order) | {"number": number}
            connection.execute(sa.insert(AGENT_ORDER).values(**columns))
            return fill(AgentOrder, columns)

    def next_order(self, operation: OperationId, after: int) -> AgentOrder | None:
        """The first unanswered order behind this number; none of a closed operation."""
        with self._transactions.read() as connection:
            return _one(connection, _NEXT, operation=operation, after=after)

    def answer_order(self, order: AgentOrder) -> bool:
        """Store ok, result and error of this number, once; False when it was answered already."""
        answer = (
            sa.update(AGENT_ORDER)
            .where(
                AGENT_ORDER.c.operation == order.operation,
                AGENT_ORDER.c.number == order.number,
                AGENT_ORDER.c.ok.is_(None),
            )
            .values(
                ok=order.ok,
                result=plain(order.result),
                error_code=order.error_code,
                error_text=order.error_text,
            )
        )
        with self._transactions.write() as connection:
            return connection.execute(answer).rowcount == 1

    def order(self, operation: OperationId, step: str) -> AgentOrder | None:
        """With its result, if there is one."""
        with self._transactions.read() as connection:
            return _one(connection, _OF_STEP, operation=operation, step=step)


def _one(connection: sa.Connection, query: sa.Select[Any], **wanted: object) -> AgentOrder | None:
    row = connection.execute(query, wanted).mappings().one_or_none()
    return None if row is None else fill(AgentOrder, {**row})
