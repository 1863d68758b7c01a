"""The virtual rack for tests: a rack of its own beside one that a person may have up."""

import fcntl
import os
from pathlib import Path

import pytest

from provisioner.lab.layout import LabPaths, Layout
from provisioner.lab.rack import Rack
from provisioner.ramdisk.build import build, shipped_lock

PREFIX = "rackwright-test"
CACHE = Path.home() / ".cache" / "rackwright"


@pytest.fixture(scope="session")
def ramdisk(tmp_path_factory):
    """As it is shipped, built once for the tests that boot it by themselves."""
    out = tmp_path_factory.mktemp("ramdisk")
    build(shipped_lock(), CACHE, out)
    return out


@pytest.fixture(scope="session")
def lab_paths():
    """Fixed places, so that what a killed run left is found and cleaned."""
    kept = LabPaths.of(os.environ)
    return LabPaths(state=kept.cache / "lab-test", cache=kept.cache)


@pytest.fixture(scope="session")
def empty_rack(lab_paths):
    """The rack before its first start: nothing runs, no disk exists."""
    if os.geteuid():
        pytest.fail("the rack's tests make network namespaces: run them as root", pytrace=False)
    lab_paths.cache.mkdir(parents=True, exist_ok=True)
    with (lab_paths.cache / "lab-test.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pytest.fail("another run of the rack's tests is going on", pytrace=False)
        rack = Rack(Layout(prefix=PREFIX), lab_paths)
        rack.forget()
        yield rack
        rack.down()


@pytest.fixture(scope="session")
def rack(empty_rack):
    """Everything but the service is up; both servers are off; logs stay after the session."""
    empty_rack.up()
    return empty_rack
