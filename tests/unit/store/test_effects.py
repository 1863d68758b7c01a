"""What a step left behind, and who may still leave something."""

import pytest

from provisioner.errors import ConflictError
from provisioner.servers.states import Intent
from provisioner.testing import store
from provisioner.units import ServerName, WallSeconds

NOW = WallSeconds(10.0)
S1 = ServerName("s1")


@pytest.fixture
def deploying(database):
    new = store.operation(Intent.DEPLOY, steps=("off", "on"))
    request = store.instance_request()
    database.allocations.allocate_and_open(request, "tiny", new, now=NOW)
    return new.id


def test_the_first_beginning_counts_and_each_is_counted(database, deploying):
    first = database.effects.begin(deploying, "off", now=NOW)
    assert (first.begun, first.again, first.beginnings) == (NOW, False, 1)
    again = database.effects.begin(deploying, "off", now=WallSeconds(99.0))
    assert (again.begun, again.again, again.beginnings) == (NOW, True, 2)


def test_a_step_that_is_done_is_answered_with_what_it_found(database, deploying):
    database.effects.begin(deploying, "off", now=NOW)
    database.effects.finish(deploying, "off", {"power": "off"}, now=WallSeconds(11.0))
    database.effects.finish(deploying, "off", {"power": "on"}, now=WallSeconds(12.0))
    found = database.effects.begin(deploying, "off", now=WallSeconds(13.0))
    assert (found.done, found.again, found.beginnings) == (11.0, False, 1)
    assert found.result == {"power": "off"}


def test_effects_come_in_the_order_of_their_beginning(database, deploying):
    for step in ("off", "on", "agent"):
        database.effects.begin(deploying, step, now=NOW)
    assert [each.step for each in database.effects.effects(deploying)] == ["off", "on", "agent"]


def test_a_server_is_dirty_from_the_beginning_of_the_step_that_powers_it_on(database, deploying):
    database.effects.begin(deploying, "off", now=NOW)
    assert not database.servers.server(S1).dirty
    database.effects.begin(deploying, "on", now=NOW, dirties=True)
    assert database.servers.server(S1).dirty
    [allocation] = database.allocations.living()
    assert allocation.ever_powered


def test_a_refused_beginning_dirties_nothing(database, deploying):
    [allocation] = database.allocations.living()
    release = store.operation(Intent.RELEASE)
    database.allocations.end_and_open(allocation.key, "x", release, tombstone=False, now=NOW)
    with pytest.raises(ConflictError, match="SUPERSEDED"):
        database.effects.begin(deploying, "on", now=NOW, dirties=True)
    assert not database.servers.server(S1).dirty


def test_an_older_epoch_begins_nothing(database, sql, deploying):
    sql("UPDATE server SET epoch = epoch + 1 WHERE name = 's1'")
    with pytest.raises(ConflictError, match="SUPERSEDED"):
        database.effects.begin(deploying, "off", now=NOW)
    assert database.effects.effects(deploying) == ()


def test_the_end_of_an_act_is_noted_though_it_was_superseded_meanwhile(database, deploying):
    database.effects.begin(deploying, "off", now=NOW)
    [allocation] = database.allocations.living()
    release = store.operation(Intent.RELEASE)
    database.allocations.end_and_open(allocation.key, "x", release, tombstone=False, now=NOW)
    database.effects.finish(deploying, "off", {}, now=NOW)
    assert database.effects.effects(deploying)[0].done == NOW


def test_arrivals_are_rows_of_open_operations(database, deploying):
    database.effects.arrived(deploying, "agent")
    database.effects.arrived(deploying, "agent")
    assert database.effects.arrivals() == {(deploying, "agent")}
    [allocation] = database.allocations.living()
    release = store.operation(Intent.RELEASE)
    database.allocations.end_and_open(allocation.key, "x", release, tombstone=False, now=NOW)
    assert database.effects.arrivals() == frozenset()
    with pytest.raises(ConflictError, match="OPERATION_UNKNOWN"):
        database.effects.arrived("nobody", "agent")
