"""Port `Observations`: all that `status` may look at, in one transaction."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter

import sqlalchemy as sa

from provisioner.servers.allocation import Allocation, InstanceKey, Phase, Remembered
from provisioner.servers.model import Power, PowerReading, State
from provisioner.servers.operation import OperationRecord, Status
from provisioner.servers.states import CHANGES, Intent
from provisioner.store import moves, rows
from provisioner.store.tables.allocations import ALLOCATION, TOMBSTONE
from provisioner.store.tables.operations import OPERATION
from provisioner.store.tables.servers import READING, SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import MonotonicSeconds, ServerName, SiteName

FEW = 10
"""So many servers' readings are looked for by server, in a whole hour; those of more by time."""
FAILED = (Status.FAILED.value, Status.CANCELLED.value)
COMMANDS = [each.value for each in (Intent.POWER, *CHANGES)]
"""While one goes on nobody says how the power is."""


class SqlObservations:
    """Implements ports.Observations."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def of_instance(self, key: InstanceKey, since: MonotonicSeconds) -> Remembered | None:
        """None where it was never heard of."""
        with self._transactions.read() as connection:
            found = moves.living_of(connection, key) or rows.allocation(
                connection, rows.of_instance(key)
            )
            return None if found is None else _remembered(connection, [found], since)[0]

    def operations_of(self, key: InstanceKey, most: int) -> tuple[OperationRecord, ...]:
        """What was done for an instance, on whichever server; newest first."""
        query = (
            sa.select(OPERATION)
            .join(ALLOCATION, ALLOCATION.c.id == OPERATION.c.allocation)
            .where(rows.of_instance(key))
            .order_by(OPERATION.c.number.desc())
            .limit(most)
        )
        with self._transactions.read() as connection:
            return tuple(rows.operation_of(row) for row in connection.execute(query).mappings())

    def of_site(self, site: SiteName, since: MonotonicSeconds) -> tuple[Remembered, ...]:
        """All of a site but those that were deleted, by instance."""
        newest = (
            sa.select(sa.func.max(ALLOCATION.c.number))
            .where(ALLOCATION.c.site == site)
            .group_by(ALLOCATION.c.instance)
        )
        buried = sa.select(TOMBSTONE.c.instance).where(TOMBSTONE.c.site == site)
        query = (
            sa.select(ALLOCATION)
            .where(ALLOCATION.c.number.in_(newest), ALLOCATION.c.instance.not_in(buried))
            .order_by(ALLOCATION.c.instance)
        )
        with self._transactions.read() as connection:
            found = [rows.allocation_of(row) for row in connection.execute(query).mappings()]
            return tuple(_remembered(connection, found, since))

    def unfenced(self, site: SiteName) -> tuple[Remembered, ...]:
        """Of a site's deleted instances those whose server was not seen off since."""
        buried = sa.select(TOMBSTONE.c.instance).where(TOMBSTONE.c.site == site)
        query = (
            sa.select(ALLOCATION)
            .where(
                ALLOCATION.c.site == site,
                ALLOCATION.c.instance.in_(buried),
                ALLOCATION.c.ended_at.is_not(None),
                ALLOCATION.c.ever_powered,
                ALLOCATION.c.off_confirmed.is_(False),
            )
            .order_by(ALLOCATION.c.number)
        )
        with self._transactions.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(Remembered(allocation=rows.allocation_of(row)) for row in found)


def _remembered(
    connection: sa.Connection, found: Sequence[Allocation], since: MonotonicSeconds
) -> list[Remembered]:
    servers = {each.server for each in found}
    readings = _readings(connection, servers, since)
    quarantined = _servers(
        connection, SERVER.c.name, SERVER.c.state == State.QUARANTINED.value, servers
    )
    rescue = _servers(connection, SERVER.c.name, SERVER.c.state == State.RESCUE.value, servers)
    command = (OPERATION.c.status == Status.OPEN.value) & OPERATION.c.kind.in_(COMMANDS)
    commanding = _servers(connection, OPERATION.c.server, command, servers)
    failed = _failed(connection, [each for each in found if each.phase is Phase.ENDED])
    return [
        Remembered(
            allocation=each,
            readings=tuple(readings[each.server]),
            quarantined=each.server in quarantined,
            rescue=each.server in rescue and each.phase is Phase.ACTIVE,
            commanding=each.server in commanding,
            failed=each.key.instance in failed,
        )
        for each in found
    ]


def _readings(
    connection: sa.Connection, servers: Collection[ServerName], since: MonotonicSeconds
) -> Mapping[str, list[PowerReading]]:
    """Of each in the order they were noted: the last that is no off, and all offs after it."""
    columns = (READING.c.server, READING.c.power, READING.c.at, READING.c.source, READING.c.why)
    query = sa.select(READING.c.number, *columns).where(READING.c.at > since)
    if len(servers) <= FEW:
        query = query.where(READING.c.server.in_(servers))
    found: defaultdict[str, list[tuple[str, MonotonicSeconds, str, str]]] = defaultdict(list)
    noted = connection.execute(query).all()
    # not by the database: to have them in order it would look at a whole hour
    for _, server, power, at, source, why in sorted(noted, key=itemgetter(0)):
        if power != Power.OFF:
            found[server].clear()
        found[server].append((power, at, source, why))
    return {
        server: [
            PowerReading(power=Power(power), at=at, source=source, why=why)
            for power, at, source, why in found[server]
        ]
        for server in servers
    }


def _servers(
    connection: sa.Connection,
    column: sa.ColumnElement[str],
    where: sa.ColumnElement[bool],
    servers: Iterable[ServerName],
) -> frozenset[str]:
    return frozenset(connection.scalars(sa.select(column).where(where, column.in_(servers))))


def _failed(connection: sa.Connection, ended: Sequence[Allocation]) -> frozenset[str]:
    """Instances whose newest deployment or power command failed."""
    kinds = [Intent.DEPLOY.value, Intent.POWER.value]
    query = (
        sa.select(ALLOCATION.c.instance, OPERATION.c.status)
        .join(ALLOCATION, ALLOCATION.c.id == OPERATION.c.allocation)
        .where(
            ALLOCATION.c.instance.in_([each.key.instance for each in ended]),
            ALLOCATION.c.site.in_({each.key.site for each in ended}),
            OPERATION.c.kind.in_(kinds),
        )
        .order_by(OPERATION.c.number)
    )
    newest: dict[str, str] = {}
    if ended:
        newest.update((row.instance, row.status) for row in connection.execute(query))
    return frozenset(instance for instance, status in newest.items() if status in FAILED)
