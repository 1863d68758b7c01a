"""Disks of a protected instance whose server is in quarantine: no wipe before its hold is over."""

import pytest
import sqlalchemy as sa

from provisioner.operations.desk import Inspect, Provide, Rebaseline
from provisioner.operations.quarantine import QUARANTINE
from provisioner.servers.allocation import Protection
from provisioner.servers.model import Power, State
from provisioner.servers.turns import Pace
from tests.unit.operations.test_desk import ANN, operations_of, servers_of
from tests.unit.operations.world import REQUEST

HELD = Pace(at_most_per_hour=100, protected_hold_s=900.0)
WIPES = {
    "provide": (Protection.PROTECTED, lambda _serial: Provide()),
    "provide --erase": (Protection.UNKNOWN, lambda serial: Provide(erase=(serial,))),
    "rebaseline": (Protection.PROTECTED, lambda _serial: Rebaseline(reason="a new fan")),
    "inspect": (Protection.UNKNOWN, lambda _serial: Inspect()),
}


@pytest.fixture
def held(active):
    """s1's instance is active, and a hold lasts a quarter of an hour."""
    active.pace = HELD
    active.crash()
    return active


def quarantined(world):
    world.open(QUARANTINE, "s1", reason="a fan smells")
    world.until(lambda: world.open_now() is None)
    return world


def delete(world, protection=Protection.PROTECTED):
    until = world.within(20.0)
    act = world.bare_metal.release(REQUEST.key, "lab", until=until, protection=protection)
    answer = world.live(act).text
    world.pass_time(120.0)
    return answer


def ask(world, act, *, dry_run=False):
    return world.do(servers_of(world).act("s1", act, ANN, dry_run=dry_run))


def erased(world):
    return world.agents["s1"].done.count("erase")


def waits(world):
    return [each.server for each in world.database.turns.waiting()] == ["s1"]


def assert_held_from(world, ended_at, text):
    assert "but the wipe waits until 2027-" in text
    assert f"instance lab/{REQUEST.key.instance} was protected" in text
    assert "`rackwright operation release` lets it go on" in text
    world.until(lambda: waits(world))
    assert world.operation(world.open_now().id).note.startswith("waits until 2027-")
    world.pass_time(ended_at + HELD.protected_hold_s - 60.0 - world.clock.monotonic())
    assert (erased(world), world.server().dirty, world.power_of()) == (0, True, Power.OFF)
    world.until(lambda: world.state() is State.AVAILABLE, within=1800.0)
    assert erased(world) == 1


@pytest.mark.parametrize("act", WIPES)
def test_a_delete_in_quarantine_holds_the_disks_whatever_is_asked_then(held, act):
    protection, act_on = WIPES[act]
    quarantined(held)
    assert "stays there, not wiped" in delete(held, protection)
    asked = ask(held, act_on(held.server().baseline.disks[0].serial))
    assert_held_from(held, held.allocation().ended_at, asked.text)


@pytest.mark.parametrize("how", ["quarantined", "cancelled"])
def test_a_hold_that_was_cut_short_by_a_quarantine_goes_on_with_the_next_wipe(held, how):
    delete(held)
    held.pass_time(300.0)
    if how == "quarantined":
        quarantined(held)
    else:
        held.live(operations_of(held).cancel(held.open_now().id, ANN, dry_run=False))
        held.until(lambda: held.open_now() is None)
    assert_held_from(held, held.allocation().ended_at, ask(held, Provide()).text)


def test_each_wipe_that_is_asked_for_waits_for_the_same_end(held):
    delete(quarantined(held))
    for _ in range(2):
        ask(held, Provide())
        held.until(lambda: waits(held))
        held.pass_time(100.0)
        quarantined(held)
    assert_held_from(held, held.allocation().ended_at, ask(held, Provide()).text)


def test_a_hold_in_quarantine_ends_by_name(held):
    delete(quarantined(held))
    asked = ask(held, Provide())
    held.until(lambda: waits(held))
    desk = operations_of(held)
    planned = held.do(desk.release(asked.operation, ANN, dry_run=True))
    assert [step.name for step in planned.steps][:2] == ["rest", "port-to-provisioning"]
    held.live(desk.release(asked.operation, ANN, dry_run=False))
    held.until(lambda: held.state() is State.AVAILABLE, within=600.0)


def test_what_was_let_go_is_held_no_more(held):
    """Somebody said so by name, and then the machine failed."""
    delete(held)
    held.live(operations_of(held).release(held.open_now().id, ANN, dry_run=False))
    quarantined(held)
    asked = ask(held, Provide())
    assert asked.text == "s1 is being wiped, then offered"
    held.until(lambda: held.state() is State.AVAILABLE, within=600.0)


def test_a_dry_run_says_that_it_would_wait(held):
    delete(quarantined(held))
    planned = ask(held, Provide(), dry_run=True)
    assert "clean/2 would be opened; but the wipe waits until 2027-" in planned.text
    assert held.open_now() is None


def test_after_its_time_nothing_is_held(held):
    delete(quarantined(held))
    held.pass_time(HELD.protected_hold_s)
    assert ask(held, Provide()).text == "s1 is being wiped, then offered"
    held.until(lambda: held.state() is State.AVAILABLE, within=600.0)


@pytest.mark.parametrize("protection", [Protection.NOT_ASKED, Protection.UNPROTECTED])
def test_disks_of_any_other_are_wiped_when_it_is_asked_for(held, protection):
    delete(quarantined(held), protection)
    assert ask(held, Provide()).text == "s1 is being wiped, then offered"
    held.until(lambda: held.state() is State.AVAILABLE, within=600.0)


def test_a_hold_is_of_one_tenancy_and_not_of_the_next(held):
    delete(held)
    held.live(operations_of(held).release(held.open_now().id, ANN, dry_run=False))
    held.until(lambda: held.state() is State.AVAILABLE, within=600.0)
    assert ask(held, Provide()).text == "s1 is being wiped, then offered"
    held.until(lambda: held.state() is State.AVAILABLE, within=600.0)


def test_by_plain_sql_nothing_is_erased_before_the_hold_is_over(held):
    delete(quarantined(held))
    record = held.operation(ask(held, Provide()).operation)
    erase = (
        "INSERT INTO effect (operation, step, epoch, begun, result, beginnings)"
        f" VALUES ('{record.id}', 'erase', {record.epoch}, 1, '{{}}', 1)"
    )
    with (
        held.database.engine.begin() as connection,
        pytest.raises(sa.exc.IntegrityError, match="waits for its turn"),
    ):
        connection.exec_driver_sql(erase)
