"""Start, reboot and delete."""

import asyncio
from dataclasses import replace

import pytest

from cloudstack_ext.power_view import PowerState, power_state
from provisioner.errors import RackwrightError
from provisioner.operations.quarantine import QUARANTINE
from provisioner.ports.controllers import PowerAct
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Power, State
from provisioner.servers.operation import Status
from tests.unit.operations import causes as c
from tests.unit.operations.asking import (
    ask,
    note,
    outcome,
    quarantined,
    reserved,
    with_networks,
)
from tests.unit.operations.world import REQUEST, tenant


def test_a_start_uses_the_vlans_of_its_own_payload(active):
    active.power("off")
    network = replace(REQUEST.networks[0], vlan=202)
    active.power("on", replace(REQUEST, networks=(network,)))
    assert active.leads() == tenant(202)
    assert active.allocation().networks[0].vlan == 202
    assert not active.allocation().needs_reseed


def test_a_start_without_networks_uses_the_last_ones(active):
    active.power("off")
    active.power("on", replace(REQUEST, networks=()))
    assert active.leads() == tenant(101)


@pytest.mark.parametrize("change", [{"address": "10.1.1.9", "prefix": 24}, {"gateway": "10.1.1.1"}])
def test_a_changed_address_needs_a_reseed_and_stops_nothing(active, change):
    network = replace(REQUEST.networks[0], **change)
    active.power("cycle", replace(REQUEST, networks=(network,)))
    assert active.allocation().needs_reseed
    active.power("cycle")
    assert active.allocation().needs_reseed


def test_a_start_that_fails_leaves_the_instance_and_may_be_asked_again(active):
    active.power("off")
    c.deaf("on")(active)
    with pytest.raises(RackwrightError, match="POWER_NOT_REACHED"):
        active.power("on")
    assert (active.state(), active.allocation().phase) == (State.ACTIVE, Phase.ACTIVE)
    active.machines["s1"].deaf_to.clear()
    assert active.power("on").text == "started"


def test_more_networks_than_ports_fail_a_start_before_anything_moves(active):
    active.power("off")
    moves = len(active.ports.moves)
    with pytest.raises(RackwrightError, match="NETWORKS_TOO_MANY"):
        active.power("on", with_networks(2))
    assert len(active.ports.moves) == moves
    assert active.power_of() is Power.OFF


def both(world, first, second, after=1.0):
    """The second is asked for while the first one runs."""

    async def ask():
        until = world.within(1800.0)
        began = asyncio.ensure_future(world.bare_metal.power(*first, until=until))
        await world.clock.sleep(after)
        again = await world.bare_metal.power(*second, until=until)
        return (await began).text, again.text

    before = len(world.history())
    texts = world.live(ask())
    return texts, [str(each[1]) for each in world.history()[before:]]


@pytest.mark.parametrize(
    ("act", "text"),
    [("on", "started"), ("off", "off, its port is in quarantine"), ("cycle", "rebooted")],
)
def test_a_command_that_is_asked_for_twice_at_once_is_done_once(active, act, text):
    if act == "on":
        active.power("off")
    pressed = len(active.machines["s1"].booted_from)
    command = (REQUEST, PowerAct(act))
    assert both(active, command, command) == ((text, text), [Status.DONE])
    assert len(active.machines["s1"].booted_from) == pressed + (act != "off")


def test_a_start_into_another_network_takes_over_the_running_one(active):
    active.power("off")
    network = replace(REQUEST.networks[0], vlan=202)
    elsewhere = replace(REQUEST, networks=(network,))

    async def ask():
        until = active.within(1800.0)
        first = asyncio.ensure_future(active.bare_metal.power(REQUEST, PowerAct.ON, until=until))
        await active.clock.sleep(1.0)
        answer = await active.bare_metal.power(elsewhere, PowerAct.ON, until=until)
        await asyncio.wait({first})
        return answer.text, first.exception()

    text, superseded = active.live(ask())
    assert (text, superseded.code) == ("started", "SUPERSEDED")
    assert active.leads() == tenant(202)


def test_readings_before_a_command_say_nothing(active):
    note(active, Power.ON)
    active.pass_time(1.0)
    active.power("cycle")
    assert active.allocation().commanded_at is not None
    view = active.do(active.bare_metal.observe(REQUEST.key))
    assert view.on_confirmed  # what the operation itself read is newer


# --- delete ------------------------------------------------------------------------------------
def test_delete_answers_once_off_is_confirmed_and_the_wipe_goes_on(active):
    began = active.clock.wall()
    answer = active.live(ask(active, "delete", within=24.0))
    assert answer.text == "off is confirmed; the wipe follows"
    assert active.clock.wall() - began <= 10.0
    active.until(lambda: active.state() is State.AVAILABLE)


def test_delete_answers_after_ten_seconds_whatever_the_controller_does(active):
    c.silent(active)
    began = active.clock.wall()
    answer = active.live(ask(active, "delete", within=24.0))
    assert active.clock.wall() - began <= 10.5
    assert answer.text in {
        "its controller does not answer: its port is shut",
        "the release goes on in the background",
    }
    active.until(lambda: active.state() is State.QUARANTINED)


def test_delete_of_a_quarantined_instance_leaves_it_quarantined_and_dirty(active):
    quarantined(active)
    text = "its server is in quarantine and stays there, not wiped, until somebody looks"
    assert outcome(active, "delete") == text
    assert active.allocation().phase is Phase.ENDED
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    assert active.history()[-1] == ("quarantine", Status.DONE)


def test_an_instance_deleted_in_quarantine_is_off_as_soon_as_that_was_seen(active):
    quarantined(active)
    active.do(ask(active, "delete"))
    view = lambda: active.do(active.bare_metal.observe(REQUEST.key))  # noqa: E731
    assert power_state(view()) is PowerState.UNKNOWN
    active.walk()
    assert power_state(view()) is PowerState.OFF


def test_delete_while_a_quarantine_runs_lets_it_go_on(active):
    operation = active.open(QUARANTINE)
    active.do(ask(active, "delete"))
    active.walk()
    assert active.operation(operation).status is Status.DONE
    assert active.power_of() is Power.OFF
    assert active.state() is State.QUARANTINED


def test_delete_of_a_reservation_frees_the_server_at_once(world):
    reserved(world)
    world.do(ask(world, "delete"))
    assert world.state() is State.AVAILABLE
    assert world.kinds()[3:] == []
