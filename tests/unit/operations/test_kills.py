"""The service dies: what was in flight goes on, nothing is done twice that must not be."""

import asyncio
from contextlib import suppress
from functools import partial

import pytest

from provisioner.errors import ErrorCode
from provisioner.operations.lists import BY_NAME, follow
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.steps import new_operation
from provisioner.ports.controllers import BootDevice
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations import causes as c
from tests.unit.operations.world import REQUEST, Killed, tenant


def walk_on(world, every=None):
    """Walk to the end, however often the service dies; answers how often it did."""
    deaths = 0
    while True:
        try:
            world.walk()
        except Killed:
            deaths += 1
            world.crash()
            if every:
                world.calls.die_at = world.calls.count + every
        else:
            world.calls.die_at = None
            return deaths


def die_once_after_each_step_of(world, name):
    names = BY_NAME[name].names()
    world.effects.die_after = dict.fromkeys(names, 1)
    return len(names)


def assert_deployed(world, operation):
    assert world.operation(operation).status is Status.DONE
    assert world.state() is State.ACTIVE
    assert world.leads() == tenant(101)
    assert world.machines["s1"].booted_from == [BootDevice.NETWORK, BootDevice.DISK]
    assert world.agents["s1"].done == [
        "read_nonce",
        "write_image",
        "write_seed",
        "set_boot_order",
        "power_off",
    ]
    assert len(world.agents["s1"].seeds) == 1
    assert world.power_of() is Power.ON


def assert_released(world, operation, records=1):
    assert world.operation(operation).status is Status.DONE
    assert (world.state(), world.server().dirty) == (State.AVAILABLE, False)
    assert world.placement() is Placement.QUARANTINE
    assert world.power_of() is Power.OFF
    done = world.agents["s1"].done
    assert [kind for kind in done if kind in {"mark", "erase", "verify"}] == [
        "mark",
        "erase",
        "verify",
    ]
    mine = [
        each
        for each in world.database.evidence.records()
        if each["document"].get("reason", {}).get("operation") == operation
    ]
    assert len(mine) == records
    assert world.machines["s1"].booted_from.count(BootDevice.NETWORK) == 1


def test_a_deployment_that_dies_after_the_act_of_each_step_ends_the_same(world):
    steps = die_once_after_each_step_of(world, "deploy/1")
    operation = world.ask_for_deployment()
    assert walk_on(world) == steps
    assert_deployed(world, operation)
    effects = world.database.effects.effects(operation)
    assert {each.beginnings for each in effects} == {2}


def test_a_release_that_dies_after_the_act_of_each_step_ends_the_same(active):
    steps = die_once_after_each_step_of(active, "release/2")
    operation = active.ask_for_release()
    assert walk_on(active) == steps
    assert_released(active, operation)


@pytest.mark.parametrize("first", [3])
def test_a_deployment_that_dies_at_any_call_ends_the_same(world, first):
    operation = world.ask_for_deployment()
    world.calls.die_at = world.calls.count + first
    assert walk_on(world, every=12) >= 2
    assert_deployed(world, operation)


@pytest.mark.parametrize("first", [2])
def test_a_release_that_dies_at_any_call_ends_the_same(active, first):
    operation = active.ask_for_release()
    active.calls.die_at = active.calls.count + first
    assert walk_on(active, every=12) >= 2
    assert_released(active, operation)


@pytest.mark.parametrize("name", ["start/1", "stop/1", "reboot/1"])
def test_a_power_verb_that_dies_after_each_step_ends_the_same(active, name):
    die_once_after_each_step_of(active, name)
    active.open(BY_NAME[name], vlans=[101])
    walk_on(active)
    assert active.history()[-1] == ("power", Status.DONE)
    assert active.power_of() is (Power.OFF if name == "stop/1" else Power.ON)


def test_a_quarantine_and_a_wipe_that_die_after_each_step_end_the_same(world):
    operation = world.open(QUARANTINE, reason="a test")
    die_once_after_each_step_of(world, "quarantine/1")
    assert walk_on(world) == 4
    assert world.operation(operation).status is Status.DONE
    assert world.state() is State.QUARANTINED
    serial = world.server().baseline.disks[0].serial
    steps = die_once_after_each_step_of(world, "clean/2")
    operation = world.open(BY_NAME["clean/2"], erase=[serial])
    assert walk_on(world) == steps
    assert_released(world, operation)


def test_a_step_that_always_takes_the_service_down_is_given_up(world):
    world.effects.die_after["same-machine"] = 99
    operation = world.ask_for_deployment()
    assert walk_on(world) == 5 + 3  # one more for each minute that it may take
    ended = world.operation(operation)
    assert ended.code is ErrorCode.CANNOT_TELL
    assert "began 9 times" in ended.brief
    assert world.state() is State.QUARANTINED
    assert world.power_of() is Power.OFF


