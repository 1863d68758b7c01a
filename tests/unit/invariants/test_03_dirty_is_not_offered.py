"""3: a dirty server is never offered.

The constraints by plain SQL: tests/unit/store/test_guards.py.
"""

import pytest

from provisioner.errors import TransientError
from provisioner.operations.lists import follow
from provisioner.operations.release import CLEAN
from provisioner.servers.model import Power, State
from provisioner.testing import store
from tests.unit.operations.world import Killed

OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")
FOR_A_TENANT = "on-to-network-for-tenant"


def cancel(world, operation):
    world.database.operations.cancel(operation, "ann", follow, now=world.clock.wall())


def offered(world):
    """Which servers the next instance could get."""
    free = []
    for _ in range(2):
        try:
            free.append(world.do(world.bare_metal.reserve(store.instance_request())).server)
        except TransientError:
            break
    return free


def test_it_is_dirty_before_it_is_told_to_start_for_a_tenant(world):
    """The service dies right after it noted the step's beginning."""

    def die():
        raise Killed

    operation = world.ask_for_deployment()
    world.when(FOR_A_TENANT, die)
    with pytest.raises(Killed):
        world.walk()
    assert world.power_of() is Power.OFF
    assert world.server().dirty
    assert world.allocation().ever_powered
    world.crash()
    cancel(world, operation)
    world.walk()
    assert (world.state(), world.server().dirty) == (State.QUARANTINED, True)
    assert offered(world) == ["s2"]


def test_one_that_was_never_powered_for_a_tenant_is_offered_again(world):
    operation = world.ask_for_deployment()
    cancel(world, operation)
    world.walk()
    assert (world.state(), world.server().dirty) == (State.AVAILABLE, False)
    assert offered(world) == ["s1", "s2"]


def test_a_wipe_that_is_cancelled_before_its_evidence_leaves_it_dirty(active):
    release = active.ask_for_release()
    active.when("sign", lambda: cancel(active, release))
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert offered(active) == ["s2"]


def test_evidence_that_could_not_be_stored_clears_nothing(active, outsider):
    """Killed inside the transaction that signs: both or neither."""
    release = active.ask_for_release()
    outsider(
        active,
        "CREATE TRIGGER no_room BEFORE UPDATE OF dirty ON server WHEN NOT NEW.dirty"
        " BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    active.walk()
    assert outsider(active, "SELECT count(*) FROM evidence WHERE server = 's1'") == [(1,)]
    assert active.operation(release).code == "CANNOT_TELL"
    assert active.server().dirty


def test_a_server_that_was_wiped_once_is_not_clean_by_that_after_another_tenant(active, outsider):
    """Evidence counts for the epoch in which it was made."""
    active.ask_for_release()
    active.walk()
    active.ask_for_deployment(OTHER)
    active.walk()
    owner = active.owner("s1")
    assert owner.key == OTHER.key
    active.agents["s1"].fails = {"erase": ("AGENT_FAILED", "as told")}
    active.ask_for_release(OTHER)
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    with pytest.raises(Exception, match="only with wipe evidence"):
        outsider(active, "UPDATE server SET dirty = 0 WHERE name = 's1'")
    active.agents["s1"].fails = {}
    active.open(CLEAN)
    active.walk()
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)
