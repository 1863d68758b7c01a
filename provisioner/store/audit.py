"""Port `Audit`: what operators did, append-only."""

import sqlalchemy as sa

from provisioner.ports.clock import Clock
from provisioner.ports.journal import AuditEntry
from provisioner.store.codec import fill
from provisioner.store.tables import AUDIT
from provisioner.store.transactions import Transactions


class SqlAudit:
    """Implements ports.Audit."""

    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def audit(self, who: str, act: str, subject: str, detail: str = "") -> None:
        """Note one act."""
        columns = {"at": self._clock.wall(), "who": who, "act": act, "subject": subject}
        with self._transactions.write() as connection:
            connection.execute(sa.insert(AUDIT).values(**columns, detail=detail))

    def entries(self, *, most: int = 100) -> tuple[AuditEntry, ...]:
        """Newest first."""
        query = sa.select(AUDIT).order_by(AUDIT.c.number.desc()).limit(most)
        with self._transactions.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(fill(AuditEntry, {**row}) for row in found)
