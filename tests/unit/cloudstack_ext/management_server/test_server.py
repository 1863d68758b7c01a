"""Everything but starts and pings: sections d, e, i, l, m, n, p, r, s and 2 of the observations."""

import asyncio

import pytest

from cloudstack_ext.contract import DETAILS
from cloudstack_ext.management_server.instances import State
from cloudstack_ext.management_server.payload import Action
from cloudstack_ext.management_server.server import CANCELLED, LOST, NO_CONSOLE
from tests.unit.cloudstack_ext.management_server.world import called

FAILS = (1, "no")


def test_stop_and_what_a_failing_one_means_with_and_without_force(world):
    instance = world.running()
    world.script.says["stop"] = FAILS
    assert world.run(world.server.stop(instance)).failure == f"Unable to stop {instance.shown()}"
    assert instance.state is State.RUNNING
    forced = world.run(world.server.stop(instance, forced=True))
    assert forced.failure == ("Unable to stop the virtual machine due to Exit code: 1, Output: no")
    assert instance.state is State.STOPPED
    assert "forced" not in str(world.script.asked)
    world.forget()
    assert world.run(world.server.stop(instance)).succeeded
    assert world.verbs() == []  # a Stopped one never reaches the extension


def test_reboot_s_text_reaches_the_user_and_the_instance_stays_running(world):
    instance = world.running()
    world.script.says["reboot"] = FAILS
    outcome = world.run(world.server.reboot(instance))
    assert outcome.failure.endswith("due to Exit code: 1, Output: no")
    assert instance.state is State.RUNNING


def test_destroy_is_a_stop_and_expunge_a_delete_after_six_seconds(world):
    instance = world.running()
    assert world.run(world.server.destroy(instance)).succeeded
    assert world.verbs() == ["stop"]
    world.server.recover(instance)
    assert world.verbs() == ["stop"]
    assert instance.state is State.STOPPED
    began = world.clock.monotonic()
    assert world.run(world.server.destroy(instance, expunge=True)).succeeded
    assert world.verbs() == ["stop", "delete"]
    assert world.clock.monotonic() - began == 6.0
    (gone,) = world.script.payloads("delete")
    assert (gone[DETAILS]["state"], gone[DETAILS]["nics"]) == ("Expunging", [])
    assert gone[DETAILS]["details"]["expunge.external.vm"] == "true"


def test_what_was_destroyed_is_expunged_a_day_later_by_the_system(world):
    instance = world.stopped()
    world.run(world.server.destroy(instance))
    world.run(world.server.expunge_round())
    assert world.verbs() == []
    world.clock.advance(86_401)
    world.run(world.server.expunge_round())
    assert world.script.payloads("delete")[0]["caller"]["name"] == "system"
    assert instance.state is State.GONE


def test_a_failing_delete_tells_why_and_comes_again(world):
    instance = world.stopped()
    world.script.says["delete"] = [FAILS, (0, "")]
    outcome = world.run(world.server.destroy(instance, expunge=True))
    assert outcome.failure.endswith("due to Exit code: 1, Output: no")
    assert instance.state is State.EXPUNGING
    world.clock.advance(86_401)
    world.run(world.server.expunge_round())
    assert world.verbs() == ["delete", "delete"]
    assert instance.state is State.GONE


def test_what_never_ran_is_expunged_without_any_call(world):
    world.script.says["create"] = FAILS
    instance = world.instance()
    world.run(world.server.deploy(instance))
    world.forget()
    assert world.run(world.server.destroy(instance, expunge=True)).succeeded
    assert world.verbs() == []
    assert instance.state is State.GONE


def test_an_action_s_name_may_be_a_verb_s_and_only_a_key_tells(world):
    instance = world.running()
    action = Action(name="delete", parameters={"at": "Dec 1, 2026, 10:00:00 AM"})
    result = world.run(world.server.act(instance, action))
    assert result.success
    (verb, payload, wait) = world.script.asked[0]
    assert (verb, payload["action"], wait) == ("delete", "delete", 3)
    assert payload["parameters"] == {"at": "Dec 1, 2026, 10:00:00 AM"}
    assert payload[DETAILS]["state"] == "Running"


