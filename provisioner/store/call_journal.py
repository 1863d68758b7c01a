"""Port `CallJournal`: every call to a controller or port, in order, and reading it back."""

import sqlalchemy as sa

from provisioner.ports.clock import Clock
from provisioner.ports.journal import Call
from provisioner.servers.operation import Status
from provisioner.store.codec import fill
from provisioner.store.tables import CALL, OPERATION
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId, ServerName, WallSeconds


class SqlCallJournal:
    """Implements ports.CallJournal and ports.CallHistory."""

    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def call(self, server: ServerName, door: str, text: str, outcome: str) -> None:
        """Note one call; it belongs to the operation that is open on this server, if one is."""
        running = sa.and_(OPERATION.c.server == server, OPERATION.c.status == Status.OPEN.value)
        columns = {
            "at": self._clock.wall(),
            "server": server,
            "operation": sa.select(OPERATION.c.id).where(running).scalar_subquery(),
            "door": door,
            "text": text,
            "outcome": outcome,
        }
        with self._transactions.write() as connection:
            connection.execute(sa.insert(CALL).values(**columns))

    def calls(
        self,
        *,
        server: ServerName | None = None,
        operation: OperationId | None = None,
        since: WallSeconds | None = None,
        most: int = 1000,
    ) -> tuple[Call, ...]:
        """Of a server, or of an operation, the newest so many; oldest first."""
        query = sa.select(CALL).order_by(CALL.c.number.desc()).limit(most)
        if since is not None:
            query = query.where(CALL.c.at >= since)
        if server is not None:
            query = query.where(CALL.c.server == server)
        if operation is not None:
            query = query.where(CALL.c.operation == operation)
        with self._transactions.read() as connection:
            found = [fill(Call, {**row}) for row in connection.execute(query).mappings()]
        return tuple(reversed(found))
