"""Whole circumstances: the server by its own rules, from the user's call to the last ping."""

import asyncio

from cloudstack_ext.conformance.model import check, must
from cloudstack_ext.conformance.stage import LOOK_S, Stage
from cloudstack_ext.management_server.instances import Instance, State
from cloudstack_ext.management_server.server import Outcome
from cloudstack_ext.power_view import PowerState
from provisioner.units import Seconds

PINGS = 3


@check("11", "seen b", "seen n", "seen 2.19")
async def an_instance_s_whole_life(stage: Stage) -> None:
    """Deployed, polled, rebooted, stopped, started, destroyed, recovered, expunged at last.

    Destroyed is stopped: disks and machine stay for a day or two.
    """
    instance = await _new(stage)
    server = stage.server
    _ended((await server.deploy(instance)).failure, "deployment")
    await stage.becomes(instance, PowerState.ON)
    since = len(server.commands.sent)
    await _pings(stage, [instance])
    must(instance.state is State.RUNNING, f"{instance.state} after some pings")
    _ended((await server.reboot(instance)).failure, "reboot")
    _ended((await server.stop(instance)).failure, "stop")
    _ended((await server.start(instance)).failure, "start")
    _ended((await server.destroy(instance)).failure, "destroy")
    server.recover(instance)
    _ended((await server.start(instance)).failure, "start after recover")
    must(await stage.becomes(instance, PowerState.ON), "not on after recover and start")
    _ended((await server.destroy(instance, expunge=True)).failure, "expunge")
    sent = [each.verb for each in server.commands.sent[since:] if each.verb != "status"]
    wanted = ["reboot", "stop", "start", "stop", "start", "stop", "delete"]
    must(sent == wanted, f"the server had to send {sent}")


@check("23", "seen i.2", "seen 2.22", "seen i")
async def a_server_killed_in_mid_create_loses_nothing(stage: Stage) -> None:
    """Off at the first ping costs a stop, and the instance is never asked for again."""
    instance = await _new(stage)
    deploying = await _installing(stage, instance)
    stage.server.kill(children_too=True)
    await deploying
    stage.server.restart()
    since = len(stage.server.commands.sent)
    await _pings(stage, [instance])
    stops = [each for each in stage.server.commands.sent[since:] if each.verb == "stop"]
    must(not stops, "its first pings after the restart made the server send stop")
    if instance.state is State.STOPPED:
        _ended((await stage.server.start(instance)).failure, "the start after the restart")
    must(instance.state is State.RUNNING, f"{instance.state} in the end")
    must(await stage.becomes(instance, PowerState.ON), "and status never said on")


@check("25", "seen 2.22")
async def a_cancelled_job_s_create_ends_running(stage: Stage) -> None:
    """The user's job fails, create goes on: unknown until it is up lets it end Running."""
    instance = await _new(stage)
    deploying = await _installing(stage, instance)
    stage.server.job_round()
    await deploying
    while instance.state is State.STARTING:
        await _pings(stage, [instance])
    sent = [each.verb for each in stage.server.commands.sent if each.instance == instance.uuid]
    must("stop" not in sent, "the server sent stop while create was running")
    must(instance.state is State.RUNNING, f"{instance.state} in the end")


@check("27")
async def maintenance_of_its_host_and_back(stage: Stage) -> None:
    """All instances of the host are stopped by the system; nothing else is known of it."""
    instance = await _live(stage)
    await stage.server.maintain(stage.host)
    stage.host.in_maintenance = False
    must(instance.state is State.STOPPED, f"{instance.state} after maintenance")
    must(await stage.leaves(instance, PowerState.ON), "still on in maintenance")
    _ended((await stage.server.start(instance)).failure, "start after maintenance")
    must(await stage.becomes(instance, PowerState.ON), "not on after maintenance")


async def _new(stage: Stage) -> Instance:
    await stage.room()
    return stage.fresh()


async def _installing(stage: Stage, instance: Instance) -> asyncio.Task[Outcome]:
    """A deployment in the middle of its create, which begins when prepare has ended."""
    deploying = asyncio.create_task(stage.server.deploy(instance))
    while not (stage.server.commands.verbs(instance) or deploying.done()):
        await stage.clock.sleep(LOOK_S)
    await stage.clock.sleep(Seconds(stage.wishes.kill_after_s))
    return deploying


async def _live(stage: Stage) -> Instance:
    """The shared one, as the server itself would have it."""
    instance = await stage.running()
    instance.state, instance.starts = State.RUNNING, 1
    instance.host = instance.last_host = stage.host.name
    instance.details.pop("deployvm", None)
    return instance


async def _pings(stage: Stage, instances: list[Instance]) -> None:
    """A few rounds for these alone; what other checks left is of no interest to them."""
    for each in stage.cloud.instances.values():
        if each not in instances:
            each.host = each.last_host = None
    for _ in range(PINGS):
        await stage.server.ping(stage.host)
        await stage.clock.sleep(LOOK_S)


def _ended(failure: str, what: str) -> None:
    must(not failure, f"{what}: {failure}")
