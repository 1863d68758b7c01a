"""A world a test, copied from one that was made once."""

import shutil

import pytest

from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from tests.unit.operations.world import World, image

LATER = 3600.0


@pytest.fixture(scope="session")
def free_template(tmp_path_factory):
    """Pool a with two free, clean servers and one image."""
    folder = tmp_path_factory.mktemp("free")
    database = store.open_store(folder, FakeClock())
    database.catalogue.put_image(image(tmp_path_factory.mktemp("image")))
    database.catalogue.put_pool(store.pool("a"))
    for name in ("s1", "s2"):
        store.make_available(database, name)
    database.close()
    return folder


@pytest.fixture(scope="session")
def active_template(free_template, tmp_path_factory):
    """The same after a deployment of one instance on s1."""
    folder = tmp_path_factory.mktemp("active") / "state"
    world = World(shutil.copytree(free_template, folder))
    world.ask_for_deployment()
    world.walk()
    assert world.state() == "ACTIVE"
    world.database.allocations.mark(world.allocation().id, known_to_caller=True)
    world.close()
    return folder


def _world(template, folder, later=0.0):
    world = World(shutil.copytree(template, folder / "state"), later=later)
    yield world
    world.close()
    assert world.trespasses == []


@pytest.fixture
def world(free_template, tmp_path):
    """Two free servers."""
    yield from _world(free_template, tmp_path)


@pytest.fixture
def active(active_template, tmp_path):
    """One instance on s1, s2 free; an hour after its deployment."""
    yield from _world(active_template, tmp_path, later=LATER)
