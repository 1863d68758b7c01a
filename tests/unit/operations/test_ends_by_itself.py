"""What ends by itself, and what a held service does not do."""

from dataclasses import replace

import pytest

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.servers.allocation import Phase
from provisioner.servers.model import State
from provisioner.testing import store
from tests.unit.operations.asking import (
    ask,
    grow_old,
    outcome,
    reserved,
)
from tests.unit.operations.world import REQUEST


def test_a_reservation_ends_after_its_time(world):
    reserved(world)
    grow_old(world, world.times.reserve_for_s - 10.0)
    assert world.state() is State.RESERVED
    grow_old(world, 20.0)
    assert world.state() is State.AVAILABLE
    assert world.allocation().end_reason == "the reservation is over"


def test_one_allocation_that_cannot_end_keeps_no_other_from_its_end(world):
    other = store.instance_request()
    world.do(ask(world, "prepare"))
    world.do(ask(world, "prepare", request=other))
    end = world.database.allocations.end_and_open

    class Stubborn:
        def __getattr__(self, name):
            return getattr(world.database.allocations, name)

        def end_and_open(self, key, *more, **fields):
            if key == REQUEST.key:
                raise RackwrightError(ErrorCode.DATABASE_FAILED, "as told")
            return end(key, *more, **fields)

    world.housekeeping.records = replace(world.records, allocations=Stubborn())
    grow_old(world, world.times.reserve_for_s + 1.0)
    assert world.allocation().phase is Phase.RESERVED
    assert world.allocation(other).phase is Phase.ENDED


def test_a_create_that_arrives_as_housekeeping_looks_is_respected(world):
    world.ask_for_deployment()
    world.do(ask(world, "stop"))
    world.pass_time(1.0)
    stale = world.allocation()
    world.database.allocations.mark(stale.id, stop_grace_until=None)
    old = replace(stale, stop_grace_until=0.0)
    world.do(world.housekeeping._end(old, "late"))
    assert world.allocation().phase is Phase.DEPLOYING


# --- held -----------------------------------------------------------------------------------
@pytest.mark.parametrize("verb", ["prepare", "create", "start", "stop", "reboot", "delete"])
def test_a_held_service_refuses_everything_but_looking(active, verb):
    active.bare_metal.held = "restored"
    assert outcome(active, verb) == "SERVICE_HELD"
    view = active.do(active.bare_metal.observe(REQUEST.key))
    assert (view.phase, view.held) == (Phase.ACTIVE, True)
    nobody = active.do(active.bare_metal.observe(store.instance_request().key))
    assert (nobody.phase, nobody.held) == (None, True)


def test_a_held_service_ends_nothing_by_itself(world):
    reserved(world)
    world.bare_metal.held = "restored"
    grow_old(world, 2 * world.times.reserve_for_s)
    assert world.state() is State.RESERVED
