"""2: whoever lost a server does nothing to it any more.

Fences of the store by plain SQL: tests/unit/store/test_guards.py. Calls that are given up and
still run: tests/unit/operations/test_conversation.py. Children: tests/contract/test_process.py.
"""

import pytest

from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations.world import REQUEST


def deleted(world):
    """As `delete` does it, at once."""
    world.database.allocations.end_and_open(
        REQUEST.key,
        "deleted",
        new_operation(RELEASE, "lab"),
        tombstone=True,
        now=world.clock.wall(),
    )


STEPS = ["write-image", "port-to-tenant", "first-on"]


@pytest.mark.parametrize("step", STEPS)
def test_a_deployment_that_loses_its_server_in_a_step_begins_no_other(world, step):
    """The world notices a tenant's port or start on a server that is nobody's."""
    operation = world.ask_for_deployment()
    world.when(step, lambda: deleted(world))
    world.walk()
    record, steps = world.operation(operation), list(world.results(operation))
    assert record.status is Status.SUPERSEDED
    assert steps[-1] == step
    assert world.state() is State.AVAILABLE
    assert world.server().dirty is False
    assert world.history()[-1] == ("release", Status.DONE)


@pytest.mark.parametrize("step", ["port-to-tenant", "disk-first", "on"])
def test_a_start_that_loses_its_server_moves_and_switches_nothing(active, step):
    active.power(PowerAct.OFF)
    active.ports.moves.clear()
    active.when(step, lambda: deleted(active))
    with pytest.raises(Exception, match="SUPERSEDED"):
        active.power(PowerAct.ON)
    tenants = [wanted for _, wanted in active.ports.moves if wanted.placement is Placement.TENANT]
    assert len(tenants) == (0 if step == "port-to-tenant" else 1)
    active.until(lambda: active.open_now() is None)
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)


@pytest.mark.parametrize("step", ["port-to-tenant", "on"])
def test_nor_does_one_whose_server_is_quarantined_meanwhile(active, step):
    active.power(PowerAct.OFF)
    active.when(step, lambda: active.open(QUARANTINE))
    with pytest.raises(Exception, match="SUPERSEDED"):
        active.power(PowerAct.ON)
    active.until(lambda: active.open_now() is None)
    assert active.power_of() is Power.OFF
    assert active.placement() is Placement.QUARANTINE


def test_a_worker_of_before_a_crash_finds_the_door_closed(world):
    operation = world.ask_for_deployment()
    deleted(world)
    before = list(world.machines["s1"].calls)
    for step in ("off", "on-to-network-for-tenant", "write-image", "first-on"):
        assert world.do(world.runner.run(operation, step)) == "failed"
    assert world.machines["s1"].calls == before
    assert world.ports.moves == []
    world.walk()
