"""Stop: before CloudStack has the instance, and after."""

import asyncio

import pytest

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.operations.power import START
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.operations.tenant_power import TenantPower
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations import causes as c
from tests.unit.operations.asking import (
    PHASES,
    ask,
    grow_old,
    half_deployed,
    note,
    outcome,
    unheard,
)
from tests.unit.operations.world import REQUEST


def test_a_stop_before_cloudstack_has_it_touches_nothing_and_begins_a_grace(world):
    world.ask_for_deployment()
    assert outcome(world, "stop") == "not installed yet: nothing was touched"
    grace = world.allocation().stop_grace_until
    assert grace == world.within(world.times.stop_grace_s)
    assert world.open_now().kind == "deploy"


@pytest.mark.parametrize("phase", ["reserved", "deploying", "unheard of"])
def test_after_the_grace_the_allocation_ends_and_the_server_is_released(request, phase):
    fixture, bring = PHASES[phase]
    world = request.getfixturevalue(fixture)
    bring(world)
    world.do(ask(world, "stop"))
    grow_old(world, world.times.stop_grace_s - 5.0)
    assert world.allocation().phase is not Phase.ENDED
    grow_old(world, 10.0)
    assert world.allocation().phase is Phase.ENDED
    assert "not asked for again" in world.allocation().end_reason
    world.walk()
    assert (world.state(), world.server().dirty) == (State.AVAILABLE, False)
    # no tombstone: the instance may come again
    assert outcome(world, "prepare") == "s1"


def test_a_create_within_the_grace_takes_it_back(world):
    world.ask_for_deployment()
    world.do(ask(world, "stop"))
    assert outcome(world, "create") == "DEADLINE"
    assert world.allocation().stop_grace_until is None
    grow_old(world, 2 * world.times.stop_grace_s)
    assert world.allocation().phase is Phase.ACTIVE


def test_a_stop_during_a_create_ends_nothing_while_it_runs_nor_after_its_success(world):
    c.agent(takes_s=100.0)(world)

    async def stopped_in_the_middle():
        creating = asyncio.ensure_future(ask(world, "create", within=3000.0))
        await world.clock.sleep(30.0)
        await ask(world, "stop")
        await world.clock.sleep(world.times.stop_grace_s + 10.0)
        await world.housekeeping.round()
        return await creating

    answer = world.live(stopped_in_the_middle())
    assert answer.text == "running on s1"
    grow_old(world, 10.0)
    allocation = world.allocation()
    assert (allocation.phase, allocation.stop_grace_until) == (Phase.ACTIVE, None)


def test_a_stop_counts_for_nothing_once_status_said_on(active):
    unheard(active)
    active.do(ask(active, "stop"))
    note(active, Power.ON)
    view = active.do(active.bare_metal.observe(REQUEST.key))
    assert view.says_on()
    grow_old(active, 2 * active.times.stop_grace_s)
    assert active.allocation().phase is Phase.ACTIVE
    assert active.allocation().known_to_caller


def test_a_stop_while_the_first_boot_is_watched_waits_for_it_and_stops(world):
    half_deployed(world)
    world.waiting["s1"].append(world.open_now().id)
    answer = world.power("off")
    assert answer.text == "off, its port is in quarantine"
    assert world.history()[-2:] == [("deploy", Status.DONE), ("power", Status.DONE)]
    assert world.power_of() is Power.OFF


def test_a_stop_while_the_first_boot_is_quarantined_says_so_and_ends(world):
    half_deployed(world)
    c.silent(world)
    world.open(QUARANTINE)
    world.walk()
    assert outcome(world, "stop") == "INSTANCE_QUARANTINED"
    assert outcome(world, "create") == "INSTANCE_QUARANTINED"


def test_a_stop_whose_first_boot_fails_while_it_waits_has_nothing_to_stop(world):
    half_deployed(world)
    world.waiting["s1"].append(world.open_now().id)
    world.machines["s1"].console = ()
    c.machine(power=Power.OFF)(world)
    world.kept.files.clear()
    assert world.power("off").text == "nothing to stop"
    assert world.state() is State.QUARANTINED


def test_a_stop_supersedes_a_start_that_is_running(active):
    active.power("off")

    async def both():
        starting = asyncio.ensure_future(ask(active, "start", within=3000.0))
        await active.clock.sleep(0.5)
        answer = await ask(active, "stop", within=3000.0)
        return answer, await asyncio.gather(starting, return_exceptions=True)

    active.round_s = 1.0
    answer, (error,) = active.live(both())
    assert answer.text == "off, its port is in quarantine"
    assert error.code is ErrorCode.SUPERSEDED
    assert active.power_of() is Power.OFF
    assert active.placement() is Placement.QUARANTINE
    assert active.allocation().wanted is Power.OFF


def test_a_command_that_cannot_be_opened_changes_nothing_that_is_wanted(active):
    before, released = active.allocation(), new_operation(RELEASE, "x")
    commands = TenantPower(
        records=active.records, bell=active.bell, clock=active.clock, times=active.times
    )
    active.database.allocations.end_and_open(REQUEST.key, "x", released, tombstone=False, now=0.0)
    with pytest.raises(RackwrightError):
        active.do(commands._command(before, START, REQUEST, Power.OFF, ()))
    after = active.allocation()
    assert (after.wanted, after.commanded_at) == (before.wanted, before.commanded_at)


def test_a_stop_that_does_not_reach_off_fails_and_keeps_the_instance(active):
    c.never_off(active)
    with pytest.raises(RackwrightError, match="POWER_NOT_REACHED"):
        active.power("off")
    assert active.state() is State.ACTIVE
    assert active.allocation().phase is Phase.ACTIVE
    assert active.placement() is Placement.TENANT
    assert active.kinds()[-1] == "power"
