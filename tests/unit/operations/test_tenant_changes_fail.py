"""A reinstall, reseed or rescue that fails, or is refused, never ends the allocation."""

import pytest

from provisioner.errors import ErrorCode, RackwrightError, TransientError
from provisioner.operations.lists import follow
from provisioner.operations.quarantine import QUARANTINE
from provisioner.ports.controllers import BootDevice
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from tests.unit.operations import causes as c
from tests.unit.operations.asking import deleted, note, reserved
from tests.unit.operations.changing import (
    ACTION,
    NAMES,
    OFF,
    Asking,
    desk,
    fail,
    settled,
)
from tests.unit.operations.world import REQUEST, tenant


# --- failures ------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_a_failed_one_leaves_the_instance_off_cut_off_and_its_own(active, asking, name):
    before = active.allocation()
    operation = fail(active, asking, name)
    assert active.operation(operation).code is ErrorCode.DISK_FAILED
    assert active.history()[-1] == ("power", Status.DONE)
    assert settled(active) == OFF
    after = active.allocation()
    assert (after.id, after.phase, after.ended_at) == (before.id, Phase.ACTIVE, None)
    assert active.seeds() == []
    mac = active.server().nics[0].mac
    assert mac not in active.offers.offered
    assert active.database.boots.boot_of_mac(mac) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_one_may_be_asked_again(active, asking, name):
    fail(active, asking, name)
    assert asking.to_its_end(name).operation.status is Status.DONE
    assert active.power_of() is Power.ON


@pytest.mark.parametrize("name", NAMES)
def test_a_failed_one_may_be_deleted(active, asking, name):
    fail(active, asking, name)
    deleted(active)
    active.walk()
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)


@pytest.mark.parametrize("act", ["on", "cycle"])
def test_after_a_failed_reinstall_nothing_is_started_until_one_succeeded(active, asking, act):
    fail(active, asking, "reinstall")
    pressed = len(active.machines["s1"].booted_from)
    with pytest.raises(RackwrightError, match="REINSTALL_NEEDED"):
        active.power(act)
    with pytest.raises(RackwrightError, match="REINSTALL_NEEDED"):
        active.live(active.bare_metal.deploy(REQUEST, until=active.within(60.0)))
    with pytest.raises(RackwrightError, match="REINSTALL_NEEDED"):
        active.live(desk(active).power_cycle(ACTION, until=active.within(60.0)))
    assert asking.refused("reseed") == "REINSTALL_NEEDED"
    assert len(active.machines["s1"].booted_from) == pressed
    assert active.power("off").text == "off, its port is in quarantine"
    note(active, Power.OFF)
    asking.to_its_end("reinstall", ends=Power.OFF)
    assert active.power("on").text == "started"


def test_a_rescue_is_allowed_after_a_failed_reinstall_and_a_start_is_not(active, asking):
    fail(active, asking, "reinstall")
    asking.to_its_end("rescue")
    assert active.state() is State.RESCUE
    with pytest.raises(RackwrightError, match="REINSTALL_NEEDED"):
        active.power("cycle")


def test_a_reinstall_that_failed_before_it_wrote_anything_is_no_reason_to_start_nothing(
    active, asking
):
    active.agents["s1"].silent_from = "hello"
    asking.begin("reinstall")
    active.walk()
    active.agents["s1"].silent_from = ""
    assert settled(active) == OFF
    assert not active.allocation().needs_reinstall
    assert active.power("on").text == "started"


@pytest.mark.parametrize("name", ["reseed", "rescue"])
def test_after_another_failed_one_its_own_system_may_be_started(active, asking, name):
    fail(active, asking, name)
    assert active.allocation().needs_reseed == (name == "reseed")
    assert active.power("on").text == "started"
    assert active.machines["s1"].booted_from[-1] is BootDevice.DISK


@pytest.mark.parametrize("name", NAMES)
def test_another_machine_is_written_by_nobody_and_the_allocation_goes_on(active, asking, name):
    c.facts(c.other_uuid)(active)
    operation = asking.begin(name)
    active.walk()
    assert active.operation(operation).code is ErrorCode.FACTS_DIFFER
    assert active.allocation().phase is Phase.ACTIVE
    assert settled(active) == OFF
    assert not {"write_image", "write_seed", "rescue"} & set(active.agents["s1"].done)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_cancelled_is_cut_off_as_well(active, asking, name):
    operation = asking.begin(name)
    active.do(active.walk_step(operation, "agent-called-in"))
    active.database.operations.cancel(operation, "ann", follow, now=active.clock.wall())
    active.walk()
    assert active.operation(operation).status is Status.CANCELLED
    assert settled(active) == OFF


