"""Port `EvidenceLog`: the signed chain, and the one place that clears `dirty`."""

from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from provisioner.servers.operation import OperationRecord
from provisioner.store import moves, rows
from provisioner.store.codec import plain
from provisioner.store.tables.records import EVIDENCE
from provisioner.store.tables.servers import SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId, ServerName

Seal = Callable[[Mapping[str, Any], str | None, int], Mapping[str, Any]]
"""Document, hash of the record before (None: none) and sequence (from 1) -> signed record.

The record's key `hash` names it, and stands in the next one: evidence/chain.py `link`.
"""


class SqlEvidenceLog:
    """Implements ports.EvidenceLog."""

    def __init__(self, transactions: Transactions, seal: Seal) -> None:
        self._transactions = transactions
        self._seal = seal

    def append_and_clean(self, operation: OperationId, document: Mapping[str, Any]) -> str:
        """Sign, chain and store; clear `dirty` in the same transaction; answers the record's id.

        A second time for the same operation answers the first one's id: the step was repeated.

        Raises:
            ConflictError: SUPERSEDED, CANCELLED: the operation does not own the server any more.
        """
        with self._transactions.write() as connection:
            moves.owned(connection, operation)
            stored = connection.scalar(
                sa.select(EVIDENCE.c.hash).where(EVIDENCE.c.operation == operation)
            )
            if stored is not None:
                return str(stored)
            record = rows.operation(connection, operation)
            identifier = self._append(connection, record, document)
            connection.execute(
                sa.update(SERVER)
                .where(SERVER.c.name == record.server)
                .values(dirty=False, evidence=identifier, rebaselines=[])
            )
            return identifier

    def _append(
        self, connection: sa.Connection, record: OperationRecord, document: Mapping[str, Any]
    ) -> str:
        newest = sa.select(EVIDENCE.c.sequence, EVIDENCE.c.hash)
        head = connection.execute(
            newest.order_by(EVIDENCE.c.sequence.desc()).limit(1)
        ).one_or_none()
        sequence, previous = (head.sequence + 1, head.hash) if head else (1, None)
        sealed = plain(self._seal(plain(document), previous, sequence))
        connection.execute(
            sa.insert(EVIDENCE).values(
                sequence=sequence,
                hash=sealed["hash"],
                previous=previous or "",
                server=record.server,
                operation=record.id,
                epoch=record.epoch,
                record=sealed,
            )
        )
        return str(sealed["hash"])

    def records(self) -> tuple[Mapping[str, Any], ...]:
        """All, oldest first."""
        query = sa.select(EVIDENCE.c.record).order_by(EVIDENCE.c.sequence)
        with self._transactions.read() as connection:
            return tuple(connection.scalars(query))

    def newest_of(self, server: ServerName) -> Mapping[str, Any] | None:
        """The last record of this server."""
        query = (
            sa.select(EVIDENCE.c.record)
            .where(EVIDENCE.c.server == server)
            .order_by(EVIDENCE.c.sequence.desc())
            .limit(1)
        )
        with self._transactions.read() as connection:
            record: Mapping[str, Any] | None = connection.scalar(query)
            return record
