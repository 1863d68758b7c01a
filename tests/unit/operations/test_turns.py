"""Releases that wait for their turn: fenced at once, wiped later, or when somebody says so."""

import pytest

from provisioner.errors import ErrorCode, RackwrightError
from provisioner.operations.quarantine import QUARANTINE
from provisioner.servers.allocation import Protection
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.servers.turns import Pace
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.asking import note
from tests.unit.operations.test_desk import ANN, code_of, operations_of
from tests.unit.operations.world import REQUEST

OTHER = store.instance_request("22222222-2222-2222-2222-222222222222")
SLOW = Pace(at_most_per_hour=1, protected_hold_s=7200.0)


@pytest.fixture
def both(active):
    """Instances on s1 and s2, and one wipe an hour."""
    active.ask_for_deployment(OTHER)
    active.walk()
    active.pace = SLOW
    active.crash()
    return active


def delete(world, request, within=0.0, **more):
    act = world.bare_metal.release(request.key, "lab", until=world.within(within), **more)
    return world.live(act)


def waiting(world):
    return [each.server for each in world.database.turns.waiting()]


def wipes(world):
    return len(world.database.evidence.records())


def both_deleted(world):
    """s1 is being wiped, s2 waits."""
    delete(world, REQUEST)
    world.until(lambda: world.state("s1") is State.AVAILABLE)
    delete(world, OTHER)
    world.until(lambda: waiting(world) == ["s2"])
    return world.open_now("s2").id


def test_a_delete_beyond_the_pace_succeeds_and_fences_at_once(both):
    delete(both, REQUEST)
    answer = delete(both, OTHER, within=20.0)
    assert answer.text == "off is confirmed; the wipe follows"
    both.until(lambda: waiting(both) == ["s2"], within=120.0)
    assert both.power_of("s2") is Power.OFF
    assert both.placement("s2") is Placement.QUARANTINE
    assert both.allocation(OTHER).off_confirmed


def test_the_operator_sees_why_it_waits_and_how_it_goes_on(both, caplog):
    operation = both_deleted(both)
    said = both.operation(operation).note
    assert said == (
        "waits for its turn: of pool a at most 1 wipes begin in an hour; "
        f"`rackwright operation release {operation}` lets it go on"
    )
    warned = [each for each in caplog.records if "a wipe waits" in each.message]
    both.pass_time(600.0)
    assert len(warned) == 1
    assert warned[0].levelname == "WARNING"
    assert warned[0].server == "s2"


def test_it_goes_on_by_itself_when_the_hour_has_room(both):
    operation, before = both_deleted(both), wipes(both)
    both.pass_time(1800.0)
    assert (both.state("s2"), both.server("s2").dirty) == (State.RELEASING, True)
    both.until(lambda: both.state("s2") is State.AVAILABLE)
    assert wipes(both) == before + 1
    assert both.operation(operation).note == ""
    assert both.results(operation)["turn"]["waited_s"] > 1800


def test_it_waits_on_after_a_restart(both):
    operation = both_deleted(both)
    both.pass_time(600.0)
    both.crash()
    both.pass_time(1200.0)
    assert waiting(both) == ["s2"]
    assert both.open_now("s2").id == operation
    both.until(lambda: both.state("s2") is State.AVAILABLE)


def test_it_goes_on_by_name(both):
    operation, desk = both_deleted(both), operations_of(both)
    planned = both.do(desk.release(operation, ANN, dry_run=True))
    assert [step.name for step in planned.steps][:2] == ["rest", "port-to-provisioning"]
    both.pass_time(120.0)
    assert waiting(both) == ["s2"]
    asked = both.live(desk.release(operation, ANN, dry_run=False))
    assert asked.operation == operation
    entry = both.database.audit.entries()[0]
    said = (entry.who, entry.act, entry.subject, entry.detail)
    assert said == ("operator ann (uid 1000)", "release", operation, "it waited: pace")
    both.until(lambda: both.state("s2") is State.AVAILABLE, within=1000.0)


def test_the_calls_of_its_dry_run_are_those_that_follow(both):
    operation, desk = both_deleted(both), operations_of(both)
    planned = both.do(desk.release(operation, ANN, dry_run=True))
    before = len(both.journal(operation, "s2"))
    both.live(desk.release(operation, ANN, dry_run=False))
    both.until(lambda: both.state("s2") is State.AVAILABLE)
    every = [f"{call.door}: {call.text}" for step in planned.steps for call in step.calls]
    lines = [b for a, b in zip(["", *every], every, strict=False) if a != b]
    # how an ideal controller of Redfish differs from this fake is test_rehearsal's
    here = [each for each in both.journal(operation, "s2")[before:] if "console" not in each]
    assert [each for each in lines if "console" not in each] == here


def test_it_can_be_let_go_before_it_comes_to_wait(both):
    delete(both, REQUEST)
    delete(both, OTHER)
    operation = both.open_now("s2").id
    both.do(operations_of(both).release(operation, ANN, dry_run=False))
    assert both.database.audit.entries()[0].detail == "before its turn came"
    both.until(lambda: both.state("s2") is State.AVAILABLE, within=1000.0)


