"""Port `Seeds`: a tenant's seed, encrypted until it is handed out, then gone."""

import hashlib

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.ports.keys import Cipher
from provisioner.servers.operation import Status
from provisioner.store.tables.boots import SEED
from provisioner.store.tables.operations import OPERATION
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId


class SqlSeeds:
    """Implements ports.Seeds. A seed is also deleted with the end of its operation."""

    def __init__(self, transactions: Transactions, cipher: Cipher) -> None:
        self._transactions = transactions
        self._cipher = cipher

    def put_seed(self, operation: OperationId, image: bytes) -> str:
        """Encrypt and keep, in place of an older one; answers its SHA-256.

        Raises:
            ConflictError: OPERATION_ENDED: nobody would ask for it, or delete it.
        """
        sealed = self._cipher.seal(image, purpose=_purpose(operation))
        ended = sa.and_(OPERATION.c.id == operation, OPERATION.c.status != Status.OPEN.value)
        with self._transactions.write() as connection:
            if connection.scalar(sa.select(OPERATION.c.id).where(ended)) is not None:
                raise ConflictError(ErrorCode.OPERATION_ENDED, "the operation has ended")
            connection.execute(sa.delete(SEED).where(SEED.c.operation == operation))
            connection.execute(sa.insert(SEED).values(operation=operation, sealed=sealed))
        return hashlib.sha256(image).hexdigest()

    def seed(self, operation: OperationId) -> bytes | None:
        """Decrypted; None once it was acknowledged."""
        query = sa.select(SEED.c.sealed).where(SEED.c.operation == operation)
        with self._transactions.read() as connection:
            sealed = connection.scalar(query)
        return None if sealed is None else self._cipher.open(sealed, purpose=_purpose(operation))

    def drop_seed(self, operation: OperationId) -> None:
        """Delete it; safe to repeat."""
        with self._transactions.write() as connection:
            connection.execute(sa.delete(SEED).where(SEED.c.operation == operation))

    def drop_orphans(self) -> None:
        """Delete those whose operation has ended or was never opened; called at each start."""
        running = sa.select(OPERATION.c.id).where(OPERATION.c.status == Status.OPEN.value)
        with self._transactions.write() as connection:
            connection.execute(sa.delete(SEED).where(SEED.c.operation.not_in(running)))


def _purpose(operation: OperationId) -> str:
    return f"seed {operation}"
