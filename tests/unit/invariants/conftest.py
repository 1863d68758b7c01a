"""The worlds of the operations' tests, for those who try to break what must never happen."""

import sqlite3
from contextlib import closing

import pytest

from tests.unit.operations.conftest import active, active_template, free_template, world

__all__ = ["active", "active_template", "free_template", "outsider", "world"]


@pytest.fixture
def outsider():
    """Statements through a connection of its own; answers the last one's rows."""

    def ask(world, *statements):
        path = world.folder / "rackwright.db"
        with closing(sqlite3.connect(path, timeout=5)) as connection, connection:
            return [connection.execute(each).fetchall() for each in statements][-1]

    return ask
