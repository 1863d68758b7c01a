"""Rows of allocations and tombstones, written in the caller's transaction."""

import uuid
from typing import Any

import sqlalchemy as sa

from provisioner.servers.allocation import Allocation, InstanceKey, InstanceRequest, Phase
from provisioner.servers.model import Power
from provisioner.store import rows
from provisioner.store.codec import plain
from provisioner.store.tables.allocations import ALLOCATION, TOMBSTONE
from provisioner.units import AllocationId, ServerName, WallSeconds


def begin(
    connection: sa.Connection,
    request: InstanceRequest,
    server: ServerName,
    phase: Phase,
    *,
    now: WallSeconds,
) -> Allocation:
    """A new one, of a server that is kept for it."""
    identifier = AllocationId(str(uuid.uuid4()))
    columns = {
        "id": identifier,
        "server": server,
        "pool": request.pool,
        "phase": phase,
        "wanted": Power.UNKNOWN,
        "created_at": now,
        "networks": (),
        **plain(request.key),
        **asked_of(request),
    }
    connection.execute(sa.insert(ALLOCATION).values(**plain(columns)))
    return change(connection, identifier, {})


def asked_of(request: InstanceRequest) -> dict[str, Any]:
    """What each verb of an instance that still begins says anew."""
    asked: dict[str, Any] = {
        "name": request.name,
        "who": request.who,
        "truth": request.truth,
    }
    if request.host is not None:
        asked["host"] = request.host
    if request.hostname is not None:
        asked["hostname"] = request.hostname
    if request.owner:
        asked |= {"owner": request.owner, "size": request.size}
    return asked | ({"networks": request.networks} if request.networks else {})


def change(
    connection: sa.Connection, identifier: AllocationId, columns: dict[str, Any]
) -> Allocation:
    """Set columns; the row as it is then."""
    here = ALLOCATION.c.id == identifier
    if columns:
        connection.execute(sa.update(ALLOCATION).where(here).values(**plain(columns)))
    row = connection.execute(sa.select(ALLOCATION).where(here)).mappings().one()
    return rows.allocation_of(row)


def is_buried(connection: sa.Connection, key: InstanceKey) -> bool:
    """It has a tombstone."""
    here = sa.and_(TOMBSTONE.c.site == key.site, TOMBSTONE.c.instance == key.instance)
    return connection.scalar(sa.select(TOMBSTONE.c.at).where(here)) is not None


def bury(connection: sa.Connection, key: InstanceKey, *, now: WallSeconds) -> None:
    """Nothing of it begins from now on."""
    if not is_buried(connection, key):
        connection.execute(sa.insert(TOMBSTONE).values(**plain(key), at=now))
