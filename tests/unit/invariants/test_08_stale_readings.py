"""8: no stale reading causes an act, or an answer.

Which readings count for `status`: tests/unit/operations/test_view.py.
"""

import pytest

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.operations.power_loop import PowerLoop
from provisioner.operations.quarantine import QUARANTINE
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import ControllerDriver, Power, PowerReading, State
from tests.unit.operations.world import RAMDISK, REQUEST

HOUR_S = 3600.0


def set_back(world, seconds=HOUR_S):
    """Somebody corrected the wall clock, and then the service was started."""
    world.clock._began -= seconds


def read(world, power, ago=0.0):
    reading = PowerReading(power=power, at=world.clock.monotonic() - ago, source="loop")
    world.database.servers.note_readings({"s1": reading})
    return reading


def status(world):
    return power_state(world.do(world.bare_metal.observe(REQUEST.key)))


class Loop:
    """One round of the power loop; `strays` are those it would switch off."""

    def __init__(self, world):
        world.database.servers.change("s1", driver=ControllerDriver.SUSHY)
        self.world, self.strays = world, []
        self.loop = PowerLoop(
            servers=world.records.servers,
            operations=world.records.operations,
            conversations=world.doors.conversations,
            clock=world.clock,
            every=15.0,
            every_moving=5.0,
            on_stray=self.told,
        )

    async def told(self, server):
        self.strays.append(server.name)

    def round(self):
        self.world.do(self.loop.round())
        return self.strays


@pytest.fixture
def stray(active):
    """s1 is nobody's, dirty, off; and then somebody presses the button."""
    active.agents["s1"].silent_from = "hello"
    active.ask_for_release()
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    active.machines["s1"].power = Power.ON
    return active


# --- the order of readings -----------------------------------------------------------------
def test_a_reading_that_was_overtaken_does_not_stand(active):
    newest = read(active, Power.OFF)
    read(active, Power.ON, ago=8.0)
    assert active.server().power == newest


def test_after_the_clock_was_set_back_the_newest_reading_stands(active):
    read(active, Power.OFF)
    set_back(active)
    newest = read(active, Power.ON)
    assert active.server().power == newest


def test_a_stray_is_seen_although_the_clock_was_set_back(stray):
    read(stray, Power.OFF)
    set_back(stray)
    assert Loop(stray).round() == ["s1"]


def test_a_reading_that_was_overtaken_makes_no_stray(stray):
    """The loop saw it on; while it waited for others, somebody switched it off and said so."""
    loop = Loop(stray)
    note = stray.database.servers.note_readings

    def overtaken(readings):
        note(readings)
        at = readings["s1"].at + 1.0
        note({"s1": PowerReading(power=Power.OFF, at=at, source="operation")})

    class Servers:
        def __getattr__(self, name):
            return overtaken if name == "note_readings" else getattr(stray.records.servers, name)

    loop.loop._servers = Servers()
    assert loop.round() == []


# --- answers -------------------------------------------------------------------------------
def test_readings_of_before_a_command_are_no_answer_to_it(active):
    for ago in (50.0, 30.0, 10.0):
        read(active, Power.OFF, ago)
    assert status(active) is PowerState.OFF
    active.power(PowerAct.ON)
    assert status(active) is not PowerState.OFF


def test_a_silent_loop_makes_status_unknown(active):
    read(active, Power.ON)
    assert status(active) is PowerState.ON
    active.do(active.clock.sleep(active.times.reading_too_old_s + 1.0))
    assert status(active) is PowerState.UNKNOWN


@pytest.mark.parametrize("moved", [-HOUR_S, HOUR_S])
def test_an_old_off_of_a_quarantined_server_is_not_the_answer_to_a_stop(active, moved):
    """However the clock was set before this start."""
    active.open(QUARANTINE)
    active.walk()
    active.machines["s1"].power = Power.ON
    set_back(active, -moved)
    with pytest.raises(Exception, match="QUARANTINED"):
        active.power(PowerAct.OFF)
    active.machines["s1"].power = Power.OFF


# --- a clock that is set while the service runs -----------------------------------------------
JUMPS = pytest.mark.parametrize("jump", [-HOUR_S, HOUR_S], ids=["an hour back", "an hour on"])


@JUMPS
def test_a_fresh_reading_stays_fresh_and_an_old_one_old(active, jump):
    read(active, Power.ON)
    active.clock.step_wall(jump)
    assert status(active) is PowerState.ON
    active.do(active.clock.sleep(active.times.reading_too_old_s + 1.0))
    active.clock.step_wall(-active.times.reading_too_old_s)
    assert status(active) is PowerState.UNKNOWN


