"""5: unknown is not off, and off is a fence only together with the port."""

import pytest

from provisioner.operations.housekeeping import AGAIN_S, Housekeeping, close_lost
from provisioner.operations.lists import follow
from provisioner.operations.power import STOP
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import CLEAN
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import MacRole, Nic, Placement, Power, PowerReading, State
from tests.unit.operations.world import REQUEST


def silent(world):
    world.machines["s1"].silent = True


def nonsense(world):
    world.machines["s1"].nonsense = True


def deaf(world):
    world.machines["s1"].deaf_to = {PowerAct.OFF, PowerAct.SOFT_OFF}
    world.machines["s1"].power = Power.ON


UNREADABLE = {"silent": silent, "nonsense": nonsense, "deaf": deaf}


@pytest.mark.parametrize("how", UNREADABLE)
def test_a_release_does_not_pass_a_controller_that_cannot_be_read(active, how):
    UNREADABLE[how](active)
    release = active.ask_for_release()
    active.walk()
    record, server = active.operation(release), active.server()
    assert "possibly still running" in record.brief
    assert (server.state, server.dirty) == (State.QUARANTINED, True)
    assert active.results(release)["fence"]["fence"] == "shut"
    assert active.placement() is Placement.SHUT
    assert active.agents["s1"].done == []
    assert not active.allocation().off_confirmed


@pytest.mark.parametrize("how", ["silent", "deaf"])
def test_a_quarantine_that_cannot_read_the_power_shuts_the_port(active, how):
    UNREADABLE[how](active)
    active.open(QUARANTINE)
    active.walk()
    assert active.placement() is Placement.SHUT
    assert active.state() is State.QUARANTINED


@pytest.mark.parametrize("before", ["network-first", "port-to-provisioning"])
def test_one_that_falls_silent_later_does_not_pass_either(active, before):
    active.when(before, lambda: silent(active))
    active.ask_for_release()
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert active.placement() is Placement.SHUT


def hangs(world):
    """The last call to its controller was given up and has not ended: nobody may speak now."""
    line = world.doors.conversations._line(world.server().controller)
    world.do(line.turn.acquire())


def test_a_call_that_never_ends_does_not_keep_the_port_open(active):
    hangs(active)
    operation = active.open(QUARANTINE)
    active.walk()
    assert active.operation(operation).code == "POSSIBLY_RUNNING"
    assert "possibly still running: CONTROLLER_BUSY" in active.server().reason
    assert active.placement() is Placement.SHUT


def test_nor_does_it_keep_a_delete_waiting(active):
    hangs(active)
    began, key = active.clock.wall(), REQUEST.key
    active.live(active.bare_metal.release(key, "lab", until=active.within(60.0)))
    assert active.clock.wall() - began <= 10.5
    assert active.placement() is Placement.SHUT


# --- somebody else owns the controller -----------------------------------------------------
@pytest.mark.parametrize("steps", ["release", "clean"])
def test_a_server_switched_on_while_it_rests_never_meets_the_provisioning_network(active, steps):
    """A tenant may own the controller from inside: off alone is no fence."""
    release = active.ask_for_release()
    if steps == "clean":
        active.machines["s1"].silent = True
        active.walk()
        active.machines["s1"].silent = False
        release = active.open(CLEAN)
    active.ports.moves.clear()
    active.when("rest", lambda: press(active))
    active.walk()
    active.trespasses.clear()  # a hand did it
    assert active.operation(release).code == "POWER_NOT_REACHED"
    assert Placement.PROVISIONING not in {wanted.placement for _, wanted in active.ports.moves}
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert active.power_of() is Power.OFF


def press(world):
    machine = world.machines["s1"]
    machine.press(PowerAct.ON)


def test_a_controller_that_is_away_for_a_moment_ends_no_rest(active):
    machine = active.machines["s1"]

    async def back():
        await active.clock.sleep(active.times.wipe_off_s + 12.0)
        machine.silent = False

    def away():
        machine.silent = True
        active.tasks.append(active.loop.create_task(back()))

    active.when("rest", away)
    release = active.ask_for_release()
    active.walk()
    assert active.operation(release).status == "done"
    obtained = active.database.evidence.records()[-1]["document"]["times"]
    assert obtained["off"]["seconds"] >= active.times.wipe_off_s


# --- the switch ----------------------------------------------------------------------------
def second_card(world, port="tap-a"):
    """By its name the first that is moved."""
    nics = world.server().nics
    card = Nic(mac="52:54:00:aa:aa:aa", roles=frozenset({MacRole.TENANT}), port=port)
    world.database.servers.change("s1", nics=(*nics, card))


def test_a_port_that_cannot_be_shut_keeps_no_other_one_open(active):
    second_card(active)
    active.ports.stuck.add("tap-a")
    silent(active)
    active.open(QUARANTINE)
    active.walk()
    assert active.placement() is Placement.SHUT


