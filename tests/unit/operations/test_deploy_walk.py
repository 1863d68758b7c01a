"""A deployment from its first step to its last, where all goes well."""

import hashlib
import shutil
from functools import partial

import pytest

from provisioner.ports.controllers import BootDevice
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations.calls import (
    DEPLOY,
    OFF_AGAIN,
    at_each_step,
    calls,
    last,
)
from tests.unit.operations.world import REQUEST, World, make_seed, tenant


@pytest.fixture(scope="module")
def deployed(free_template, tmp_path_factory):
    """A world after one deployment, to be looked at only; with where the port led."""
    world = World(shutil.copytree(free_template, tmp_path_factory.mktemp("deployed") / "state"))
    world.ask_for_deployment()
    world.seen = placements_by_step(world)
    world.walk()
    yield world
    world.close()
    assert world.trespasses == []


def test_a_deployment_makes_these_calls_in_this_order(deployed):
    world, operation = deployed, last(deployed)
    assert world.journal(operation) == calls(world, DEPLOY)
    assert world.operation(operation).status is Status.DONE


def test_a_deployed_instance_is_active_on_a_dirty_server_in_its_network(deployed):
    world = deployed
    server, allocation = world.server(), world.allocation()
    assert (server.state, server.dirty) == (State.ACTIVE, True)
    assert (allocation.phase, allocation.wanted) == (Phase.ACTIVE, Power.ON)
    assert allocation.first_boot_asked
    assert allocation.ever_powered
    assert not allocation.known_to_caller
    assert world.leads() == tenant(101)
    assert world.power_of() is Power.ON
    assert world.machines["s1"].booted_from == [BootDevice.NETWORK, BootDevice.DISK]
    assert world.offers.offered == {}


def test_the_agent_of_a_deployment_is_asked_for_these_orders(deployed):
    assert deployed.agents["s1"].done == [
        "read_nonce",
        "write_image",
        "write_seed",
        "set_boot_order",
        "power_off",
    ]


def test_the_seed_is_the_servers_own_is_written_once_and_is_gone_then(world):
    operation = world.ask_for_deployment()
    seed = world.do(make_seed(REQUEST, world.server(), 512))
    kept = world.operation(operation).parameters
    assert kept["seed_sha256"] == hashlib.sha256(seed).hexdigest()
    assert kept["seed_bytes"] == len(seed)
    assert world.database.seeds.seed(operation) == seed
    world.walk()
    assert world.agents["s1"].seeds == [seed]
    assert world.database.seeds.seed(operation) is None


def test_a_seed_that_nobody_acknowledged_to_the_api_is_dropped_by_its_step(reach):
    world = reach("deploy", "agent-called-in")
    operation = world.open_now().id
    world.agents["s1"].seed_store = Unwilling(world.database.seeds)
    world.walk()
    assert world.database.seeds.seed(operation) is None


class Unwilling:
    """Seeds whose API forgets to drop them."""

    def __init__(self, seeds):
        self.seed = seeds.seed

    def drop_seed(self, operation):
        pass


def test_the_port_is_with_us_only_between_off_and_off(deployed):
    world, operation, seen = deployed, last(deployed), deployed.seen
    ours = {step for step, placement in seen.items() if placement is Placement.PROVISIONING}
    steps = world.operation(operation).steps
    first, final = steps.index("port-to-provisioning"), steps.index("agent-off")
    assert ours == set(steps[first + 1 : final + 2])  # as each step begins
    theirs = {step for step, placement in seen.items() if placement is Placement.TENANT}
    assert theirs == {"disk-first", "first-on", "alive"}


def placements_by_step(world):
    """Where the port leads as each step begins."""
    return at_each_step(world, world.placement)


def test_dirty_is_set_before_the_first_power_on(world):
    dirty_at_press = []
    machine = world.machines["s1"]
    press = machine.press

    class Watched(type(machine)):
        __slots__ = ()

        def press(self, act):
            dirty_at_press.append((str(act), world.server().dirty))
            press(act)

    machine.__class__ = Watched
    world.ask_for_deployment()
    assert not world.server().dirty
    world.walk()
    assert dirty_at_press[0] == ("on", True)


def test_a_login_prompt_is_proof_of_life(deployed):
    assert deployed.results(last(deployed))["alive"] == {"proof": "console", "sign": "login: "}


