"""Port `CallJournal`: every call to a controller or port, in order, and reading it back."""

import sqlalchemy as sa

from provisioner.ports.clock import Clock
from provisioner.ports.journal import Call
from provisioner.servers.operation import Status
from provisioner.store.codec import fill
from provisioner.store.tables.operations import OPERATION
from provisioner.store.tables.records import CALL
from provisioner.store.transactions import Transactions
from provisioner.store.triggers.once import YOUNG_FROM
from provisioner.units import OperationId, ServerName, WallSeconds

AT_ONCE = 1000


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

    def forget(self, before: WallSeconds) -> int:
        """Delete what is older than this moment, but for the last week; how many."""
        count = 0
        while True:
            with self._transactions.write() as connection:
                gone = _delete_oldest(connection, before)
            count += gone
            if gone < AT_ONCE:
                return count

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


def _delete_oldest(connection: sa.Connection, before: WallSeconds) -> int:
    """Some of them; young ones have a guard of their own."""
    young = connection.scalar(sa.select(sa.literal_column(YOUNG_FROM)))
    if young is None:
        return 0
    oldest = sa.select(CALL.c.number, CALL.c.at).order_by(CALL.c.number).limit(AT_ONCE).subquery()
    old = sa.select(oldest.c.number).where(oldest.c.at < min(before, young))
    return connection.execute(sa.delete(CALL).where(CALL.c.number.in_(old))).rowcount