def test_a_switch_that_is_away_for_a_moment_is_asked_again(active):
    silent(active)

    async def back():
        await active.clock.sleep(30.0)
        active.ports.away.clear()

    def away():
        active.ports.away.add("tap-s1")
        active.tasks.append(active.loop.create_task(back()))

    active.when("port-to-nowhere", away)
    operation = active.open(QUARANTINE)
    active.walk()
    assert active.results(operation)["port-to-nowhere"] == {"tap-s1": "shut"}
    assert active.placement() is Placement.SHUT


# --- what a quarantine says ----------------------------------------------------------------
def by_hand(world):
    return world.open(QUARANTINE, reason="a fan smells")


def of_a_failed_release(world):
    return world.ask_for_release()


def of_a_cancelled_release(world):
    release = world.ask_for_release()
    world.do(world.walk_step(release, "fence"))
    world.database.operations.cancel(release, "ann", follow, now=world.clock.wall())


def of_a_lost_operation(world):
    world.open(STOP)
    gone = lambda each: dict.fromkeys(each, "it is gone")  # noqa: E731
    assert close_lost(world.records, gone, follow, world.clock) == 1


WAYS = {
    by_hand: "a fan smells",
    of_a_failed_release: "",
    of_a_cancelled_release: "cancelled by ann",
    of_a_lost_operation: "",
}


@pytest.mark.parametrize("way", WAYS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("how", UNREADABLE)
def test_however_it_came_to_it_a_quarantine_that_saw_no_off_says_so_until_one_did(active, way, how):
    UNREADABLE[how](active)
    way(active)
    active.walk()
    server, last = active.server(), active.database.operations.operations(server="s1")[0]
    assert (last.kind, last.status, last.code) == ("quarantine", "failed", "POSSIBLY_RUNNING")
    assert server.reason.startswith(WAYS[way])
    assert server.reason.endswith(last.brief)
    assert last.brief.startswith("possibly still running: ")
    assert server.power.power is Power.UNKNOWN
    assert active.placement() is Placement.SHUT
    machine = active.machines["s1"]
    machine.silent, machine.nonsense, machine.deaf_to = False, False, set()
    active.do(active.clock.sleep(600.0))
    active.open(QUARANTINE, reason="again")
    assert "possibly still running" in active.server().reason  # until it is settled
    active.walk()
    assert active.server().reason == "again"
    assert (active.server().power.power, active.power_of()) == (Power.OFF, Power.OFF)
    assert active.placement() is Placement.QUARANTINE


def test_a_port_that_stays_is_another_doubt_than_the_power(active):
    active.ports.stuck.add("tap-s1")
    active.open(QUARANTINE, reason="smoke")
    active.walk()
    assert active.server().reason.startswith("smoke; not cut off: ")
    active.ports.stuck.clear()
    active.open(QUARANTINE)
    active.walk()
    assert active.server().reason == "smoke"


def test_a_release_that_was_not_sure_leaves_no_doubt_once_the_server_was_seen_off(active):
    """Its button works again between the release and its quarantine."""
    deaf(active)
    active.when("off-or-unknown", lambda: setattr(active.machines["s1"], "deaf_to", set()))
    release = active.ask_for_release()
    active.walk()
    assert active.operation(release).brief.startswith("possibly still running: ")
    assert active.power_of() is Power.OFF
    assert active.server().reason.endswith("was told off, last seen on")
    assert "possibly" not in active.server().reason


def test_a_quarantine_is_tried_again_once_the_controller_says_how_it_is(active):
    silent(active)
    active.open(QUARANTINE)
    active.walk()
    active.do(active.clock.sleep(AGAIN_S))
    active.do(active.housekeeping.round())
    active.do(active.clock.sleep(AGAIN_S))
    active.do(active.housekeeping.round())
    assert active.open_now() is None  # all is done that can be
    active.machines["s1"].silent = False
    on = PowerReading(power=Power.ON, at=active.clock.monotonic(), source="loop")
    active.database.servers.note_readings({"s1": on})
    active.do(active.clock.sleep(AGAIN_S))
    active.do(active.housekeeping.round())
    active.walk()
    assert active.power_of() is Power.OFF
    assert "possibly" not in active.server().reason


def test_a_quarantine_that_failed_is_tried_again_until_it_holds(active):
    """Controller and switch are away at once: nobody else would cut the server off."""
    silent(active)
    active.ports.away.add("tap-s1")
    operation = active.open(QUARANTINE)
    active.walk()
    assert active.operation(operation).status == "failed"
    assert active.placement() is Placement.TENANT
    housekeeping = Housekeeping(
        records=active.records,
        machines=active.bare_metal,
        clock=active.clock,
        forget=lambda before: 0,
    )
    active.do(housekeeping.round())
    assert active.open_now() is None  # not at once
    active.do(active.clock.sleep(AGAIN_S))
    active.ports.away.clear()
    active.do(housekeeping.round())
    active.walk()
    assert active.placement() is Placement.SHUT
    active.do(active.clock.sleep(AGAIN_S))
    active.do(housekeeping.round())
    assert active.open_now() is None
    assert active.owner("s1").key == REQUEST.key
