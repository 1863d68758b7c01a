"""Rows of the database as values of ours, and back."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.hardware.inventory import Inventory
from provisioner.servers.allocation import Allocation, InstanceKey
from provisioner.servers.identity import one_spelling
from provisioner.servers.model import ControllerAddress, ControllerIdentity, Nic, ServerRecord
from provisioner.servers.operation import OperationRecord, Status
from provisioner.store.codec import fill, plain
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.operations import OPERATION
from provisioner.store.tables.servers import NIC, SERVER
from provisioner.units import AllocationId, OperationId, ServerName

Row = Mapping[Any, Any]

# what each step reads; to build a statement costs more than to run it
_SERVER = sa.select(SERVER).where(SERVER.c.name == sa.bindparam("name"))
_NICS = sa.select(NIC).where(NIC.c.server == sa.bindparam("name")).order_by(NIC.c.position)
_ALLOCATION = sa.select(ALLOCATION).where(ALLOCATION.c.id == sa.bindparam("id"))
_OPERATION = sa.select(OPERATION).where(OPERATION.c.id == sa.bindparam("id"))


# --- servers --------------------------------------------------------------------------------
def server(connection: sa.Connection, name: ServerName) -> ServerRecord:
    """One server as it is in this transaction.

    Raises:
        ConflictError: SERVER_UNKNOWN.
    """
    row = connection.execute(_SERVER, {"name": name}).mappings().one_or_none()
    if row is None:
        raise ConflictError(ErrorCode.SERVER_UNKNOWN, f"there is no server {name}")
    cards = connection.execute(_NICS, {"name": name}).mappings()
    return _server({**row}, [{**each} for each in cards])


def servers(connection: sa.Connection) -> tuple[ServerRecord, ...]:
    """All, by name."""
    cards: dict[str, list[Row]] = {}
    for each in connection.execute(sa.select(NIC).order_by(NIC.c.position)).mappings():
        cards.setdefault(each["server"], []).append({**each})
    rows = connection.execute(sa.select(SERVER).order_by(SERVER.c.name)).mappings()
    return tuple(_server({**row}, cards.get(row["name"], [])) for row in rows)


def _server(row: dict[str, Any], cards: Sequence[Row]) -> ServerRecord:
    baseline = row.pop("baseline")
    tree = row | {
        "power": {
            "power": row["power"],
            "at": row["power_at"],
            "source": row["power_source"],
            "why": row["power_why"],
        },
        "controller": row | {"user": row["user_name"]},
        "nics": cards,
    }
    record = fill(ServerRecord, tree | {"baseline": None})
    return record if baseline is None else _with_baseline(record, baseline)


def _with_baseline(record: ServerRecord, text: str) -> ServerRecord:
    return dataclasses.replace(record, baseline=_inventory(text))


@lru_cache(maxsize=4096)
def _inventory(text: str) -> Inventory:
    """Parsed once: the power loop reads every server in each cycle."""
    return Inventory.from_json(json.loads(text))


def nic_rows(name: ServerName, nics: Sequence[Nic], *, living: bool) -> list[dict[str, Any]]:
    """One row a card, in the order of the record."""
    return [
        {"server": name, "position": position, "living": living} | plain(nic)
        for position, nic in enumerate(nics)
    ]


def controller_columns(address: ControllerAddress) -> dict[str, Any]:
    """Where a controller answers; host names do not differ by case."""
    columns: dict[str, Any] = plain(address)
    columns["user_name"] = columns.pop("user")
    return columns | {"host": address.host.lower()}


def identity_columns(identity: ControllerIdentity | None) -> dict[str, Any]:
    """Who a controller is; its uuid is unique over all servers in use, in either byte order."""
    uuid = identity.system_uuid if identity else None
    return {"identity": plain(identity), "system_uuid": one_spelling(uuid) if uuid else None}


def baseline_columns(baseline: Inventory | None) -> dict[str, Any]:
    """The facts, and of them what a pool may require."""
    if baseline is None:
        none = dict.fromkeys(("cpu_threads", "memory_bytes", "gpus"), 0)
        return none | {"baseline": None, "board_uuid": None}
    uuid = baseline.system.uuid
    return {
        "baseline": json.dumps(baseline.to_json(), sort_keys=True),
        "board_uuid": one_spelling(uuid) if uuid else None,
        "cpu_threads": baseline.cpu.threads,
        "memory_bytes": baseline.memory_bytes,
        "gpus": sum(each.is_gpu() for each in baseline.pci),
    }


# --- allocations ----------------------------------------------------------------------------
def allocation(connection: sa.Connection, *where: sa.ColumnElement[bool]) -> Allocation | None:
    """The newest that matches."""
    query = sa.select(ALLOCATION).where(*where).order_by(ALLOCATION.c.number.desc()).limit(1)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else allocation_of(row)


def allocation_by_id(connection: sa.Connection, identifier: AllocationId) -> Allocation | None:
    """Living or ended."""
    row = connection.execute(_ALLOCATION, {"id": identifier}).mappings().one_or_none()
    return None if row is None else allocation_of(row)


def allocation_of(row: Row) -> Allocation:
    """A row of `allocation`."""
    return fill(Allocation, {**row, "key": {"site": row["site"], "instance": row["instance"]}})


def of_instance(key: InstanceKey) -> sa.ColumnElement[bool]:
    """The allocations of this instance."""
    return sa.and_(ALLOCATION.c.site == key.site, ALLOCATION.c.instance == key.instance)


def living(*where: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Those that have not ended."""
    return sa.and_(ALLOCATION.c.ended_at.is_(None), *where)


# --- operations -----------------------------------------------------------------------------
def operation(connection: sa.Connection, identifier: OperationId) -> OperationRecord:
    """One operation as it is in this transaction.

    Raises:
        ConflictError: OPERATION_UNKNOWN.
    """
    row = connection.execute(_OPERATION, {"id": identifier}).mappings().one_or_none()
    if row is None:
        raise ConflictError(ErrorCode.OPERATION_UNKNOWN, f"there is no operation {identifier}")
    return operation_of(row)


def open_operation(connection: sa.Connection, name: ServerName) -> OperationRecord | None:
    """The one that runs on this server."""
    here = sa.and_(OPERATION.c.server == name, OPERATION.c.status == Status.OPEN.value)
    row = connection.execute(sa.select(OPERATION).where(here)).mappings().one_or_none()
    return None if row is None else operation_of(row)


def operation_of(row: Row) -> OperationRecord:
    """A row of `operation`."""
    progress = [row["progress_done"], row["progress_total"]]
    return fill(OperationRecord, {**row, "progress_bytes": progress})
