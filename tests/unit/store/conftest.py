"""A database a test, copied from one that was made once: pool a, free servers s1 and s2."""

import shutil
import sqlite3

import pytest

from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from tests.unit.store.fast import fast


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    folder = tmp_path_factory.mktemp("template")
    database = store.open_store(folder, FakeClock())
    database.catalogue.put_pool(store.pool("a"))
    for name in ("s1", "s2"):
        store.make_available(database, name)
    database.close()
    return folder


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def folder(template, tmp_path):
    return shutil.copytree(template, tmp_path / "state")


@pytest.fixture
def handed_over():
    """What was given to the durable engine: (operation, server), in order."""
    return []


@pytest.fixture
def database(folder, clock, handed_over):
    found = fast(
        store.open_store(
            folder, clock, lambda _connection, *operation: handed_over.append(operation)
        )
    )
    yield found
    found.close()


class Outsider:
    """A writer of its own: no pragma of ours, no transaction of ours, no Python of ours."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *statements):
        connection = sqlite3.connect(self.path, timeout=5)
        try:
            with connection:
                return [connection.execute(each).fetchall() for each in statements][-1]
        finally:
            connection.close()

    def refused(self, *statements):
        """The message of the guard that refused them."""
        with pytest.raises(sqlite3.IntegrityError) as caught:
            self(*statements)
        return str(caught.value)


@pytest.fixture
def sql(database, folder):
    return Outsider(folder / "rackwright.db")