@JUMPS
def test_an_off_is_confirmed_by_seconds_that_passed_and_not_by_a_jump(active, jump):
    active.database.allocations.mark(active.allocation().id, wanted=Power.ON)
    for _ in range(3):
        read(active, Power.OFF)
        active.do(active.clock.sleep(1.0))
        active.clock.step_wall(jump)
    assert status(active) is not PowerState.OFF


@JUMPS
def test_an_old_off_of_before_the_jump_is_not_the_answer_to_a_stop(active, jump):
    active.open(QUARANTINE)
    active.walk()
    active.do(active.clock.sleep(HOUR_S))
    active.machines["s1"].power = Power.ON
    active.clock.step_wall(jump)
    with pytest.raises(Exception, match="QUARANTINED"):
        active.power(PowerAct.OFF)
    active.machines["s1"].power = Power.OFF


@JUMPS
@pytest.mark.parametrize("step", ["off", "agent-called-in", "write-image", "alive"])
def test_no_step_ends_early_or_late_for_a_jump(world, step, jump):
    operation = world.ask_for_deployment()
    world.when(step, lambda: world.clock.step_wall(jump))
    world.walk()
    assert world.state() is State.ACTIVE
    took = {e.step: e.done - e.begun for e in world.database.effects.effects(operation)}
    assert all(0.0 <= seconds < 60.0 for seconds in took.values())


@JUMPS
def test_a_step_that_nothing_ends_has_its_time_whatever_the_clock_is_set_to(world, jump):
    world.agents["s1"].silent_from = "hello"
    operation = world.ask_for_deployment()
    world.when("agent-called-in", lambda: world.clock.step_wall(jump))
    began = world.clock.monotonic()
    world.walk()
    assert world.operation(operation).code == "AGENT_SILENT"
    call_in = world.times.agent_call_in_s
    assert call_in <= world.clock.monotonic() - began < call_in + 300.0


@JUMPS
def test_two_owners_are_parted_by_seconds_that_passed(active, jump):
    operation = active.ask_for_release()
    active.when("rest", lambda: active.clock.step_wall(jump))
    presses = []
    active.machines["s1"].on_power.append(lambda _: presses.append(active.clock.monotonic()))
    active.walk()
    assert active.state() is State.AVAILABLE
    assert presses[1] - presses[0] >= active.times.wipe_off_s
    seconds = active.database.evidence.records()[-1]["document"]["times"]["off"]["seconds"]
    assert active.times.wipe_off_s <= seconds <= presses[1] - presses[0] + 5.0
    assert active.results(operation)["rest"]["off_s"] >= active.times.wipe_off_s


@JUMPS
def test_a_reservation_and_the_grace_of_a_stop_last_as_long_as_was_said(world, jump):
    world.do(world.bare_metal.reserve(REQUEST))
    world.clock.step_wall(jump)
    world.do(world.housekeeping.round())
    assert world.state() is State.RESERVED
    world.power(PowerAct.OFF)
    world.clock.step_wall(jump)
    world.do(world.housekeeping.round())
    assert world.state() is State.RESERVED
    world.do(world.clock.sleep(world.times.stop_grace_s))
    world.do(world.housekeeping.round())
    assert world.state() is State.AVAILABLE


@JUMPS
def test_a_failure_is_remembered_for_as_long_as_was_said(world, jump):
    def create():
        until = world.within(1440.0)
        return world.live(world.bare_metal.deploy(REQUEST, until=until))

    world.ramdisk = None
    with pytest.raises(Exception, match="RAMDISK_MISSING"):
        create()
    world.ramdisk = RAMDISK
    world.clock.step_wall(jump)
    with pytest.raises(Exception, match="RAMDISK_MISSING"):
        create()
    world.do(world.clock.sleep(world.times.failure_memory_s))
    create()
    assert world.state() is State.ACTIVE


@JUMPS
def test_after_a_restart_a_step_goes_on_with_what_the_wall_clock_says(world, jump):
    """Never more than its whole time, never less than the grace of a start."""
    world.agents["s1"].silent_from = "hello"
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "on-to-network-for-tenant"))
    world.database.effects.begin(operation, "agent-called-in", now=world.clock.wall())
    world.do(world.clock.sleep(60.0))
    set_back(world, -jump)
    world.crash()
    began = world.clock.monotonic()
    world.walk()
    assert world.operation(operation).code == "AGENT_SILENT"
    waited = world.clock.monotonic() - began
    assert 100.0 <= waited < world.times.agent_call_in_s + 300.0