@pytest.mark.parametrize("name", NAMES)
def test_where_the_controller_falls_silent_the_ports_are_shut_and_it_is_tried_again(
    active, asking, name
):
    operation = asking.begin(name)
    active.when("agent-called-in", lambda: c.silent(active))
    active.agents["s1"].silent_from = "hello"
    active.walk()
    assert active.operation(operation).status is Status.FAILED
    assert active.history()[-1] == ("power", Status.FAILED)
    assert (active.state(), active.placement()) == (State.ACTIVE, Placement.SHUT)
    assert active.allocation().off_first
    active.machines["s1"].silent = False
    note(active, Power.ON)
    for _ in range(2):
        active.pass_time(310.0)
        active.do(active.housekeeping.round())
    active.walk()
    assert settled(active) == OFF
    assert not active.allocation().off_first


@pytest.mark.parametrize("name", NAMES)
def test_a_start_after_it_never_meets_what_may_be_ours(active, asking, name):
    """The cut-off could not be had; the machine still runs the agent."""
    operation = asking.begin(name)
    active.do(active.walk_step(operation, "agent-called-in"))
    active.database.operations.cancel(operation, "ann", follow, now=active.clock.wall())
    cut_off = active.open_now()
    active.database.operations.cancel(cut_off.id, "ann", follow, now=active.clock.wall())
    active.waiting.clear()
    assert active.power_of() is Power.ON
    assert active.power("on").text == "started"
    assert active.machines["s1"].booted_from[-1] is BootDevice.DISK


# --- what is refused before anything is touched --------------------------------------------------
def untouched(world):
    return world.open_now() is None and world.power_of() is Power.ON and world.seeds() == []


async def silent(_request, _size):
    raise TransientError(ErrorCode.TRUTH_SILENT, "no answer")


@pytest.mark.parametrize("name", ["reinstall", "reseed"])
def test_while_cloudstack_is_silent_nothing_begins(active, asking, name):
    assert asking.refused(name, certify=silent) == "TRUTH_SILENT"
    assert untouched(active)


@pytest.mark.parametrize("name", NAMES)
def test_a_machine_that_does_not_answer_is_left_as_it_runs(active, asking, name):
    note(active, Power.UNKNOWN)
    assert asking.refused(name) == "CONTROLLER_UNREACHABLE"
    active.pass_time(active.times.reading_too_old_s + 10.0)
    assert asking.refused(name) == "CONTROLLER_UNREACHABLE"
    assert untouched(active)


@pytest.mark.parametrize("name", NAMES)
def test_an_adopted_machine_is_not_written(active, asking, name):
    active.database.servers.change("s1", baseline=None)
    assert asking.refused(name) == "STATE_CONFLICT"
    assert untouched(active)


@pytest.mark.parametrize("name", NAMES)
def test_without_a_ramdisk_it_ends_before_power_and_the_system_runs_on(active, asking, name):
    before = active.allocation()
    active.ramdisk = None
    with pytest.raises(RackwrightError, match="RAMDISK_MISSING"):
        asking.to_its_end(name)
    assert untouched(active)
    after = active.allocation()
    assert (after.wanted, after.off_first, after.needs_reinstall) == (Power.ON, False, False)
    assert after.id == before.id
    assert active.leads() == tenant(101)


@pytest.mark.parametrize("name", NAMES)
def test_a_held_service_begins_nothing(active, name):
    note(active, Power.ON)
    assert Asking(active, held="the marker is ahead").refused(name) == "SERVICE_HELD"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("begin", "fixture", "code"),
    [
        (lambda _: None, "world", "INSTANCE_UNKNOWN"),
        (reserved, "world", "INSTANCE_BUSY"),
        (deleted, "active", "INSTANCE_DELETED"),
        (lambda w: (w.open(QUARANTINE), w.walk()), "active", "INSTANCE_QUARANTINED"),
    ],
)
def test_of_what_does_not_run(request, name, begin, fixture, code):
    world = request.getfixturevalue(fixture)
    begin(world)
    assert Asking(world).refused(name) == code


def test_during_an_installation_its_operation_is_named(world):
    operation = world.ask_for_deployment()
    with pytest.raises(RackwrightError, match=f"INSTANCE_BUSY.*{operation}"):
        world.do(Asking(world)("reinstall"))


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("second", NAMES)
def test_a_different_one_is_busy_and_names_what_goes_on(active, asking, first, second):
    operation = asking.begin(first)
    if first == second:
        assert asking.begin(second) == operation
        return
    with pytest.raises(RackwrightError, match=f"INSTANCE_BUSY.*{operation}"):
        active.do(asking(second))
    assert active.seeds() == ([] if first == "rescue" else [operation])
