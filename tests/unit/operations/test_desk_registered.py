"""What operators tell of things that sites hold for us, on the real store."""

import asyncio
import shutil

import pytest

from provisioner.config import Role
from provisioner.errors import ConflictError, InputError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_registered import Register
from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from provisioner.units import SiteName

ROOT = Operator(name="root", role=Role.ADMIN, by="uid 0")
SITE = SiteName("zone1")


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    folder = tmp_path_factory.mktemp("empty")
    store.open_store(folder, FakeClock()).close()
    return folder


@pytest.fixture
def database(empty, tmp_path):
    found = store.open_store(shutil.copytree(empty, tmp_path / "state"), FakeClock())
    yield found
    found.close()


def register_of(database, held=""):
    return Register(
        rows=database.registered,
        audit=database.audit,
        clock=FakeClock(),
        sites=frozenset({SITE}),
        held=held,
    )


def test_what_is_told_is_kept_and_stands_in_the_audit(database):
    async def told():
        desk = register_of(database)
        row = await desk.begin_registered(SITE, "host", "h", {"pool": "a"}, ROOT)
        await desk.settle_registered(row.number, "id-1", {"pool": "a"}, ROOT, retired=False)
        kept = await desk.registered(SITE)
        await desk.forget_registered(row.number, ROOT)
        return kept, await desk.registered(SITE), await desk.database_id()

    kept, left, database_id = asyncio.run(told())
    assert [(row.name, row.outside_id) for row in kept] == [("h", "id-1")]
    assert left == ()
    assert database_id == database.registered.database_id()
    acts = [(each.act, each.subject) for each in database.audit.entries()]
    assert acts == [
        ("forget registration", str(kept[0].number)),
        ("register", "zone1/host/h"),
        ("begin registration", "zone1/host/h"),
    ]
    assert {each.who for each in database.audit.entries()} == {"operator root (uid 0)"}


def test_a_site_that_the_settings_do_not_know_is_refused(database):
    desk = register_of(database)
    for work in (
        desk.registered(SiteName("zone9")),
        desk.begin_registered(SiteName("zone9"), "host", "h", {}, ROOT),
    ):
        with pytest.raises(InputError, match="zone9 is not in the service's settings"):
            asyncio.run(work)


def test_a_held_service_is_looked_at_and_told_nothing(database):
    desk = register_of(database, held="an older copy was restored")
    assert asyncio.run(desk.registered(SITE)) == ()
    for work in (
        desk.begin_registered(SITE, "host", "h", {}, ROOT),
        desk.settle_registered(1, "id", {}, ROOT, retired=False),
        desk.forget_registered(1, ROOT),
    ):
        with pytest.raises(ConflictError, match="SERVICE_HELD"):
            asyncio.run(work)
