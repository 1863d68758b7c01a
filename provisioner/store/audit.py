"""Port `Audit`: who did what, append-only."""

from dataclasses import asdict
from pathlib import Path

import sqlalchemy as sa

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ports.clock import Clock
from provisioner.ports.journal import AuditEntry
from provisioner.store.codec import fill
from provisioner.store.engine import open_engine, translated
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.operations import OPERATION
from provisioner.store.tables.records import AUDIT
from provisioner.store.transactions import Transactions
from provisioner.units import Seconds, ServerName, WallSeconds

WAIT_S = Seconds(30.0)


def audit_beside(path: Path, entry: AuditEntry) -> None:
    """Note one act of a command on this machine, whether a service runs on the database or not.

    Raises:
        OperatorError: DATABASE_FAILED: there is none.
        TransientError: DATABASE_BUSY, DATABASE_FULL.
    """
    if not path.exists():
        text = f"there is no database {path}: `rackwright init` comes first"
        raise OperatorError(ErrorCode.DATABASE_FAILED, text)
    engine = open_engine(path, busy_timeout=WAIT_S)
    try:
        with translated(), engine.begin() as connection:
            connection.execute(sa.insert(AUDIT).values(**asdict(entry)))
    finally:
        engine.dispose()


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

    def entries(
        self,
        *,
        server: ServerName | None = None,
        since: WallSeconds | None = None,
        most: int = 100,
    ) -> tuple[AuditEntry, ...]:
        """Newest first; of a server with its operations and of whoever had it."""
        query = sa.select(AUDIT).order_by(AUDIT.c.number.desc()).limit(most)
        if since is not None:
            query = query.where(AUDIT.c.at >= since)
        if server is not None:
            operations = sa.select(OPERATION.c.id).where(OPERATION.c.server == server)
            instances = sa.select(ALLOCATION.c.instance).where(ALLOCATION.c.server == server)
            of_it = (AUDIT.c.subject == server, AUDIT.c.subject.in_(operations))
            query = query.where(sa.or_(*of_it, AUDIT.c.subject.in_(instances)))
        with self._transactions.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(fill(AuditEntry, {**row}) for row in found)
