"""A reinstall, reseed or rescue beside the verbs, and in a service that dies."""

import pytest

from provisioner.errors import RackwrightError
from provisioner.operations.lists import BY_NAME
from provisioner.operations.quarantine import QUARANTINE
from provisioner.servers.model import Power, State
from provisioner.servers.operation import Status
from tests.unit.operations.asking import ask
from tests.unit.operations.changing import (
    ACTION,
    LAST_WRITE,
    NAMES,
    OFF,
    desk,
    settled,
)
from tests.unit.operations.test_kills import walk_on
from tests.unit.operations.world import tenant


# --- beside the verbs ----------------------------------------------------------------------------
@pytest.mark.parametrize("ask", ["reseed", "power_cycle"])
def test_while_a_reinstall_writes_it_is_named_and_not_what_it_would_leave(active, asking, ask):
    operation = asking.begin("reinstall")
    active.do(active.walk_step(operation, "write-image"))
    assert active.allocation().needs_reinstall
    until = active.within(6.0)
    act = asking("reseed") if ask == "reseed" else desk(active).power_cycle(ACTION, until=until)
    with pytest.raises(RackwrightError, match=f"INSTANCE_BUSY.*{operation}"):
        active.do(act)


@pytest.mark.parametrize("name", ["reinstall", "reseed"])
@pytest.mark.parametrize("act", ["off", "cycle"])
def test_power_verbs_wait_for_what_writes_a_disk(active, asking, name, act):
    operation = asking.begin(name)
    active.power(act)
    assert active.operation(operation).status is Status.DONE
    assert active.power_of() is (Power.OFF if act == "off" else Power.ON)
    assert not active.allocation().needs_reinstall


@pytest.mark.parametrize("act", ["off", "cycle"])
def test_at_their_deadline_they_are_told_to_ask_again(active, asking, act):
    operation = asking.begin("reinstall")
    with pytest.raises(RackwrightError, match=f"INSTANCE_BUSY.*{operation}"):
        active.power(act, within=1.0)
    active.until(lambda: active.open_now() is None)
    assert active.operation(operation).status is Status.DONE


@pytest.mark.parametrize("name", ["reinstall", "reseed"])
def test_a_stop_of_what_ends_off_anyway_is_answered_at_once_and_ends_nothing(active, asking, name):
    """After a start that was refused CloudStack sends one."""
    active.power("off")
    operation = asking.begin(name, ends=Power.OFF)
    with pytest.raises(RackwrightError, match="INSTANCE_BUSY"):
        active.power("on", within=1.0)
    assert "has ended" in active.power("off", within=1.0).text
    active.until(lambda: active.open_now() is None)
    assert active.operation(operation).status is Status.DONE
    assert settled(active) == OFF


STEPS = [(name, step) for name in NAMES for step in BY_NAME[f"{name}/1"].names()[:-1]]


@pytest.mark.parametrize(("name", "step"), STEPS)
def test_a_delete_after_any_step_takes_over_and_wipes(active, asking, name, step):
    operation = asking.begin(name)
    active.do(active.walk_step(operation, step))
    answer = active.live(ask(active, "delete", within=24.0))
    assert answer.text == "off is confirmed; the wipe follows"
    active.until(lambda: active.state() is State.AVAILABLE)
    assert active.operation(operation).status is Status.SUPERSEDED
    assert active.seeds() == []
    assert not active.server().dirty


def test_a_quarantine_by_an_operator_takes_a_rescued_machine(active, asking):
    asking.to_its_end("rescue")
    active.open(QUARANTINE, reason="a fan")
    active.walk()
    assert (active.state(), active.power_of()) == (State.QUARANTINED, Power.OFF)


# --- the service dies ----------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_one_that_dies_after_each_step_ends_the_same(active, asking, name):
    names = BY_NAME[f"{name}/1"].names()
    active.agents["s1"].done.clear()
    operation = asking.begin(name)
    active.effects.die_after = dict.fromkeys(names, 1)
    assert walk_on(active) == len(names)
    assert active.operation(operation).status is Status.DONE
    done = active.agents["s1"].done
    assert len(done) == len(set(done))
    assert active.power_of() is Power.ON
    assert active.leads() == tenant(101)


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_that_dies_after_each_step_of_its_cut_off_ends_the_same(active, asking, name):
    active.agents["s1"].fails[LAST_WRITE[name]] = ("DISK_FAILED", "an error")
    asking.begin(name)
    active.effects.die_after = dict.fromkeys(BY_NAME["cut-off/1"].names(), 1)
    assert walk_on(active) >= 3
    assert settled(active) == OFF
