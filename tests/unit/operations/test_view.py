"""From what is remembered to what status may look at."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.operations.view import view_of
from provisioner.servers.allocation import Allocation, InstanceKey, Phase, Remembered
from provisioner.servers.model import Power, PowerReading, State
from provisioner.servers.states import Intent

NOW = 1000.0
ON, OFF, UNKNOWN = Power.ON, Power.OFF, Power.UNKNOWN
ACTIVE = Allocation(
    id="a",
    key=InstanceKey(site="lab", instance="i"),
    name="i-1",
    who="lab",
    server="n1",
    pool="a",
    phase=Phase.ACTIVE,
    wanted=ON,
    created_at=0.0,
    known_to_caller=True,
)


def view(*readings, allocation=ACTIVE, state=State.ACTIVE, open_now=None, **more):
    """`readings` are (power, seconds ago), oldest first."""
    noted = [PowerReading(power=power, at=NOW - ago, source="loop") for power, ago in readings]
    given_ = {"failed": False, "held": False, "now": NOW, "too_old_s": 90.0} | more
    known = Remembered(
        allocation=allocation,
        readings=tuple(noted),
        quarantined=state is State.QUARANTINED,
        commanding=open_now is Intent.POWER,
        failed=given_.pop("failed"),
    )
    return view_of(known, **given_)


# readings -> on confirmed, off confirmed, fresh
READINGS = [
    ((), False, False, False),
    (((ON, 5),), True, False, True),
    (((ON, 91),), False, False, False),
    (((OFF, 50), (ON, 5)), True, False, True),
    (((ON, 50), (OFF, 5)), False, False, True),
    (((OFF, 40), (OFF, 20), (OFF, 5)), False, True, True),
    (((OFF, 30), (OFF, 20), (OFF, 5)), False, False, True),
    (((OFF, 40), (OFF, 5)), False, False, True),
    (((OFF, 60), (ON, 40), (OFF, 20), (OFF, 10), (OFF, 5)), False, False, True),
    (((OFF, 60), (UNKNOWN, 40), (OFF, 20), (OFF, 10), (OFF, 5)), False, False, True),
    (((OFF, 60), (OFF, 40), (OFF, 20), (UNKNOWN, 5)), False, False, True),
    (((UNKNOWN, 5),), False, False, True),
]


@pytest.mark.parametrize(("readings", "is_on", "is_off", "fresh"), READINGS)
def test_power_is_confirmed_by_enough_young_readings(readings, is_on, is_off, fresh):
    seen = view(*readings)
    assert (seen.on_confirmed, seen.off_confirmed, seen.fresh) == (is_on, is_off, fresh)


def test_readings_before_the_last_command_say_nothing():
    commanded = replace(ACTIVE, commanded_at=NOW - 30)
    three = ((OFF, 60), (OFF, 45), (OFF, 31))
    assert not view(*three, allocation=commanded).fresh
    assert not view(*three, (OFF, 20), allocation=commanded).off_confirmed
    assert view(*three, (ON, 20), allocation=commanded).on_confirmed


@pytest.mark.parametrize("confirmed", [True, False])
def test_after_the_end_off_is_what_was_confirmed_for_this_tenant(confirmed):
    ended = replace(ACTIVE, phase=Phase.ENDED, ended_at=1.0, off_confirmed=confirmed)
    wiping = view((ON, 5), allocation=ended, state=State.RELEASING)
    assert wiping.off_confirmed is confirmed


def test_a_failure_counts_only_after_the_end():
    ended = replace(ACTIVE, phase=Phase.ENDED, ended_at=1.0)
    assert view(allocation=ended, failed=True).failed
    assert not view(failed=True).failed


@pytest.mark.parametrize("kind", Intent)
def test_only_a_power_operation_is_a_command(kind):
    assert view(open_now=kind).commanding is (kind is Intent.POWER)


def test_quarantine_and_hold_are_passed_on():
    assert view(state=State.QUARANTINED).quarantined
    assert view(held=True).held
    assert not view().quarantined


@given(st.lists(st.tuples(st.sampled_from(Power), st.floats(0, 900)), max_size=8))
def test_off_is_never_said_while_the_newest_word_is_another(readings):
    ordered = sorted(readings, key=lambda each: -each[1])
    seen = view(*ordered)
    assert not (seen.on_confirmed and seen.off_confirmed)
    if ordered and ordered[-1][0] is not OFF:
        assert not seen.off_confirmed