def test_a_firmware_that_says_so_is_the_best_proof_of_life(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.machines["s1"].started = True
    world.walk()
    assert world.results(operation)["alive"] == {"proof": "boot progress"}


def test_without_a_sign_power_that_stays_is_life_that_is_assumed(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.machines["s1"].console = (b"dropped char",)
    world.walk()
    found = world.results(operation)["alive"]
    assert found["proof"] == "assumed"
    assert found["on_s"] >= world.times.proof_settle_s
    assert found["readings"] >= world.times.proof_settle_s / 5.0
    assert found["unseen"] == "a reset of which its console shows no text"
    assert world.state() is State.ACTIVE


def test_a_life_that_is_assumed_of_a_silent_console_says_what_nobody_could_see(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.machines["s1"].console = ()
    world.walk()
    unseen = world.results(operation)["alive"]["unseen"]
    assert unseen == "any reset that leaves the power on: its console said nothing"


def again_and_again(world, every, act, times=1000):
    """From the step that looks for life on, something happens every few seconds."""
    operation = world.open_now().id
    world.machines["s1"].console = ()

    async def happen():
        for _ in range(times):
            await world.clock.sleep(every)
            act(operation)

    world.when("alive", lambda: world.tasks.append(world.loop.create_task(happen())))
    world.walk()
    return operation


@pytest.mark.parametrize(
    "text", [b"SeaBIOS (version 1.16)", b"iPXE initialising devices", b"Linux version 6.1.0"]
)
def test_a_machine_that_starts_again_and_again_is_not_alive(reach, text):
    world = reach("deploy", "agent-off")
    started = partial(world.kept.append, name="console.log", content=text)
    operation = again_and_again(world, 12.0, started)
    record = world.operation(operation)
    assert record.code == "PROOF_OF_LIFE_MISSING"
    assert "texts of a start" in record.brief
    assert world.state() is State.QUARANTINED


def test_a_machine_that_goes_off_and_on_is_not_alive(reach):
    world = reach("deploy", "agent-off")
    machine = world.machines["s1"]
    change = {Power.ON: Power.OFF, Power.OFF: Power.ON}
    operation = again_and_again(world, 8.0, lambda _: machine._move(change[machine.power]))
    assert world.operation(operation).code == "PROOF_OF_LIFE_MISSING"


def test_after_one_more_start_the_time_without_a_reset_begins_anew(reach):
    world = reach("deploy", "agent-off")
    started = partial(world.kept.append, name="console.log", content=b"Welcome to GRUB!")
    operation = again_and_again(world, 12.0, started, times=2)
    found = world.results(operation)["alive"]
    assert (found["proof"], found["starts_seen"]) == ("assumed", 2)
    effect = next(e for e in world.database.effects.effects(operation) if e.step == "alive")
    assert effect.done - effect.begun >= 24.0 + world.times.proof_settle_s


def test_what_the_agents_system_said_on_the_console_is_no_sign_of_the_tenants(world):
    machine = world.machines["s1"]
    machine.on_power.append(lambda power: silence(machine))
    operation = world.ask_for_deployment()
    world.walk()
    assert b"login: " in world.kept.files[operation, "console.log"]
    assert world.results(operation)["alive"]["proof"] == "assumed"


def silence(machine):
    if machine.booted_from and machine.booted_from[-1] is BootDevice.DISK:
        machine.console = ()


def test_nobody_listens_to_the_tenants_console_after_the_deployment(reach):
    world = reach("deploy", "agent-off")
    endless(world)
    operation = world.open_now().id
    world.walk()
    kept = world.kept.files[operation, "console.log"]
    world.pass_time(100.0)
    assert kept
    assert world.kept.files[operation, "console.log"] == kept


def endless(world):
    world.machines["s1"].console = (b"login: ", *[b"more "] * 10_000)


def test_a_nonce_that_was_read_back_is_the_better_identity(deployed):
    assert deployed.results(last(deployed))["same-machine"] == {"identity": "nonce"}


def test_a_controller_without_a_place_for_a_nonce_gives_identity_by_uuid(world):
    world.machines["s1"].refuses.add("leave_nonce")
    operation = world.ask_for_deployment()
    world.walk()
    assert world.results(operation)["same-machine"] == {"identity": "uuid"}
    assert "read_nonce" not in world.agents["s1"].done
    assert world.state() is State.ACTIVE


def test_a_controller_that_reports_no_boot_device_is_recorded_as_such(world):
    world.machines["s1"].reports_boot = False
    operation = world.ask_for_deployment()
    world.walk()
    assert world.results(operation)["network-first"]["reported"] is False
    assert world.state() is State.ACTIVE


def test_a_server_that_is_on_is_switched_off_before_anything_else(world):
    world.machines["s1"].power = Power.ON
    operation = world.ask_for_deployment()
    world.walk()
    assert world.journal(operation)[:4] == OFF_AGAIN
    assert world.state() is State.ACTIVE


def test_a_port_that_cannot_be_seen_is_recorded_as_unknown(reach):
    world = reach("deploy", "agent-off")
    operation = world.open_now().id
    world.ports.unseen.add("tap-s1")
    world.walk()
    assert world.results(operation)["port-to-tenant"] == {"tap-s1": "unknown"}
    assert world.state() is State.ACTIVE


def test_an_agent_that_does_not_end_is_cut_off(reach):
    world = reach("deploy", "agent-called-in")
    operation = world.open_now().id
    world.agents["s1"].stays = True
    world.walk()
    texts = world.journal(operation)
    assert texts.count("controller: power off") == 1
    assert texts.index("controller: power off") < texts.index("port: port tap-s1 to tenant 101")
    assert world.state() is State.ACTIVE
