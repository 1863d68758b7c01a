"""Deployments and starts: sections a, a2, b, c and i of the observations."""

import pytest

from cloudstack_ext.contract import DETAILS
from cloudstack_ext.management_server.entry_point import TIMEOUT, Called
from cloudstack_ext.management_server.instances import State

FAILS = (1, "no")
OK = (0, "")


def test_a_deployment_is_prepare_and_create(world):
    instance = world.instance()
    assert world.run(world.server.deploy(instance)).succeeded
    assert world.verbs() == ["prepare", "create"]
    assert (instance.state, instance.host, instance.last_host) == (
        State.RUNNING,
        "pool-a",
        "pool-a",
    )
    assert "deployvm" not in instance.details


def test_without_prepare_where_the_extension_was_registered_without(world):
    world.cloud.extension.prepares = False
    world.run(world.server.deploy(world.instance()))
    assert world.verbs() == ["create"]


@pytest.mark.parametrize(("retry", "times"), [(10, 11), (1, 2), (0, 0)])
def test_a_failing_create_is_tried_again_with_a_stop_after_each(world, retry, times):
    world.settings(start_retry=retry)
    world.script.says["create"] = FAILS
    instance, began = world.instance(), world.clock.monotonic()
    outcome = world.run(world.server.deploy(instance))
    assert outcome.failure == f"Unable to orchestrate the start of {instance.shown()}."
    assert world.verbs() == ["prepare"] * bool(times) + ["create", "stop"] * times
    assert (instance.state, instance.host) == (State.ERROR, None)
    if times == 11:
        assert world.clock.monotonic() - began == pytest.approx(2.0 + 9 * 0.1)


def test_root_with_a_host_is_tried_once(world):
    world.script.says["create"] = FAILS
    assert not world.run(world.server.deploy(world.instance(), hostid=world.host)).succeeded
    assert world.verbs() == ["prepare", "create", "stop"]


def test_a_failing_start_is_tried_again_and_ends_stopped(world):
    instance = world.stopped()
    world.script.says["start"] = FAILS
    assert not world.run(world.server.start(instance)).succeeded
    assert world.verbs() == ["start", "stop"] * 11
    assert instance.state is State.STOPPED


def test_a_failing_prepare_stops_nothing_and_is_not_asked_again(world):
    world.script.says["prepare"] = FAILS
    instance = world.instance()
    assert world.run(world.server.deploy(instance)).succeeded
    assert world.verbs() == ["prepare", "stop", "create"]
    assert instance.state is State.RUNNING


@pytest.mark.parametrize("answer", ["hello", 'warning: x\n{"nics":[]}'])
def test_noise_is_a_failing_prepare(world, answer):
    world.script.says["prepare"] = (0, answer)
    world.run(world.server.deploy(world.instance()))
    assert world.verbs() == ["prepare", "stop", "create"]


def test_the_stop_after_create_has_nics_and_the_one_after_prepare_has_none(world):
    world.script.says |= {"prepare": FAILS, "create": [FAILS, OK]}
    world.run(world.server.deploy(world.instance()))
    after_prepare, after_create = (each[DETAILS] for each in world.script.payloads("stop"))
    assert (after_prepare["nics"], after_prepare["disks"]) == ([], [])
    assert (len(after_create["nics"]), len(after_create["disks"])) == (1, 1)
    assert {after_prepare["state"], after_create["state"]} == {"Starting"}


def test_an_error_with_exit_0_is_a_success(world):
    world.script.says["create"] = (0, '{"status":"error"}')
    instance = world.instance()
    assert world.run(world.server.deploy(instance)).succeeded
    assert instance.state is State.RUNNING


def test_what_prepare_answered_stands_in_create(world):
    instance = world.instance(offering={"gpu_profile": "8x"})
    nic = instance.nics[0].nic_uuid
    world.script.says["prepare"] = (
        0,
        f'{{"nics":[{{"nicUuid":"{nic}","mac":"b8:00:00:00:00:01"}}],"details":{{"External:node":7}}}}',
    )
    world.run(world.server.deploy(instance))
    (created,) = world.script.payloads("create")
    assert created[DETAILS]["nics"][0]["mac"] == "b8:00:00:00:00:01"
    assert created["externaldetails"]["virtualmachine"]["node"] == "7"
    assert instance.details["External:gpu_profile"] == "8x"


def test_a_timeout_is_a_failure_like_any_other(world):
    killed = Called(exit=None, output="", seconds=20.0, failure=TIMEOUT)
    world.script.says["create"] = [killed, OK]
    world.run(world.server.deploy(world.instance()))
    assert world.verbs() == ["prepare", "create", "stop", "create"]


@pytest.mark.parametrize(
    ("waits", "wanted"),
    [({}, (20, 20, 20)), ({"StartCommand": 40, "StopCommand": 25}, (40, 25, 25))],
)
def test_waits_are_the_global_one_or_the_command_s(world, waits, wanted):
    world.settings(wait_s=20, command_waits=waits, stop_to_delete_s=0)
    instance = world.instance()
    world.run(world.server.deploy(instance))
    world.run(world.server.destroy(instance, expunge=True))
    said = {verb: wait for verb, _, wait in world.script.asked}
    assert (said["create"], said["stop"], said["delete"]) == wanted


def test_a_tenant_s_detail_makes_the_next_start_a_create_and_loses_the_template_s(world):
    instance = world.stopped()
    instance.details = {"deployvm": "true"}
    world.run(world.server.start(instance))
    assert world.verbs() == ["create"]
    (created,) = world.script.payloads("create")
    assert "image" not in created["externaldetails"]["virtualmachine"]


def test_details_replaced_before_the_first_start_make_it_a_start_of_nothing(world):
    instance = world.instance()
    instance.details = {}
    world.run(world.server.deploy(instance))
    assert world.verbs() == ["prepare", "start"]


def test_start_of_a_running_one_is_refused_without_a_call(world):
    instance = world.running()
    assert "already running" in world.run(world.server.start(instance)).failure
    assert world.verbs() == []


def test_the_first_tag_s_first_host_and_then_the_last_host(world):
    host = type(world.host)(name="pool-b", tags=("b",))
    world.cloud.hosts.append(host)
    instance = world.instance()
    instance.tag = "b"
    world.run(world.server.deploy(instance))
    assert instance.host == "pool-b"
    world.run(world.server.stop(instance))
    host.enabled = False  # a disabled host still gets restarts of its own
    assert world.run(world.server.start(instance)).succeeded
    assert instance.host == "pool-b"
    lost = world.instance()
    lost.tag = "b"
    assert "No destination found" in world.run(world.server.deploy(lost)).failure
