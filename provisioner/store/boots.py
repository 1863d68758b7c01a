"""Port `Boots`: network boots and their one-time tokens."""

from typing import Any

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.operation import Boot, Status
from provisioner.store import moves
from provisioner.store.codec import fill, plain
from provisioner.store.tables.boots import BOOT
from provisioner.store.tables.operations import OPERATION
from provisioner.store.tables.servers import SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import OperationId, WallSeconds

CHANGES = frozenset({"window_opened_at", "called_in_at", "closed_at"})
"""What `change_boot` may set; the rest is written once, or by `hand_out` alone."""


def _running(where: sa.ColumnElement[bool]) -> sa.Select[tuple[int]]:
    """Boots that are open, of an operation that is open and owns its server."""
    return (
        sa.select(BOOT.c.number)
        .join(OPERATION, OPERATION.c.id == BOOT.c.operation)
        .join(SERVER, SERVER.c.name == BOOT.c.server)
        .where(
            where,
            BOOT.c.closed_at.is_(None),
            OPERATION.c.status == Status.OPEN.value,
            OPERATION.c.epoch == SERVER.c.epoch,
        )
    )


# asked for with every request of an agent
_OF_MAC = sa.select(BOOT).where(BOOT.c.number.in_(_running(BOOT.c.mac == sa.bindparam("what"))))
_OF_TOKEN = sa.select(BOOT).where(
    BOOT.c.number.in_(_running(BOOT.c.token_sha256 == sa.bindparam("what")))
)


class SqlBoots:
    """Implements ports.Boots."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def open_boot(self, boot: Boot) -> None:
        """Remember a boot; an older one of the same server is closed.

        Raises:
            ConflictError: SUPERSEDED: its operation does not own the server any more.
        """
        with self._transactions.write() as connection:
            moves.owned(connection, boot.operation)
            older = sa.and_(BOOT.c.server == boot.server, BOOT.c.closed_at.is_(None))
            connection.execute(sa.update(BOOT).where(older).values(closed_at=boot.opened_at))
            connection.execute(sa.insert(BOOT).values(**plain(boot)))

    def change_boot(self, operation: OperationId, **fields: Any) -> None:  # noqa: ANN401 fields of Boot
        """Set named fields of the newest boot of this operation.

        Raises:
            ConflictError: OPERATION_UNKNOWN: it has no boot.
            ValueError: A field that is written once.
        """
        if wrong := fields.keys() - CHANGES:
            raise ValueError(f"written once: {', '.join(sorted(wrong))}")
        newest = sa.select(sa.func.max(BOOT.c.number)).where(BOOT.c.operation == operation)
        change = sa.update(BOOT).where(BOOT.c.number == newest.scalar_subquery())
        with self._transactions.write() as connection:
            if not connection.execute(change.values(**plain(fields))).rowcount:
                raise ConflictError(ErrorCode.OPERATION_UNKNOWN, f"{operation} has no boot")

    def boot_of_mac(self, mac: str) -> Boot | None:
        """The open boot of this MAC, while its operation is open."""
        return self._open(_OF_MAC, mac)

    def boot_of_token(self, token_sha256: str) -> Boot | None:
        """The open boot of this token, while its operation is open."""
        return self._open(_OF_TOKEN, token_sha256) if token_sha256 else None

    def hand_out(self, mac: str, token_sha256: str, *, now: WallSeconds) -> bool:
        """Take the one script of this boot, atomically; False: no window, or already taken.

        A boot that was opened without a token gets this one; otherwise it must be the same.
        """
        take = (
            sa.update(BOOT)
            .where(
                BOOT.c.mac == mac,
                BOOT.c.token_sha256.in_(["", token_sha256]),
                BOOT.c.window_opened_at.is_not(None),
                BOOT.c.served_at.is_(None),
                BOOT.c.number.in_(_running(BOOT.c.mac == mac)),
            )
            .values(served_at=now, token_sha256=token_sha256)
        )
        with self._transactions.write() as connection:
            return connection.execute(take).rowcount == 1

    def _open(self, query: sa.Select[Any], what: str) -> Boot | None:
        with self._transactions.read() as connection:
            row = connection.execute(query, {"what": what}).mappings().one_or_none()
        return None if row is None else fill(Boot, {**row})
