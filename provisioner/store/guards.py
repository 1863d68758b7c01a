"""Triggers: what must never happen and no CHECK or index can say. SQLite's dialect.

They hold for every writer of the file, whatever connection it uses, `OR REPLACE` included
(which would delete a row without asking its DELETE trigger). They are part of the
program, not of a migration: `stand` makes them anew where they differ, at each start.
"""

import sqlalchemy as sa

from provisioner.store.triggers.allocations import allocations
from provisioner.store.triggers.evidence import evidence
from provisioner.store.triggers.generation import generation
from provisioner.store.triggers.hosts import hosts
from provisioner.store.triggers.once import once
from provisioner.store.triggers.operations import effects, operations, turns
from provisioner.store.triggers.servers import cards, owners, proofs, servers

PARTS = (
    servers,
    proofs,
    owners,
    cards,
    hosts,
    allocations,
    operations,
    effects,
    turns,
    evidence,
    once,
    generation,
)


def stand(connection: sa.Connection) -> None:
    """Make every guard that is missing or differs, drop those that are no longer ours."""
    wanted = guards()
    query = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    found = {row.name: row.sql for row in connection.execute(query)}
    for name, statement in found.items():
        if name.startswith("guard_") and statement != wanted.get(name):
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
    for name, statement in wanted.items():
        if found.get(name) != statement:
            connection.exec_driver_sql(statement)


def guards() -> dict[str, str]:
    """Name -> statement."""
    return {
        f"guard_{name}": f"CREATE TRIGGER guard_{name} {body}"
        for part in PARTS
        for name, body in part()
    }
