"""All that `status` may look at, in one transaction."""

from provisioner.operations.endings import cannot_tell
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Power, PowerReading
from provisioner.servers.states import Intent
from provisioner.testing import store
from provisioner.units import ServerName, SiteName, WallSeconds

NOW = WallSeconds(50.0)
LAB = SiteName("lab")


def deployed(database, request=None):
    request = request or store.instance_request()
    new = store.operation(Intent.DEPLOY, steps=("off", "on"))
    return database.allocations.allocate_and_open(request, "tiny", new, now=NOW)


def note(database, server, power, at):
    reading = PowerReading(power=power, at=WallSeconds(at), source="loop")
    database.servers.note_readings({ServerName(server): reading})


def test_readings_are_those_after_a_moment(database):
    allocation = deployed(database)
    for at in (100.0, 101.0, 102.0):
        note(database, allocation.server, Power.OFF, at)
    note(database, "s2", Power.ON, 102.0)
    for found in (
        database.observations.of_instance(allocation.key, WallSeconds(100.0)),
        *database.observations.of_site(LAB, WallSeconds(100.0)),
    ):
        assert [(each.at, each.power) for each in found.readings] == [
            (101.0, Power.OFF),
            (102.0, Power.OFF),
        ]


def test_of_readings_the_last_that_is_no_off_is_the_first(database):
    """Only offs without a break confirm one; most servers are on, and one reading is enough."""
    mine, other = deployed(database), deployed(database)
    powers = (Power.OFF, Power.ON, Power.OFF, Power.UNKNOWN, Power.OFF, Power.OFF)
    for at, power in enumerate(powers, 101):
        note(database, mine.server, power, float(at))
        note(database, other.server, Power.ON, float(at))
    by_id = {each.allocation.id: each for each in database.observations.of_site(LAB, NOW)}
    assert by_id[mine.id] == database.observations.of_instance(mine.key, NOW)
    assert [(each.at, each.power) for each in by_id[mine.id].readings] == [
        (104.0, Power.UNKNOWN),
        (105.0, Power.OFF),
        (106.0, Power.OFF),
    ]
    assert [each.at for each in by_id[other.id].readings] == [106.0]


def test_an_instance_never_heard_of_is_none(database):
    key = store.instance_request().key
    assert database.observations.of_instance(key, NOW) is None
    assert database.observations.of_site(LAB, NOW) == ()


def test_the_newest_allocation_counts_for_one_instance_and_for_the_site(database):
    request = store.instance_request()
    database.allocations.reserve(request, until=NOW, now=NOW)
    database.allocations.end_and_open(request.key, "expired", None, tombstone=False, now=NOW)
    newest = deployed(database, request)
    alone = database.observations.of_instance(request.key, NOW)
    assert alone.allocation.id == newest.id
    assert alone.allocation.phase is Phase.DEPLOYING
    assert database.observations.of_site(LAB, NOW) == (alone,)


def test_another_site_and_the_deleted_are_not_among_a_sites(database):
    mine, gone = deployed(database), deployed(database)
    release = store.operation(Intent.RELEASE)
    database.allocations.end_and_open(gone.key, "deleted", release, tombstone=True, now=NOW)
    found = database.observations.of_site(LAB, NOW)
    assert [each.allocation.id for each in found] == [mine.id]
    assert database.observations.of_site(SiteName("other"), NOW) == ()


def test_a_quarantined_server_and_a_failed_deployment_are_said_of_their_instance_alone(database):
    failed, other = deployed(database), deployed(database)
    database.effects.begin(failed.operation, "on", now=NOW, dirties=True)
    broken = cannot_tell("on", "the machine is silent")
    store.close(database, failed.server, broken)
    by_id = {each.allocation.id: each for each in database.observations.of_site(LAB, NOW)}
    assert (by_id[failed.id].quarantined, by_id[failed.id].failed) == (True, True)
    assert (by_id[other.id].quarantined, by_id[other.id].failed) == (False, False)
