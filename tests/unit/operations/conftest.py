"""A world a test, copied from one that was made once."""

import shutil

import pytest

from provisioner.servers.model import Power
from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from tests.unit.operations.asking import note
from tests.unit.operations.changing import Asking
from tests.unit.operations.world import World, image


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


@pytest.fixture(scope="session")
def snapshots(free_template, active_template, tmp_path_factory):
    """Folders of worlds in which an operation has come so far, each made once."""
    made = {}

    def folder(kind, step):
        if (kind, step) not in made:
            template = free_template if kind == "deploy" else active_template
            path = tmp_path_factory.mktemp("snapshot") / "state"
            world = World(shutil.copytree(template, path))
            ask = world.ask_for_deployment if kind == "deploy" else world.ask_for_release
            world.do(world.walk_step(ask(), step))
            world.close()
            made[kind, step] = path
        return made[kind, step]

    return folder


def _world(template, folder):
    world = World(shutil.copytree(template, folder / "state"))
    yield world
    world.close()
    assert world.trespasses == []


@pytest.fixture
def world(free_template, tmp_path):
    """Two free servers."""
    yield from _world(free_template, tmp_path)


@pytest.fixture
def active(active_template, tmp_path):
    """One instance on s1, s2 free."""
    yield from _world(active_template, tmp_path)


@pytest.fixture
def reach(snapshots, tmp_path):
    """A world in which a deployment ("deploy") or a release has done its steps up to one."""
    worlds = []

    def reached(kind, step):
        worlds.append(World(shutil.copytree(snapshots(kind, step), tmp_path / "state")))
        return worlds[-1]

    yield reached
    for world in worlds:
        world.close()
        assert world.trespasses == []


@pytest.fixture
def asking(active):
    """Reinstall, reseed and rescue of the instance on s1, which was read on just now."""
    note(active, Power.ON)
    return Asking(active)
