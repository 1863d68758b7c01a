"""Port `AgentOrders`: orders for agents, numbered within an operation, and their results."""

import sqlalchemy as sa

from provisioner.servers.operation import AgentOrder, Status
from provisioner.store.codec import fill, plain
from provisioner.store.tables import AGENT_ORDER, OPERATION
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId


class SqlAgentOrders:
    """Implements ports.AgentOrders."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def put_order(self, order: AgentOrder) -> AgentOrder:
        """Remember it under the next number; the same (operation, step) gives the stored one."""
        last = sa.select(sa.func.coalesce(sa.func.max(AGENT_ORDER.c.number), 0))
        with self._transactions.write() as connection:
            stored = _one(connection, order.operation, AGENT_ORDER.c.step == order.step)
            if stored is not None:
                return stored
            of_this = last.where(AGENT_ORDER.c.operation == order.operation)
            number = (connection.scalar(of_this) or 0) + 1
            columns = plain(order) | {"number": number}
            connection.execute(sa.insert(AGENT_ORDER).values(**columns))
            return fill(AgentOrder, columns)

    def next_order(self, operation: OperationId, after: int) -> AgentOrder | None:
        """The first unanswered order behind this number; none of a closed operation."""
        running = sa.select(OPERATION.c.id).where(OPERATION.c.status == Status.OPEN.value)
        where = sa.and_(
            AGENT_ORDER.c.number > after,
            AGENT_ORDER.c.ok.is_(None),
            AGENT_ORDER.c.operation.in_(running),
        )
        with self._transactions.read() as connection:
            return _one(connection, operation, where)

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
            return _one(connection, operation, AGENT_ORDER.c.step == step)


def _one(
    connection: sa.Connection, operation: OperationId, where: sa.ColumnElement[bool]
) -> AgentOrder | None:
    query = (
        sa.select(AGENT_ORDER)
        .where(AGENT_ORDER.c.operation == operation, where)
        .order_by(AGENT_ORDER.c.number)
        .limit(1)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else fill(AgentOrder, {**row})
