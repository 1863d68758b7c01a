"""Whose disks a server still has, and whether they are held un-wiped.

A protected instance's disks are held from its end, whatever becomes of its server: a release that
ended in quarantine, or never began there, is followed by a wipe that waits like the release.
"""

import sqlalchemy as sa

from provisioner.servers.allocation import Allocation, Protection
from provisioner.store import rows
from provisioner.store.tables.allocations import ALLOCATION
from provisioner.store.tables.operations import OPERATION, TURN
from provisioner.units import MonotonicSeconds, OperationId, ServerName

HELD = frozenset({Protection.PROTECTED, Protection.UNKNOWN})


def last_tenant(connection: sa.Connection, server: ServerName) -> Allocation | None:
    """The ended allocation whose data may still be on the server; None once it is wiped."""
    if not rows.server(connection, server).dirty:
        return None
    newest = (
        sa.select(ALLOCATION)
        .where(ALLOCATION.c.server == server, ALLOCATION.c.ever_powered)
        .order_by(ALLOCATION.c.number.desc())
        .limit(1)
    )
    row = connection.execute(newest).mappings().one_or_none()
    found = None if row is None else rows.allocation_of(row)
    return None if found is None or found.ended_at is None else found


def held_on(connection: sa.Connection, server: ServerName) -> Allocation | None:
    """Whose disks are held there, until time or a person ends it; None: nobody's."""
    last = last_tenant(connection, server)
    if last is None or last.protection not in HELD:
        return None
    over = sa.or_(TURN.c.begun_at.is_not(None), TURN.c.let_go_by != "")
    since = OPERATION.c.opened_at >= last.ended_at
    found = (
        sa.select(TURN.c.number)
        .join(OPERATION, OPERATION.c.id == TURN.c.operation)
        .where(TURN.c.server == server, since, over)
        .limit(1)
    )
    return last if connection.scalar(found) is None else None


def hold(connection: sa.Connection, server: ServerName, operation: OperationId) -> None:
    """A wipe of a server whose disks are held waits until what is left of the hold is over."""
    held = held_on(connection, server)
    if held is None or held.ended_at is None:
        return
    connection.execute(
        sa.insert(TURN).values(
            operation=operation,
            server=server,
            pool=held.pool,
            counted=False,
            held=True,
            # both clocks agree as far as the machine's own was not set meanwhile
            asked_at=MonotonicSeconds(held.ended_at),
        )
    )
