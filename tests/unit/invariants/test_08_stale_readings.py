"""8: no stale reading causes an act, or an answer.

Which readings count for `status`: tests/unit/operations/test_view.py.
"""

import pytest

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.operations.power_loop import PowerLoop
from provisioner.operations.quarantine import QUARANTINE
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import ControllerDriver, Power, PowerReading, State
from tests.unit.operations.world import REQUEST

HOUR_S = 3600.0


def set_back(world, seconds=HOUR_S):
    """Somebody corrects the wall clock."""
    world.clock._wall -= seconds


def read(world, power, ago=0.0):
    reading = PowerReading(power=power, at=world.clock.wall() - ago, source="loop")
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
    """However the clock was set meanwhile."""
    active.open(QUARANTINE)
    active.walk()
    active.machines["s1"].power = Power.ON
    set_back(active, -moved)
    with pytest.raises(Exception, match="QUARANTINED"):
        active.power(PowerAct.OFF)
    active.machines["s1"].power = Power.OFF