def test_a_wait_that_was_nearly_over_gets_a_grace_after_a_start(world):
    """The service was away when the agent called in; it calls again until it is heard."""
    world.agents["s1"].boots_s = world.times.agent_call_in_s + 30.0
    world.effects.die_after["on-to-network-for-tenant"] = 1
    operation = world.ask_for_deployment()
    walk_on(world)
    assert world.operation(operation).status is Status.DONE


def test_without_a_start_in_between_there_is_no_grace(world):
    world.pass_time(world.runner.grace_s)
    world.agents["s1"].boots_s = world.times.agent_call_in_s + 30.0
    operation = world.ask_for_deployment()
    world.walk()
    assert world.operation(operation).code is ErrorCode.AGENT_SILENT


def test_an_agent_gets_its_whole_silence_anew_after_a_start(world):
    world.pass_time(world.runner.grace_s)
    c.agent(takes_s=170.0)(world)
    operation = world.ask_for_deployment()
    world.until(lambda: "write-image" in world.results(operation))
    world.pass_time(100.0)
    world.crash()
    world.walk()
    assert world.operation(operation).status is Status.DONE


# --- superseded and cancelled -----------------------------------------------------------------
def test_a_superseded_operation_writes_nothing_more(world):
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "agent-called-in"))
    before = world.database.effects.effects(operation)
    released = world.ask_for_release()
    assert world.do(world.runner.run(operation, "same-machine")) == "failed"
    assert world.database.effects.effects(operation) == before
    assert world.operation(operation).status is Status.SUPERSEDED
    world.walk()
    assert world.operation(released).status is Status.DONE
    assert (world.state(), world.server().dirty) == (State.AVAILABLE, False)


def test_a_superseded_operation_stops_waiting_for_its_agent(world):
    world.round_s = 1.0
    world.when("write-image", lambda: c.agent(takes_s=120.0)(world))
    operation = world.ask_for_deployment()
    world.until(lambda: "write-image" in world.results(operation))
    began, key = world.clock.wall(), world.allocation().key
    answer = world.live(world.bare_metal.release(key, "lab", until=world.within(20.0)))
    assert answer.text == "off is confirmed; the wipe follows"
    assert world.clock.wall() - began <= 10.0
    c.agent(takes_s=1.0)(world)
    world.until(lambda: world.state() is State.AVAILABLE)
    assert world.operation(operation).status is Status.SUPERSEDED
    assert "write_image" not in world.agents["s1"].done


def test_an_act_that_ends_after_its_operation_was_superseded_is_still_on_record(world):
    operation = world.ask_for_deployment()
    release = new_operation(BY_NAME["release/2"], "lab")
    end = partial(
        world.database.allocations.end_and_open, REQUEST.key, "deleted", release, tombstone=True
    )
    world.when("off", lambda: end(now=world.clock.wall()))
    world.do(world.walk_one(operation))
    effects = {each.step: each for each in world.database.effects.effects(operation)}
    assert effects["off"].done is not None
    assert "port-to-provisioning" not in effects


def test_cancelled_before_its_first_step_leaves_the_server_free(world):
    operation = world.ask_for_deployment()
    world.database.operations.cancel(operation, "ann", follow, now=world.clock.wall())
    world.walk()
    assert world.state() is State.AVAILABLE
    assert world.machines["s1"].calls == []


def test_cancelled_after_power_is_quarantined_off_and_cut_off(world):
    operation = world.ask_for_deployment()
    world.when(
        "write-image",
        lambda: world.database.operations.cancel(operation, "ann", follow, now=0.0),
    )
    world.walk()
    assert world.operation(operation).status is Status.CANCELLED
    assert (world.state(), world.server().dirty) == (State.QUARANTINED, True)
    assert world.power_of() is Power.OFF
    assert world.placement() is Placement.QUARANTINE
    assert world.kinds()[-1] == "quarantine"


def until_begun(world, step):
    """What runs goes on until this step has begun, and a second more."""

    async def wait():
        begun = asyncio.Event()
        world.when(step, begun.set)
        await begun.wait()
        await world.clock.sleep(1.0)

    world.do(wait())


def dies_in(world, step, times):
    """The service is killed so often within one step, a moment after it has begun."""
    for _ in range(times):
        running = world.loop.create_task(world.walk_all())
        until_begun(world, step)
        running.cancel()
        with suppress(asyncio.CancelledError):
            world.do(running)
        world.crash()


@pytest.mark.parametrize(
    ("kind", "step"), [("deploy", "write-image"), ("release", "erase"), ("release", "verify")]
)
def test_a_long_step_outlives_many_restarts(request, kind, step):
    world = request.getfixturevalue("world" if kind == "deploy" else "active")
    world.agents["s1"].takes_s = 60.0
    operation = world.ask_for_deployment() if kind == "deploy" else world.ask_for_release()
    dies_in(world, step, 12)
    world.walk()
    assert world.operation(operation).status is Status.DONE
    done = {each.step: each for each in world.database.effects.effects(operation)}
    assert done[step].beginnings == 13
    assert world.agents["s1"].done.count(step.replace("-", "_")) == 1
