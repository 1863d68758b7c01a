"""Power as it was read. Kept for an hour; the newest stands in the server."""

from collections.abc import Mapping

import sqlalchemy as sa

from provisioner.servers.model import OVERTAKEN_S, PowerReading
from provisioner.store.codec import plain
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.servers import READING, SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import MonotonicSeconds, ServerName

KEPT_S = 3600.0


class SqlReadings:
    """For whoever must know how far time has come."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def latest(self) -> MonotonicSeconds:
        """The last moment that is stored of any reading or power command."""
        columns = (READING.c.at, SERVER.c.power_at, ALLOCATION.c.commanded_at)
        with self._transactions.read() as connection:
            found = [connection.scalar(sa.select(sa.func.max(column))) for column in columns]
        return MonotonicSeconds(max(each or 0.0 for each in found))


def note_readings(connection: sa.Connection, readings: Mapping[ServerName, PowerReading]) -> None:
    """Note them, and let the newest stand; a reading that was overtaken changes no server.

    One that is older by far was not overtaken: the wall clock was set back (invariant 8).
    """
    noted = [{"server": name} | plain(reading) for name, reading in readings.items()]
    connection.execute(sa.insert(READING), noted)
    changed = {"power": "power", "power_at": "at", "power_source": "source", "power_why": "why"}
    newest = (
        sa.update(SERVER)
        .where(
            SERVER.c.name == sa.bindparam("_server"),
            sa.or_(
                SERVER.c.power_at <= sa.bindparam("_at"),
                SERVER.c.power_at > sa.bindparam("_at") + OVERTAKEN_S,
            ),
        )
        .values({column: sa.bindparam(f"_{name}") for column, name in changed.items()})
    )
    connection.execute(newest, [{f"_{key}": each[key] for key in each} for each in noted])
    oldest = max(reading.at for reading in readings.values()) - KEPT_S
    connection.execute(sa.delete(READING).where(READING.c.at < oldest))
