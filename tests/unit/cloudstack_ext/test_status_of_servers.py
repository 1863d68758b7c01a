"""What `status` says of instances as they really come to be: the table, row by row."""

import pytest

from cloudstack_ext.power_view import PowerState, row_of
from provisioner.operations.quarantine import QUARANTINE
from provisioner.servers.model import Power, PowerReading
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.conftest import (  # noqa: F401 fixtures
    active,
    active_template,
    free_template,
    world,
)
from tests.unit.operations.world import REQUEST

ON, OFF, UNKNOWN = PowerState.ON, PowerState.OFF, PowerState.UNKNOWN


def row(world, request=REQUEST):  # noqa: F811
    return row_of(world.do(world.bare_metal.observe(request.key)))


def says(world):  # noqa: F811
    """By `status`, and by `statuses` the same."""
    alone = row(world)
    if not world.bare_metal.held and not world.database.allocations.is_deleted(REQUEST.key):
        together = world.do(world.bare_metal.observe_host(REQUEST.key.site, store.HOST))
        assert row_of(together[REQUEST.name]) is alone
    return alone.says


def note(world, power, *ago):  # noqa: F811
    """The power loop read this, so many seconds ago each."""
    for seconds in sorted(ago, reverse=True):
        reading = PowerReading(power=power, at=world.clock.wall() - seconds, source="loop")
        world.database.servers.note_readings({"s1": reading})


def known(world):  # noqa: F811
    world.database.allocations.mark(world.allocation().id, known_to_caller=True)


def test_an_instance_never_heard_of(world):  # noqa: F811
    assert row(world, store.instance_request()).says is UNKNOWN


def test_reserved(world):  # noqa: F811
    world.do(world.bare_metal.reserve(REQUEST))
    note(world, Power.OFF, 60, 30, 0)
    assert says(world) is UNKNOWN


@pytest.mark.parametrize(("is_known", "said"), [(False, UNKNOWN), (True, ON)])
def test_deploying(world, is_known, said):  # noqa: F811
    world.ask_for_deployment()
    if is_known:
        known(world)
    note(world, Power.OFF, 60, 30, 0)
    assert says(world) is said


def test_running(active):  # noqa: F811
    active.pass_time(100.0)
    assert says(active) is UNKNOWN  # nobody has read it for long
    note(active, Power.ON, 5)
    assert says(active) is ON


def test_off_by_itself_only_after_three_readings_over_half_a_minute(active):  # noqa: F811
    active.pass_time(100.0)
    note(active, Power.OFF, 40)
    assert says(active) is UNKNOWN
    note(active, Power.OFF, 20)
    assert says(active) is UNKNOWN
    note(active, Power.OFF, 5)
    assert says(active) is OFF


def test_stopped_and_confirmed(active):  # noqa: F811
    active.power("off")
    active.pass_time(60.0)
    assert says(active) is UNKNOWN
    note(active, Power.OFF, 50, 30, 10)
    assert says(active) is OFF


def test_stopped_and_switched_on_by_hand_is_an_alarm(active):  # noqa: F811
    active.power("off")
    active.pass_time(60.0)
    note(active, Power.ON, 5)
    found = row(active)
    assert (found.says, found.alarm) == (UNKNOWN, True)


def test_while_a_command_is_in_progress(active):  # noqa: F811
    active.pass_time(100.0)
    note(active, Power.ON, 0)
    with pytest.raises(Exception, match="DEADLINE"):
        active.do(active.bare_metal.power(REQUEST, "off", until=active.clock.wall()))
    assert says(active) is UNKNOWN


def test_readings_before_the_last_command_say_nothing(active):  # noqa: F811
    note(active, Power.OFF, 0)
    active.pass_time(35.0)
    note(active, Power.OFF, 10, 0)
    active.pass_time(1.0)
    active.power("on")
    assert says(active) is not OFF


def test_a_silent_controller(active):  # noqa: F811
    active.pass_time(100.0)
    note(active, Power.UNKNOWN, 0)
    assert says(active) is UNKNOWN


def test_quarantined_with_a_living_allocation(active):  # noqa: F811
    active.open(QUARANTINE)
    active.walk()
    note(active, Power.OFF, 60, 30, 0)
    assert says(active) is UNKNOWN


def test_released_is_off_once_off_was_confirmed_and_stays_so_while_it_is_wiped(active):  # noqa: F811
    operation = active.ask_for_release()
    assert says(active) is UNKNOWN
    active.do(active.walk_step(operation, "fence"))
    assert says(active) is OFF
    active.do(active.walk_step(operation, "on-to-network"))
    assert active.power_of() is Power.ON
    assert says(active) is OFF
    active.walk()
    assert says(active) is OFF


def test_released_and_possibly_still_running(active):  # noqa: F811
    c.silent(active)
    active.ask_for_release()
    active.walk()
    assert says(active) is UNKNOWN


@pytest.mark.parametrize(("is_known", "said"), [(False, UNKNOWN), (True, OFF)])
def test_failed_before_and_after_a_success_answer(world, is_known, said):  # noqa: F811
    world.machines["s1"].console = ()
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "first-on"))
    if is_known:
        known(world)
    c.machine(power=Power.OFF)(world)
    world.walk()
    assert world.state() == "QUARANTINED"
    assert says(world) is said


def test_held(active):  # noqa: F811
    active.pass_time(100.0)
    note(active, Power.ON, 0)
    active.bare_metal.held = "restored"
    assert says(active) is UNKNOWN


def test_who_was_told_on_has_it(active):  # noqa: F811
    active.database.allocations.mark(active.allocation().id, known_to_caller=False)
    active.pass_time(100.0)
    assert says(active) is UNKNOWN
    assert not active.allocation().known_to_caller
    note(active, Power.ON, 0)
    assert says(active) is ON
    assert active.allocation().known_to_caller
