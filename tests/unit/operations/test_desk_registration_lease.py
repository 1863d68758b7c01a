"""One administrator at a time, and what the second one reads."""

import asyncio

import pytest

from provisioner.config import Role
from provisioner.errors import ConflictError, ErrorCode, InputError, TransientError
from provisioner.operations.desk import Operator
from provisioner.operations.desk_registration_lease import Leases
from provisioner.testing import store
from provisioner.testing.clock import FakeClock
from provisioner.units import Seconds, SiteName

SITE = SiteName("zone1")
ROOT = Operator(name="root", role=Role.ADMIN, by="uid 0")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def database(tmp_path, clock):
    found = store.open_store(tmp_path, clock)
    yield found
    found.close()


@pytest.fixture
def leases(database, clock):
    return Leases(leases=database.registration_leases, now=clock.wall, sites=frozenset({SITE}))


def take(leases, holder, *, seconds=180.0, what="register f.yaml, process 7 on admin1", site=SITE):
    return asyncio.run(leases.take_registration(site, holder, what, Seconds(seconds), ROOT))


def test_the_second_reads_who_since_when_until_when_and_what_to_do(leases, clock):
    first = take(leases, "a")
    assert first.until - first.since == 180
    clock.advance(34)
    with pytest.raises(TransientError) as caught:
        take(leases, "b")
    assert caught.value.code is ErrorCode.REGISTRATION_BUSY
    line = caught.value.brief
    assert line.startswith(f"site zone1: {ROOT.who()} changes its registration since 20")
    assert "(register f.yaml, process 7 on admin1); ask again when that has ended" in line
    assert line.endswith(" UTC, in 146 s")
    assert "\n" not in line


def test_a_killed_ones_turn_is_over_when_that_time_has_come(leases, clock):
    take(leases, "a")
    clock.advance(180)
    assert take(leases, "b").holder == "b"
    with pytest.raises(TransientError):
        take(leases, "a")


def test_who_is_done_gives_it_back(leases):
    take(leases, "a")
    asyncio.run(leases.give_back_registration(SITE, "a"))
    assert take(leases, "b").holder == "b"


def test_a_site_that_the_settings_do_not_know_is_refused(leases):
    with pytest.raises(InputError, match="zone9"):
        take(leases, "a", site=SiteName("zone9"))


def test_a_held_service_gives_none(database, clock):
    held = Leases(
        leases=database.registration_leases,
        now=clock.wall,
        sites=frozenset({SITE}),
        held="an old database",
    )
    with pytest.raises(ConflictError, match="an old database"):
        take(held, "a")
