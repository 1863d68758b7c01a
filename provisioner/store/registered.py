"""Port `Registered`: what sites hold for us."""

from collections.abc import Mapping

import sqlalchemy as sa

from provisioner.errors import ErrorCode, InputError
from provisioner.ports.registered import RegisteredRow
from provisioner.store.codec import fill
from provisioner.store.tables.sites import REGISTERED, SITE_STATE
from provisioner.store.transactions import Transactions
from provisioner.units import SiteName, WallSeconds


class SqlRegistered:
    """Implements ports.Registered."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def database_id(self) -> str:
        """Of this database, once and for ever."""
        with self._transactions.read() as connection:
            return str(connection.scalar(sa.select(SITE_STATE.c.database_id)))

    def rows(self, site: SiteName) -> tuple[RegisteredRow, ...]:
        """All of a site, retired ones too, oldest first."""
        query = sa.select(REGISTERED).where(REGISTERED.c.site == site).order_by(REGISTERED.c.number)
        with self._transactions.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(fill(RegisteredRow, {**row}) for row in found)

    def begin(
        self, site: SiteName, kind: str, name: str, facts: Mapping[str, str], *, now: WallSeconds
    ) -> RegisteredRow:
        """Note that it is being made; one that never got its id goes on being made."""
        named = (REGISTERED.c.site == site, REGISTERED.c.kind == kind, REGISTERED.c.name == name)
        columns = {"facts": dict(facts), "at": now}
        with self._transactions.write() as connection:
            older = sa.update(REGISTERED).where(*named, REGISTERED.c.outside_id.is_not(None))
            connection.execute(older.where(~REGISTERED.c.retired).values(retired=True, at=now))
            again = sa.update(REGISTERED).where(*named, REGISTERED.c.outside_id.is_(None))
            if not connection.execute(again.values(**columns)).rowcount:
                new = {"site": site, "kind": kind, "name": name, **columns}
                connection.execute(sa.insert(REGISTERED).values(**new))
            number = connection.scalar(
                sa.select(REGISTERED.c.number).where(*named, REGISTERED.c.outside_id.is_(None))
            )
            return _row(connection, number or 0)

    def settle(
        self,
        number: int,
        outside_id: str,
        facts: Mapping[str, str],
        *,
        retired: bool,
        now: WallSeconds,
    ) -> RegisteredRow:
        """It is there, under this id."""
        here = sa.update(REGISTERED).where(REGISTERED.c.number == number)
        columns = {"outside_id": outside_id, "facts": dict(facts), "retired": retired, "at": now}
        with self._transactions.write() as connection:
            connection.execute(here.values(**columns))
            return _row(connection, number)

    def forget(self, number: int) -> None:
        """It is no more."""
        with self._transactions.write() as connection:
            connection.execute(sa.delete(REGISTERED).where(REGISTERED.c.number == number))


def _row(connection: sa.Connection, number: int) -> RegisteredRow:
    query = sa.select(REGISTERED).where(REGISTERED.c.number == number)
    found = connection.execute(query).mappings().one_or_none()
    if found is None:
        raise InputError(ErrorCode.REGISTRATION_ROW, f"nothing is registered under {number}")
    return fill(RegisteredRow, {**found})