def test_an_action_that_fails_is_a_job_that_succeeds(world):
    instance = world.running()
    world.script.says["sel log"] = (3, "x")
    result = world.run(world.server.act(instance, Action(name="sel log")))
    assert (result.success, result.details) == (False, "Exit code: 3, Output: x")
    assert "parameters" not in world.script.asked[0][1]


def test_an_action_of_what_never_ran_is_refused(world):
    result = world.run(world.server.act(world.instance(), Action(name="why")))
    assert (result.success, world.verbs()) == (False, [])


@pytest.mark.parametrize(
    ("answer", "is_one"),
    [
        ((0, '{"console":{"url":"https://x","protocol":"direct"}}'), True),
        ((0, '{"console":{"host":"h","port":5900,"password":"p"}}'), True),
        ((0, '{"console":{"host":"h"}}'), False),
        ((0, '{"url":"https://x"}'), False),
        ((0, 'warn\n{"console":{"url":"x"}}'), False),
        ((0, ""), False),
        ((1, '{"console":{"url":"x"}}'), False),
    ],
)
def test_a_console_is_a_url_or_a_host_with_its_port_and_all_else_is_one_text(world, answer, is_one):
    instance = world.running()
    world.script.says["getconsole"] = answer
    outcome = world.run(world.server.console(instance))
    assert outcome.failure == ("" if is_one else NO_CONSOLE)


def test_a_class_name_has_five_seconds_and_no_instance(world):
    world.run(world.server.class_name("com.cloud.agent.api.GetGPUStatsCommand", world.host))
    assert world.script.asked == [
        (
            "com.cloud.agent.api.GetGPUStatsCommand",
            {"action": "com.cloud.agent.api.GetGPUStatsCommand"},
            5,
        )
    ]


def test_a_disabled_extension_refuses_all_but_status(world):
    instance, fresh = world.running(), world.instance()
    world.cloud.extension.enabled = False
    assert "No destination" in world.run(world.server.deploy(fresh)).failure
    assert not world.run(world.server.stop(instance)).succeeded
    assert "Extension is disabled" in world.run(world.server.reboot(instance)).failure
    assert not world.run(world.server.destroy(instance, expunge=True)).succeeded
    assert not world.run(world.server.act(instance, Action(name="why"))).success
    assert instance.state is State.RUNNING
    assert not world.run(world.server.stop(instance, forced=True)).succeeded
    assert instance.state is State.STOPPED  # although nothing was called
    assert world.verbs() == []
    world.script.says["status"] = (0, "PowerOn")
    world.ping()
    assert instance.state is State.RUNNING


def test_maintenance_stops_all_and_refuses_starts(world):
    instance, other = world.running(), world.stopped()
    world.run(world.server.maintain(world.host))
    assert world.verbs() == ["stop"]
    assert world.script.payloads("stop")[0]["caller"]["name"] == "system"
    assert instance.state is State.STOPPED
    world.forget()
    assert not world.run(world.server.start(instance)).succeeded
    assert not world.run(world.server.act(other, Action(name="why"))).success
    assert world.run(world.server.destroy(other, expunge=True)).succeeded
    assert world.verbs() == ["delete"]
    world.host.in_maintenance = False
    assert world.run(world.server.start(instance)).succeeded


def test_a_host_that_was_not_ready_stays_so_until_it_connects_again(world):
    instance = world.running()
    world.host.ready = False
    world.server.path_round()
    assert world.cloud.extension.path_ready
    assert not world.run(world.server.stop(instance)).succeeded
    assert world.verbs() == []
    world.host.ready = True
    assert world.run(world.server.stop(instance)).succeeded


def test_a_removed_host_makes_starts_and_expunges_fail(world):
    instance = world.stopped()
    world.host.removed = True
    assert '"h" is null' in world.run(world.server.start(instance)).failure
    assert "not connected" in world.run(world.server.destroy(instance, expunge=True)).failure
    assert instance.state is State.EXPUNGING
    assert world.verbs() == []


