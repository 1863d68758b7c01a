"""Port `RegistrationLeases`: a row a site."""

from dataclasses import replace

import sqlalchemy as sa

from provisioner.ports.registration_lease import RegistrationLease
from provisioner.store.codec import fill
from provisioner.store.tables.sites import REGISTRATION_LEASE
from provisioner.store.transactions import Transactions
from provisioner.units import SiteName

_TABLE = REGISTRATION_LEASE


class SqlRegistrationLeases:
    """Implements ports.RegistrationLeases."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def take(self, asked: RegistrationLease) -> RegistrationLease:
        """In one transaction, so that of two who come together one is second."""
        with self._transactions.write() as connection:
            query = sa.select(_TABLE).where(_TABLE.c.site == asked.site)
            row = connection.execute(query).mappings().one_or_none()
            there = fill(RegistrationLease, {**row}) if row else None
            if there is not None and there.bars(asked.holder, asked.since):
                return there
            same = there is not None and there.holder == asked.holder
            taken = replace(asked, since=there.since) if there is not None and same else asked
            connection.execute(sa.delete(_TABLE).where(_TABLE.c.site == asked.site))
            connection.execute(sa.insert(_TABLE).values(**_columns(taken)))
            return taken

    def give_back(self, site: SiteName, holder: str) -> None:
        """It is held no more."""
        held = (_TABLE.c.site == site, _TABLE.c.holder == holder)
        with self._transactions.write() as connection:
            connection.execute(sa.delete(_TABLE).where(*held))


def _columns(lease: RegistrationLease) -> dict[str, object]:
    return {column.name: getattr(lease, column.name) for column in _TABLE.columns}