def test_what_does_not_wait_cannot_be_let_go(both):
    desk = operations_of(both)
    operation = both.ask_for_release()
    both.walk()
    asked = desk.release(operation, ANN, dry_run=True)
    assert code_of(both, asked) is ErrorCode.OPERATION_ENDED
    both.open(QUARANTINE, "s2")
    asked = desk.release(both.open_now("s2").id, ANN, dry_run=True)
    assert code_of(both, asked) is ErrorCode.STATE_CONFLICT


def test_a_held_service_lets_nothing_go(both):
    operation = both_deleted(both)
    asked = operations_of(both, held="old").release(operation, ANN, dry_run=False)
    assert code_of(both, asked) is ErrorCode.SERVICE_HELD


@pytest.mark.parametrize("how", ["cancelled", "quarantined"])
def test_what_ends_it_while_it_waits_ends_it_at_once(both, how):
    operation = both_deleted(both)
    if how == "cancelled":
        both.live(operations_of(both).cancel(operation, ANN, dry_run=False))
    else:
        both.open(QUARANTINE, "s2", reason="x")
    both.until(lambda: both.open_now("s2") is None, within=120.0)
    assert (both.state("s2"), both.server("s2").dirty) == (State.QUARANTINED, True)
    assert waiting(both) == []
    both.pass_time(7200.0)
    assert (both.state("s2"), both.power_of("s2")) == (State.QUARANTINED, Power.OFF)


# --- somebody switches it on --------------------------------------------------------------------
def by_hand(world, name):
    """On from its disk, and the power loop has seen it."""
    world.machines[name].power = Power.ON
    note(world, Power.ON, name)


def test_one_that_is_switched_on_while_it_waits_goes_off_again(both):
    operation = both_deleted(both)
    by_hand(both, "s2")
    both.until(lambda: both.power_of("s2") is Power.OFF, within=60.0)
    assert both.open_now("s2").id == operation
    both.until(lambda: both.state("s2") is State.AVAILABLE)


def test_one_that_cannot_be_switched_off_again_is_quarantined_and_cut_off(both):
    operation = both_deleted(both)
    by_hand(both, "s2")
    machine = both.machines["s2"]
    machine.deaf_to = set(c.PowerAct)
    both.until(lambda: both.open_now("s2") is None)
    record = both.operation(operation)
    assert (record.code, record.brief[:22]) == ("POWER_NOT_REACHED", "possibly still running")
    assert (both.state("s2"), both.placement("s2")) == (State.QUARANTINED, Placement.SHUT)


# --- protected -----------------------------------------------------------------------------------
@pytest.mark.parametrize("protection", [Protection.PROTECTED, Protection.UNKNOWN])
def test_a_protected_instance_is_fenced_and_stays_un_wiped_until_its_hold_is_over(both, protection):
    before = wipes(both)
    answer = delete(both, REQUEST, within=20.0, protection=protection)
    assert answer.text == "off is confirmed; the wipe follows"
    both.until(lambda: waiting(both) == ["s1"])
    operation = both.open_now().id
    assert both.operation(operation).note.startswith("waits until 2027-")
    assert "the instance was protected, or nobody knew" in both.operation(operation).note
    assert both.placement() is Placement.QUARANTINE
    both.pass_time(SLOW.protected_hold_s - 300.0)
    assert (both.state(), wipes(both), both.server().dirty) == (State.RELEASING, before, True)
    both.until(lambda: both.state() is State.AVAILABLE, within=900.0)
    assert wipes(both) == before + 1


@pytest.mark.parametrize("protection", [Protection.NOT_ASKED, Protection.UNPROTECTED])
def test_any_other_is_wiped_at_once(both, protection):
    delete(both, REQUEST, protection=protection)
    both.until(lambda: both.state() is State.AVAILABLE, within=600.0)


def test_what_was_known_of_an_instance_counts_at_its_delete(both):
    both.database.allocations.mark(both.allocation().id, protection=Protection.PROTECTED)
    delete(both, REQUEST)
    both.until(lambda: waiting(both) == ["s1"])
    both.live(operations_of(both).release(both.open_now().id, ANN, dry_run=False))
    assert both.database.audit.entries()[0].detail == "it waited: protected"
    both.until(lambda: both.state() is State.AVAILABLE, within=600.0)


def test_a_hold_outlives_a_restart(both):
    delete(both, REQUEST, protection=Protection.PROTECTED)
    both.until(lambda: waiting(both) == ["s1"])
    both.pass_time(3600.0)
    both.crash()
    both.pass_time(3000.0)
    assert waiting(both) == ["s1"]
    both.until(lambda: both.state() is State.AVAILABLE, within=1500.0)


def test_nothing_of_an_instance_that_waits_begins_again(both):
    delete(both, REQUEST, protection=Protection.PROTECTED)
    both.until(lambda: waiting(both) == ["s1"])
    for act in (both.bare_metal.reserve(REQUEST), both.bare_metal.deploy(REQUEST, until=0.0)):
        with pytest.raises(RackwrightError, match="INSTANCE_DELETED"):
            both.do(act)
    assert both.operation(both.open_now().id).status is Status.OPEN
