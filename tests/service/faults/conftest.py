import shutil
import tempfile
from pathlib import Path

import pytest

from tests.service.faults.site import Site, copy_of

SERVERS = ("s1", "s2")


@pytest.fixture(scope="session")
def template():
    """Two servers that came through their whole walk, and the keys of their site."""
    folder = Path(tempfile.mkdtemp(prefix="rwf-"))
    site = Site(folder, SERVERS)
    try:
        site.furnish()
    finally:
        site.close()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def make_site(template):
    """Sites of their own, each with the template's servers; not started."""

    def make(folder, **times):
        return Site(copy_of(template, folder), SERVERS, **times)

    return make


@pytest.fixture(scope="module")
def running(make_site):
    """One site for a whole module whose tests leave it as it was."""
    with tempfile.TemporaryDirectory(prefix="rwf-") as folder:
        site = make_site(Path(folder))
        try:
            site.start()
            yield site
            site.assert_no_traceback()
        finally:
            site.close()


@pytest.fixture
def site(make_site):
    """A site of one test, not started; `site.configure(...)` changes its times."""
    with tempfile.TemporaryDirectory(prefix="rwf-") as folder:
        made = make_site(Path(folder))
        try:
            yield made
            made.assert_no_traceback()
        finally:
            made.close()
