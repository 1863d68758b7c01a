"""Port `Hosts`: GPU hosts, each with its newest facts and the bundle that they are from."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.hardware.unknown import known
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.model import HostRecord
from provisioner.servers.identity import one_spelling
from provisioner.store.codec import fill, plain
from provisioner.store.tables.hosts import HOST
from provisioner.store.transactions import Transactions
from provisioner.units import HostName, WallSeconds

_RECORD: Final = [each for each in HOST.c if each.name not in {"bundle", "machine_uuid"}]


class SqlHosts:
    """Implements ports.Hosts."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def host(self, name: HostName) -> HostRecord:
        """One of them."""
        query = sa.select(*_RECORD).where(HOST.c.name == name)
        with self._transactions.read() as connection:
            row = connection.execute(query).mappings().one_or_none()
        if row is None:
            raise _unknown(name)
        return _record({**row})

    def hosts(self) -> tuple[HostRecord, ...]:
        """All, by name."""
        query = sa.select(*_RECORD).order_by(HOST.c.name)
        with self._transactions.read() as connection:
            rows = connection.execute(query).mappings().all()
        return tuple(_record({**row}) for row in rows)

    def add(self, record: HostRecord, bundle: bytes) -> None:
        """Remember a new one."""
        place = record.controller
        columns = {
            "name": record.name,
            "access": plain(record.access),
            "controller_host": place.host.lower() if place else None,
            "controller_port": place.port if place else None,
            "cloudstack": plain(record.cloudstack),
            "enrolled_at": record.enrolled_at,
            "enrolled_by": record.enrolled_by,
            **_observed(record.facts, bundle, record.inspected_at),
        }
        with self._transactions.write() as connection, _taken(record.name):
            connection.execute(sa.insert(HOST).values(**columns))

    def observe(self, name: HostName, facts: HostFacts, bundle: bytes, *, now: WallSeconds) -> None:
        """Newer facts, and the texts that they are from."""
        change = sa.update(HOST).where(HOST.c.name == name)
        with self._transactions.write() as connection, _taken(name):
            changed = connection.execute(change.values(**_observed(facts, bundle, now)))
            if not changed.rowcount:
                raise _unknown(name)

    def bundle(self, name: HostName) -> bytes:
        """The texts of the newest facts."""
        query = sa.select(HOST.c.bundle).where(HOST.c.name == name)
        with self._transactions.read() as connection:
            found: bytes | None = connection.scalar(query)
        if found is None:
            raise _unknown(name)
        return found


def _observed(facts: HostFacts, bundle: bytes, now: WallSeconds) -> dict[str, Any]:
    """Columns that follow the facts; what a text does not say takes no identity away."""
    columns: dict[str, Any] = {
        "inspected_at": now,
        "facts": json.dumps(plain(facts), sort_keys=True),
        "bundle": bundle,
    }
    uuid = known(facts.machine.system_uuid)
    if uuid is not None:
        columns |= {"system_uuid": uuid, "machine_uuid": one_spelling(uuid)}
    return columns


def _record(row: dict[str, Any]) -> HostRecord:
    controller: Mapping[str, Any] | None = None
    if row["controller_host"] is not None:
        controller = {"host": row["controller_host"], "port": row["controller_port"]}
    tree = row | {"controller": controller, "facts": json.loads(row["facts"])}
    return fill(HostRecord, tree)


def _unknown(name: HostName) -> InputError:
    return InputError(ErrorCode.HOST_UNKNOWN, f"there is no GPU host {name}")


@contextmanager
def _taken(name: HostName) -> Iterator[None]:
    """A broken unique index or guard is an answer here: some machine already has this."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        if "UNIQUE" not in str(error.orig):
            raise
        text = f"host {name}: its name, system uuid or controller belongs to another machine"
        raise ConflictError(ErrorCode.HOST_EXISTS, text) from error
