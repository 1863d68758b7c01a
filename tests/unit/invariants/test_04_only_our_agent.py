"""4: a dirty server without an active allocation runs nothing but our agent."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import provisioner
from provisioner.operations.power import START
from provisioner.operations.power_loop import PowerLoop, is_stray
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.ports.controllers import BootDevice, PowerAct
from provisioner.servers.allocation import Allocation, Phase
from provisioner.servers.model import ControllerDriver, Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.servers.power_on import why_not
from provisioner.testing import store
from tests.unit.operations.world import REQUEST, Killed

ROOT = Path(provisioner.__file__).parents[1]


# --- one door ------------------------------------------------------------------------------
def calls_of(name):
    """Modules of the product that call a method of this name, the fakes and the lab left out."""
    found = set()
    for path in (*ROOT.glob("provisioner/**/*.py"), *ROOT.glob("cloudstack_ext/**/*.py")):
        where = path.relative_to(ROOT).as_posix()
        if where.startswith(("provisioner/testing/", "provisioner/lab/", "cloudstack_ext/lab/")):
            continue
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if f".{name}(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                found |= {where} if node.func.attr == name else set()
    return found


def test_there_is_one_way_to_switch_on_and_it_is_guarded():
    assert calls_of("reach_on") == {"provisioner/operations/power_on.py"}
    # the buttons, and behind them the adapters
    assert calls_of("press") == {
        "provisioner/operations/buttons.py",
        "provisioner/adapters/bmc_redfish/controller.py",
    }
    assert calls_of("reset_system") == {"provisioner/adapters/bmc_redfish/talk.py"}


# --- the rule ------------------------------------------------------------------------------
ALLOCATION = Allocation(
    id="1",
    key=REQUEST.key,
    name="i",
    who="lab",
    server="s1",
    pool="a",
    phase=Phase.ACTIVE,
    wanted=Power.ON,
    created_at=0.0,
)


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("living", [True, False])
def test_what_is_on_the_disks_starts_only_for_the_tenant_who_has_them(state, living):
    server, allocation = replace(store.new_server("s1"), state=state), ALLOCATION
    if not living:
        allocation = replace(allocation, phase=Phase.ENDED, ended_at=1.0)
    allowed = living and state in {State.DEPLOYING, State.ACTIVE, State.RESCUE}
    for given in (allocation, replace(allocation, server="s2"), None):
        refusal = why_not(server, given, from_network=False, override=True)
        assert (refusal == "") is (allowed and given is allocation)


def test_the_agent_starts_only_with_the_network_set_as_boot_device():
    server = replace(store.new_server("s1"), state=State.RELEASING)
    assert why_not(server, None, from_network=True, override=False)
    assert not why_not(server, None, from_network=True, override=True)


# --- races ---------------------------------------------------------------------------------
def test_a_start_whose_instance_is_deleted_before_its_turn_switches_nothing_on(active):
    active.power(PowerAct.OFF)
    operation = active.database.operations.open("s1", started(active), now=active.clock.wall()).id
    active.waiting["s1"].clear()
    for step in ("port-to-tenant", "disk-first"):
        assert active.do(active.runner.run(operation, step)) == "done"

    def delete():
        active.database.allocations.end_and_open(
            REQUEST.key,
            "x",
            new_operation(RELEASE, "test"),
            tombstone=True,
            now=active.clock.wall(),
        )

    active.when("on", delete)
    active.machines["s1"].booted_from.clear()
    assert active.do(active.runner.run(operation, "on")) == "failed"
    assert not active.operation(operation).code
    assert active.machines["s1"].booted_from == []
    assert active.power_of() is Power.OFF
    active.walk()
    assert active.state() is State.AVAILABLE


def started(world):
    return replace(store.operation("power", steps=START.names()), parameters={"vlans": [101]})


@pytest.mark.parametrize("was", ["off", "on"])
def test_a_start_that_a_crash_cut_off_is_from_the_network_again(active, was):
    """The boot override holds for one start; the one before the crash has used it up."""
    release = active.ask_for_release()
    active.effects.die_after["on-to-network"] = 1
    with pytest.raises(Killed):
        active.walk()
    if was == "off":  # mains fail, or the firmware found no script for too long
        active.machines["s1"].press(PowerAct.OFF)
        active.do(active.clock.sleep(3))
        assert active.power_of() is Power.OFF
    active.crash()
    active.walk()
    assert active.operation(release).status is Status.DONE
    assert active.machines["s1"].booted_from == [BootDevice.NETWORK] * (2 if was == "off" else 1)


def test_one_that_a_hand_switched_on_before_its_start_is_quarantined(active):
    release = active.ask_for_release()
    active.when("network-first", lambda: press(active))
    active.walk()
    assert active.operation(release).code == "POWER_NOT_REACHED"
    assert active.database.boots.boot_of_mac(active.server().provisioning_nic().mac) is None
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert active.power_of() is Power.OFF
    assert active.placement() is Placement.QUARANTINE


def press(world):
    """Somebody at the machine."""
    machine = world.machines["s1"]
    machine.power, takes = Power.OFF, machine.power_takes_s
    machine.power_takes_s = 0.0
    machine.press(PowerAct.ON)
    machine.settled()
    machine.power_takes_s = takes
    world.trespasses.clear()


# --- the override --------------------------------------------------------------------------
def test_a_controller_that_reports_another_boot_device_gets_no_start(active):
    release = active.ask_for_release()
    active.machines["s1"].misreports_boot = True
    active.machines["s1"].booted_from.clear()
    active.walk()
    assert active.operation(release).code == "BOOT_DEVICE_NOT_SET"
    assert active.machines["s1"].booted_from == []
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)


def test_a_controller_that_reports_none_is_recorded_as_such(active):
    release = active.ask_for_release()
    active.machines["s1"].reports_boot = False
    active.walk()
    assert active.results(release)["network-first"]["reported"] is False
    document = active.database.evidence.records()[-1]["document"]
    assert document["obtained"]["boot_override"] == "this controller does not say"


def test_one_whose_agent_does_not_call_in_is_off_and_quarantined(active):
    release = active.ask_for_release()
    active.agents["s1"].silent_from = "hello"
    active.walk()
    assert active.operation(release).code == "AGENT_SILENT"
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert active.power_of() is Power.OFF


# --- the power loop ------------------------------------------------------------------------
@pytest.mark.parametrize("state", State)
def test_a_dirty_server_that_nobody_has_is_switched_off_wherever_it_is(state):
    server = replace(store.new_server("s1"), state=state, dirty=True)
    owned = state in {State.RESERVED, State.DEPLOYING, State.ACTIVE, State.RESCUE}
    assert is_stray(server) is not owned
    found = replace(server, found_on=True)
    assert is_stray(found) is (not owned and state is not State.ENROLLED)


def test_an_ownerless_dirty_server_that_runs_is_switched_off_and_that_is_said(active, caplog):
    quarantine(active)
    active.database.servers.change("s1", driver=ControllerDriver.SUSHY)
    press(active)
    active.do(loop_of(active).round())
    assert "runs without an owner and is dirty" in caplog.text
    active.walk()
    assert active.power_of() is Power.OFF


def test_a_server_whose_password_cannot_be_opened_hides_no_stray(active, outsider):
    """Its sealed text is damaged; the loop goes on with all the others."""
    quarantine(active)
    for name in ("s1", "s2"):
        active.database.servers.change(name, driver=ControllerDriver.SUSHY)
    outsider(active, "UPDATE server SET password = 'masked:0:00' WHERE name = 's2'")
    press(active)
    readings = active.do(loop_of(active).round())
    assert readings["s2"].power is Power.UNKNOWN
    assert active.open_now().kind == "quarantine"
    active.walk()
    assert active.power_of() is Power.OFF


def test_a_controller_that_breaks_its_library_hides_no_stray(active):
    """A tenant may own one from inside; what it answers must not end the loop of all."""
    quarantine(active)
    for name in ("s1", "s2"):
        active.database.servers.change(name, driver=ControllerDriver.SUSHY)
    host, opened = active.server("s2").controller.host, active.controllers.open

    def breaks(address, *given, **more):
        controller = opened(address, *given, **more)

        async def read_power():
            raise RecursionError("an answer without a bottom")

        if address.host == host:
            controller.read_power = read_power
        return controller

    active.controllers.open = breaks
    press(active)
    readings = active.do(loop_of(active).round())
    assert (readings["s1"].power, readings["s2"].power) == (Power.ON, Power.UNKNOWN)
    assert active.open_now().kind == "quarantine"
    active.walk()


def quarantine(world):
    """s1 without an owner, dirty."""
    world.agents["s1"].silent_from = "hello"
    world.ask_for_release()
    world.walk()
    world.agents["s1"].silent_from = ""
    assert (world.state(), world.server().dirty) == (State.QUARANTINED, True)


def loop_of(world):
    async def stray(server):
        new = new_operation(QUARANTINE, "power loop")
        world.database.operations.open(server.name, new, now=world.clock.wall())

    return PowerLoop(
        servers=world.records.servers,
        operations=world.records.operations,
        conversations=world.doors.conversations,
        clock=world.clock,
        every=15.0,
        every_moving=5.0,
        on_stray=stray,
    )
