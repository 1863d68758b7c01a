"""Pings and what they do: sections h, j and l of the observations, and 2.4, 2.10."""

import pytest

from cloudstack_ext.contract import DETAILS
from cloudstack_ext.management_server.instances import State
from cloudstack_ext.management_server.power_sync import PingLostError

ON, OFF = (0, "PowerOn"), (0, '{"power_state":"poweroff"}')


def test_one_after_the_other_and_the_first_alone_has_a_caller(world):
    running = [world.running() for _ in range(3)]
    world.stopped()
    world.ping()
    payloads = world.script.payloads("status")
    assert [each["virtualmachineid"] for each in payloads[:3]] == [each.uuid for each in running]
    assert len(payloads) == 4  # a Stopped one is asked for too
    assert [each.get("caller", {}).get("name") for each in payloads] == ["system", None, None, None]
    assert all(each[DETAILS]["nics"] == [] for each in payloads)
    assert {wait for _, _, wait in world.script.asked} == {1800}


def test_nothing_new_when_the_server_is_right(world):
    running, stopped = world.running(), world.stopped()
    world.script.says["status"] = [ON, OFF] * 3
    world.ping(3)
    assert world.verbs() == []
    assert (running.state, stopped.state) == (State.RUNNING, State.STOPPED)


def test_off_while_running_is_one_stop_by_the_system(world):
    instance = world.running()
    world.script.says["status"] = OFF
    world.ping(2)
    (stop,) = world.script.payloads("stop")
    assert (stop["caller"]["name"], stop[DETAILS]["state"]) == ("system", "Running")
    assert (instance.state, instance.host, instance.last_host) == (State.STOPPED, None, "pool-a")


def test_a_stop_that_fails_is_tried_three_times_and_never_again_while_it_stays_off(world):
    instance = world.running()
    world.script.says |= {"status": OFF, "stop": (1, "no")}
    world.ping(6)
    assert world.verbs() == ["stop"] * 3
    assert instance.state is State.RUNNING
    world.script.says["status"] = ON
    world.ping()
    world.script.says["status"] = OFF
    world.ping()
    assert world.verbs() == ["stop"] * 4


def test_on_while_stopped_makes_it_run_without_a_call(world):
    instance = world.stopped()
    world.script.says["status"] = ON
    world.ping()
    assert (instance.state, instance.host) == (State.RUNNING, "pool-a")
    assert world.verbs() == []


@pytest.mark.parametrize(
    "answer", [(0, "PowerUnknown"), (0, ""), (1, "PowerOff"), (0, "warn\nPowerOff"), (0, "[]")]
)
def test_all_else_changes_nothing_and_is_not_missing(world, answer):
    running, stopped = world.running(), world.stopped()
    world.script.says["status"] = answer
    world.ping(5)
    assert world.verbs() == []
    assert (running.state, stopped.state) == (State.RUNNING, State.STOPPED)


def test_with_high_availability_the_server_harms_itself_and_sends_no_stop(world):
    instance = world.running()
    instance.offers_ha = True
    world.script.says["status"] = OFF
    world.ping()
    assert world.verbs() == ["com.cloud.agent.api.CheckVirtualMachineCommand"]
    assert instance.state is State.RUNNING


def test_an_entry_that_is_gone_stops_all_without_a_call_after_some_pings(world):
    running, stopped = world.running(), world.stopped()
    world.ping(5)
    world.forget()
    world.server.entry.argv = [str(world.folder / "gone")]
    world.server.path_round()
    world.ping(2)
    assert running.state is State.RUNNING
    world.ping(2)
    assert (running.state, running.last_host) == (State.STOPPED, "pool-a")
    assert stopped.state is State.STOPPED
    assert world.script.asked == []
    assert "No destination" in world.run(world.server.start(running)).failure


def test_back_again_it_says_on_and_they_run(world):
    instance = world.running()
    there, world.server.entry.argv = world.server.entry.argv, ["/nowhere/gone"]
    world.ping(4)
    world.server.entry.argv = there
    world.script.says["status"] = ON
    world.ping()
    assert instance.state is State.RUNNING
    assert world.verbs() == []


def test_an_extension_unregistered_from_its_cluster_is_the_same(world):
    instance = world.running()
    world.cloud.extension.registered = False
    world.ping(4)
    assert instance.state is State.STOPPED
    assert world.script.asked == []


def test_status_goes_on_in_maintenance(world):
    world.running()
    world.host.in_maintenance = True
    world.ping()
    assert len(world.script.payloads("status")) == 1


def test_a_gpu_profile_breaks_the_ping_of_its_host_once_it_is_stopped(world):
    before, bad, after = world.running(), world.running(), world.running()
    bad.gpu_profile = True
    world.run(world.server.stop(bad))
    world.forget()
    world.script.says["status"] = OFF
    with pytest.raises(PingLostError):
        world.run(world.server.ping(world.host))
    assert len(world.script.payloads("status")) == 1
    assert {before.state, after.state} == {State.RUNNING}
    assert "getHostId" in world.run(world.server.destroy(bad, expunge=True)).failure
    assert bad.state is State.EXPUNGING
