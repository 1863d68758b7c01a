"""Port `Servers`: servers as remembered. Their state, dirty and epoch only moves change."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.ports.keys import Cipher
from provisioner.secret import Secret
from provisioner.servers.model import PowerReading, ServerRecord, State
from provisioner.store import rows
from provisioner.store.codec import plain
from provisioner.store.readings import note_readings
from provisioner.store.tables.servers import NIC, SERVER
from provisioner.store.transactions import Transactions
from provisioner.units import ServerName

PLAIN_FIELDS = frozenset(
    {
        "pool",
        "firmware",
        "root_disk",
        "driver",
        "restore_policy",
        "kernel_arguments",
        "console",
        "excluded_disks",
        "expected",
        "maintenance",
        "health",
        "reason",
        "found_on",
        "baseline_at",
        "hidden_media",
        "rebaselines",
    }
)
"""Fields that are a column of the same name."""


class SqlServers:
    """Implements ports.Servers."""

    def __init__(self, transactions: Transactions, cipher: Cipher) -> None:
        self._transactions = transactions
        self._cipher = cipher

    def server(self, name: ServerName) -> ServerRecord:
        """One of them."""
        with self._transactions.read() as connection:
            return rows.server(connection, name)

    def servers(self) -> tuple[ServerRecord, ...]:
        """All, by name."""
        with self._transactions.read() as connection:
            return rows.servers(connection)

    def enrol(self, record: ServerRecord, password: Secret) -> None:
        """Remember a new one; a machine that was retired continues its history, dirty.

        Raises:
            ConflictError: SERVER_EXISTS: name, controller address, system uuid or MAC is taken,
                or the name was another machine's.
            ValueError: The record's state is not ENROLLED.
        """
        if record.state is not State.ENROLLED:
            raise ValueError("a new server is ENROLLED")
        columns = _columns(record) | {"password": self._sealed(record.name, password)}
        with self._transactions.write() as connection:
            known = _known_before(connection, record)
            columns["dirty"] = record.dirty or bool(known)
            with _taken(record.name):
                if record.name in known:
                    _again(connection, record.name, columns)
                else:
                    connection.execute(sa.insert(SERVER).values(**columns))
                cards = rows.nic_rows(record.name, record.nics, living=True)
                connection.execute(sa.insert(NIC), cards)

    def change(self, name: ServerName, **fields: Any) -> None:  # noqa: ANN401 fields of ServerRecord
        """Set named fields, or the password; never state, dirty, epoch or power.

        Raises:
            ConflictError: SERVER_UNKNOWN; SERVER_EXISTS: the new address, uuid or MAC is taken.
            ValueError: A field that only moves or readings change.
        """
        columns = {key: plain(fields[key]) for key in fields.keys() & PLAIN_FIELDS}
        if "controller" in fields:
            columns |= rows.controller_columns(fields["controller"])
        if "identity" in fields:
            columns |= rows.identity_columns(fields["identity"])
        if "baseline" in fields:
            columns |= rows.baseline_columns(fields["baseline"])
        if "password" in fields:
            columns["password"] = self._sealed(name, fields["password"])
        others = {"controller", "identity", "baseline", "nics", "password"}
        if wrong := fields.keys() - PLAIN_FIELDS - others:
            raise ValueError(f"only moves and readings change {', '.join(sorted(wrong))}")
        with self._transactions.write() as connection:
            state = rows.server(connection, name).state
            with _taken(name):
                if columns:
                    connection.execute(
                        sa.update(SERVER).where(SERVER.c.name == name).values(**columns)
                    )
                if "nics" in fields:
                    connection.execute(sa.delete(NIC).where(NIC.c.server == name))
                    cards = rows.nic_rows(name, fields["nics"], living=state is not State.RETIRED)
                    connection.execute(sa.insert(NIC), cards)
            _dirty_if_known(connection, name)

    def password(self, name: ServerName) -> Secret:
        """Decrypted; for the door to the controller only."""
        query = sa.select(SERVER.c.password).where(SERVER.c.name == name)
        with self._transactions.read() as connection:
            sealed = connection.scalar(query)
        if sealed is None:
            raise ConflictError(ErrorCode.SERVER_UNKNOWN, f"there is no server {name}")
        return Secret(self._cipher.open(sealed, purpose=_purpose(name)).decode())

    def note_readings(self, readings: Mapping[ServerName, PowerReading]) -> None:
        """All of one cycle in one transaction."""
        if readings:
            with self._transactions.write() as connection:
                note_readings(connection, readings)

    def _sealed(self, name: ServerName, password: Secret) -> str:
        return self._cipher.seal(password.reveal().encode(), purpose=_purpose(name))


def _purpose(name: ServerName) -> str:
    return f"controller of {name}"


def _columns(record: ServerRecord) -> dict[str, Any]:
    """A whole new row, but for the password."""
    power = plain(record.power)
    return {
        "name": record.name,
        "state": record.state.value,
        "epoch": record.epoch,
        "power": power["power"],
        "power_at": power["at"],
        "power_source": power["source"],
        "power_why": power["why"],
        **{each: plain(getattr(record, each)) for each in PLAIN_FIELDS},
        **rows.controller_columns(record.controller),
        **rows.identity_columns(record.identity),
        **rows.baseline_columns(record.baseline),
    }


def _again(connection: sa.Connection, name: ServerName, columns: dict[str, Any]) -> None:
    """A retired machine under its old name: the row goes on, its epoch with it."""
    connection.execute(sa.delete(NIC).where(NIC.c.server == name))
    columns = columns | {"epoch": SERVER.c.epoch + 1, "evidence": None}
    del columns["rebaselines"]  # what went away un-wiped is still to be said
    connection.execute(sa.update(SERVER).where(SERVER.c.name == name).values(**columns))


def _known_before(connection: sa.Connection, record: ServerRecord) -> frozenset[ServerName]:
    """Retired servers that were this machine.

    Raises:
        ConflictError: SERVER_EXISTS: the name is in use, or was another machine's.
    """
    columns = _columns(record)
    uuids = [each for each in (columns["system_uuid"], columns["board_uuid"]) if each]
    known = _retired(connection, uuids, [nic.mac for nic in record.nics])
    state = connection.scalar(sa.select(SERVER.c.state).where(SERVER.c.name == record.name))
    if state is not None and record.name not in known:
        raise _exists(record.name, "the name is taken")
    return known


def _retired(
    connection: sa.Connection, uuids: Sequence[str], macs: Sequence[str]
) -> frozenset[ServerName]:
    same_card = sa.select(NIC.c.server).where(NIC.c.mac.in_(macs))
    query = sa.select(SERVER.c.name).where(
        SERVER.c.state == State.RETIRED.value,
        sa.or_(
            SERVER.c.system_uuid.in_(uuids),
            SERVER.c.board_uuid.in_(uuids),
            SERVER.c.name.in_(same_card),
        ),
    )
    return frozenset(ServerName(name) for name in connection.scalars(query))


def _dirty_if_known(connection: sa.Connection, name: ServerName) -> None:
    """A machine whose identity turns out to be a retired one's is dirty, whatever its name."""
    record = rows.server(connection, name)
    if record.dirty or record.state not in {State.ENROLLED, State.VERIFYING, State.INSPECTING}:
        return
    columns = rows.identity_columns(record.identity) | rows.baseline_columns(record.baseline)
    uuids = [each for each in (columns["system_uuid"], columns["board_uuid"]) if each]
    if _retired(connection, uuids, [nic.mac for nic in record.nics]):
        connection.execute(sa.update(SERVER).where(SERVER.c.name == name).values(dirty=True))


@contextmanager
def _taken(name: ServerName) -> Iterator[None]:
    """A broken unique index is an answer here: some machine already has this."""
    try:
        yield
    except sa.exc.IntegrityError as error:
        if "UNIQUE" not in str(error.orig):
            raise
        raise _exists(name, "its controller address, uuid or a MAC belongs to another") from error


def _exists(name: ServerName, why: str) -> ConflictError:
    return ConflictError(ErrorCode.SERVER_EXISTS, f"server {name}: {why}")
