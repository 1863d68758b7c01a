# ruff: noqa: S608 statements are built of our own constants
"""How a trigger is written: a name and the rest of its statement. SQLite's dialect."""

from collections.abc import Iterator

from provisioner.servers.operation import Status

OPEN = Status.OPEN.value
Guards = Iterator[tuple[str, str]]
"""Names and bodies, without CREATE TRIGGER."""


def refuse(name: str, event: str, when: str, message: str) -> tuple[str, str]:
    """The statement fails with this message where the condition holds."""
    return name, f"BEFORE {event} WHEN {when} BEGIN SELECT RAISE(ABORT, '{message}'); END"


def also(name: str, event: str, statement: str) -> tuple[str, str]:
    """This happens with it, in the same transaction."""
    return name, f"AFTER {event} BEGIN {statement}; END"


def keep(table: str, columns: str) -> tuple[str, str]:
    """These columns never change."""
    changed = " OR ".join(f"NEW.{each} IS NOT OLD.{each}" for each in columns.split())
    name = f"{table}_columns_stay"
    return refuse(name, f"UPDATE ON {table}", changed, f"{table}: written once")


def stay(table: str) -> tuple[str, str]:
    """A row of this table is history."""
    return refuse(f"{table}_stays", f"DELETE ON {table}", "true", f"{table}: rows stay")


def append(table: str, key: str) -> tuple[str, str]:
    """No row of this table takes the place of another one (`INSERT OR REPLACE`)."""
    same = " AND ".join(f"x.{each} = NEW.{each}" for each in key.split())
    taken = f"EXISTS (SELECT 1 FROM {table} x WHERE {same})"
    return refuse(f"{table}_appended", f"INSERT ON {table}", taken, f"UNIQUE {table}: rows stay")
