"""The whole store over one file: what the composition root makes."""

from contextlib import ExitStack
from pathlib import Path

import sqlalchemy as sa

from provisioner.ports.allocations import HandOver
from provisioner.ports.clock import Clock
from provisioner.ports.keys import Cipher
from provisioner.store.agent_orders import SqlAgentOrders
from provisioner.store.allocations import SqlAllocations
from provisioner.store.audit import SqlAudit
from provisioner.store.boots import SqlBoots
from provisioner.store.call_journal import SqlCallJournal
from provisioner.store.catalogue import SqlCatalogue
from provisioner.store.effects import SqlEffects
from provisioner.store.engine import open_engine, translated
from provisioner.store.evidence_log import Seal, SqlEvidenceLog
from provisioner.store.failure_notes import SqlFailureNotes
from provisioner.store.generation import Generation
from provisioner.store.hosts import SqlHosts
from provisioner.store.lock import InstanceLock
from provisioner.store.observations import SqlObservations
from provisioner.store.operations import SqlOperations
from provisioner.store.readings import SqlReadings
from provisioner.store.registered import SqlRegistered
from provisioner.store.registration_lease import SqlRegistrationLeases
from provisioner.store.schema import bring_up
from provisioner.store.seeds import SqlSeeds
from provisioner.store.servers import SqlServers
from provisioner.store.site_keys import SqlSiteKeys
from provisioner.store.tables.sites import SITE_STATE
from provisioner.store.transactions import Transactions
from provisioner.store.turns import SqlTurns
from provisioner.units import Seconds

BUSY_TIMEOUT = Seconds(30.0)


class Database:
    """Opened, locked for this process, and of this program's schema.

    Attributes:
        engine: For tests and tools; the store's parts are below.
        generation: With `held`: why the service may only look (invariant 16).

    Args:
        path: The file; made where it is missing. Its folder exists.
        marker: What follows the generation; on another file system than the backups.
        cipher: For passwords and seeds.
        seal: Signs and chains evidence.
        clock: For the journal's and the audit's times.
        hand_over: Called in each transaction that opens an operation.
        busy_timeout: How long one call waits for another writer.

    Raises:
        ConflictError: DATABASE_IN_USE.
        OperatorError: DATABASE_FAILED: damaged, or of a newer program.
    """

    def __init__(
        self,
        path: Path,
        *,
        marker: Path,
        cipher: Cipher,
        seal: Seal,
        clock: Clock,
        hand_over: HandOver,
        busy_timeout: Seconds = BUSY_TIMEOUT,
    ) -> None:
        self._lock = InstanceLock(path)
        with ExitStack() as undone:
            undone.callback(self._lock.release)
            self.engine = open_engine(path, busy_timeout=busy_timeout)
            undone.callback(self.engine.dispose)
            bring_up(self.engine)
            self.generation = _generation(self.engine, marker)
            transactions = Transactions(self.engine, self.generation)
            self.servers = SqlServers(transactions, cipher)
            self.readings = SqlReadings(transactions)
            self.observations = SqlObservations(transactions)
            self.allocations = SqlAllocations(transactions, hand_over)
            self.operations = SqlOperations(transactions, hand_over)
            self.effects = SqlEffects(transactions)
            self.turns = SqlTurns(transactions)
            self.boots = SqlBoots(transactions)
            self.orders = SqlAgentOrders(transactions)
            self.seeds = SqlSeeds(transactions, cipher)
            self.evidence = SqlEvidenceLog(transactions, seal)
            self.catalogue = SqlCatalogue(transactions)
            self.registered = SqlRegistered(transactions)
            self.registration_leases = SqlRegistrationLeases(transactions)
            self.calls = SqlCallJournal(transactions, clock)
            self.audit = SqlAudit(transactions, clock)
            self.site_keys = SqlSiteKeys(transactions, cipher)
            self.hosts = SqlHosts(transactions)
            self.failure_notes = SqlFailureNotes(transactions)
            self.seeds.drop_orphans()
            undone.pop_all()

    def close(self) -> None:
        """Close every connection and let another process in."""
        self.engine.dispose()
        self._lock.release()


def _generation(engine: sa.Engine, marker: Path) -> Generation:
    with translated(), engine.connect() as connection:
        row = connection.execute(sa.select(SITE_STATE)).one()
    return Generation(marker, database_id=row.database_id, generation=row.generation)
