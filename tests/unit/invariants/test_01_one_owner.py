"""1: no two active allocations of one server, no two servers for one instance.

The indexes are tried by plain SQL in tests/unit/store/test_guards.py; here the verbs are.
"""

import dataclasses

import pytest

from provisioner.errors import ConflictError
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import Power
from provisioner.testing import store
from tests.unit.operations.world import REQUEST

OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")


class Meanwhile:
    """The store's operations; something happens right before the next one is opened."""

    def __init__(self, operations, happens):
        self._operations, self._happens = operations, happens

    def __getattr__(self, name):
        return getattr(self._operations, name)

    def open(self, *given, **more):
        happens, self._happens = self._happens, lambda: None
        happens()
        return self._operations.open(*given, **more)


def hand_on(world):
    """s1 goes from the one instance to the other, as seen by the store alone."""
    database, now = world.database, world.clock.wall()
    database.allocations.end_and_open(
        REQUEST.key, "deleted", store.operation("release"), tombstone=True, now=now
    )
    store.wipe(database, "s1")
    world.waiting.clear()
    deploy = store.operation("deploy", steps=("off", "on"))
    database.allocations.allocate_and_open(OTHER, "tiny", deploy, now=now)
    database.effects.begin(deploy.id, "on", now=now, dirties=True)
    store.close(database, "s1")
    world.waiting.clear()


@pytest.mark.parametrize("act", [PowerAct.OFF, PowerAct.ON, PowerAct.CYCLE])
def test_a_slow_power_verb_does_not_touch_the_next_instances_server(active, act):
    operations = Meanwhile(active.records.operations, lambda: hand_on(active))
    records = dataclasses.replace(active.records, operations=operations)
    active.bare_metal = dataclasses.replace(active.bare_metal, records=records)
    with pytest.raises(ConflictError, match="INSTANCE_ENDED"):
        active.power(act)
    assert active.owner("s1").key == OTHER.key
    assert active.open_now() is None
    assert active.power_of() is Power.ON
    assert active.allocation(OTHER).wanted is Power.ON


def test_two_creates_of_one_instance_get_one_server(world):
    first = world.ask_for_deployment()
    again = world.ask_for_deployment()
    assert first == again
    assert [each.server for each in world.database.allocations.living()] == ["s1"]


def test_an_instance_of_another_site_with_the_same_uuid_is_another_instance(world):
    world.ask_for_deployment()
    twin = store.instance_request(REQUEST.key.instance, site="other")
    world.ask_for_deployment(twin)
    found = {each.key.site: each.server for each in world.database.allocations.living()}
    assert found == {"lab": "s1", "other": "s2"}
    world.ask_for_release(twin)
    assert world.owner("s1").key == REQUEST.key
    assert world.owner("s2") is None