# --- jobs ---------------------------------------------------------------------------------------
def test_while_create_runs_stop_and_destroy_wait_and_status_and_actions_do_not(world):
    async def story():
        instance = world.instance()
        entered, let_go = world.script.hold("create")
        deploying = asyncio.ensure_future(world.server.deploy(instance))
        await called(entered)
        stopping = asyncio.ensure_future(world.server.stop(instance))
        await world.server.ping(world.host)
        await asyncio.sleep(0)
        assert instance.state is State.STARTING
        assert world.verbs() == ["prepare", "create"]
        let_go()
        assert (await deploying).succeeded
        assert (await stopping).succeeded
        assert world.verbs() == ["prepare", "create", "stop"]

    world.script.says["status"] = (0, "PowerOff")  # a job is pending: put off
    world.run(story())


async def _cancelled(world, instance):
    entered, let_go = world.script.hold("create")
    deploying = asyncio.ensure_future(world.server.deploy(instance))
    await called(entered)
    world.clock.advance(3601)
    world.server.job_round()
    assert (await deploying).failure == CANCELLED
    await world.server.ping(world.host)
    return let_go


async def _settled(world):
    await asyncio.gather(*world.server._works)


def test_a_cancelled_job_s_create_goes_on_and_power_off_meanwhile_costs_two_stops(world):
    async def story():
        instance = world.instance()
        let_go = await _cancelled(world, instance)
        assert world.verbs() == ["prepare", "create", "stop"]
        assert instance.state is State.STOPPED
        let_go()
        await _settled(world)
        assert world.verbs() == ["prepare", "create", "stop", "stop"]
        assert instance.state is State.STOPPED

    world.script.says["status"] = (0, "PowerOff")
    world.run(story())


def test_a_cancelled_job_s_create_ends_running_while_power_is_unknown(world):
    async def story():
        instance = world.instance()
        let_go = await _cancelled(world, instance)
        assert instance.state is State.STARTING
        let_go()
        await _settled(world)
        assert world.verbs() == ["prepare", "create"]
        assert instance.state is State.RUNNING

    world.script.says["status"] = (0, "PowerUnknown")
    world.run(story())


async def _killed(world, instance, *, children_too=False):
    entered, let_go = world.script.hold("create")
    deploying = asyncio.ensure_future(world.server.deploy(instance))
    await called(entered)
    world.server.kill(children_too=children_too)
    assert (await deploying).failure == LOST
    world.server.restart()
    let_go()


@pytest.mark.parametrize(
    ("says", "state", "verbs"),
    [
        ("PowerOff", State.STOPPED, ["stop"]),
        ("PowerUnknown", State.STOPPED, []),
        ("PowerOn", State.RUNNING, []),
    ],
)
def test_a_server_killed_in_mid_create_and_its_first_ping(world, says, state, verbs):
    async def story():
        await _killed(world, instance)
        assert (instance.state, instance.host) == (State.STOPPED, "pool-a")
        await world.server.ping(world.host)

    instance = world.instance()
    world.script.says["status"] = (0, says)
    world.run(story())
    assert world.verbs() == ["prepare", "create", *verbs]
    assert instance.state is state
    if says == "PowerOff":  # never asked for again, and an expunge would send no delete
        assert world.script.payloads("stop")[0][DETAILS]["state"] == "Stopped"
        assert (instance.host, instance.last_host) == (None, None)
        asked = len(world.script.asked)
        world.ping()
        assert len(world.script.asked) == asked
    if says == "PowerOn":  # the detail stays: the next start is a create of a used machine
        world.run(world.server.stop(instance))
        world.run(world.server.start(instance))
        assert world.verbs()[-2:] == ["stop", "create"]


def test_systemd_takes_the_children_too(world):
    world.run(_killed(world, world.instance(), children_too=True))
    assert world.script.killed


def test_another_server_that_owns_the_host_runs_the_entry(world):
    other = world.another("two")
    other.take_over([world.host])
    world.run(world.server.deploy(world.instance()))
    assert len(list((world.folder / "two").iterdir())) == 2
    assert not (world.folder / "one").exists()


def test_two_servers_calls_for_one_instance_may_overlap(world):
    async def story():
        instance = world.instance()
        entered, let_go = world.script.hold("create")
        first = asyncio.ensure_future(world.server.deploy(instance))
        await called(entered)
        world.server.kill(children_too=False)  # its create lives on
        other = world.another("two")
        other.restart()
        other.take_over([world.host])
        let_go()
        assert (await other.start(instance)).succeeded
        assert not (await first).succeeded
        assert world.verbs() == ["prepare", "create", "create"]

    world.run(story())
