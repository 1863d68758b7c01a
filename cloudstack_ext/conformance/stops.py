"""stop and reboot."""

import asyncio

from cloudstack_ext.conformance.model import NotJudgedError, check, must, must_succeed
from cloudstack_ext.conformance.stage import LOOK_S, Stage
from cloudstack_ext.management_server.cloud import SYSTEM
from cloudstack_ext.management_server.instances import State
from cloudstack_ext.power_view import PowerState
from provisioner.units import Seconds


@check("7", "seen c")
async def stop_of_what_was_never_heard_of_succeeds(stage: Stage) -> None:
    """It is sent after each failed prepare or create, and by the server's own clean-ups."""
    instance = stage.fresh()
    after_prepare = await stage.ask("stop", instance, state=State.STARTING)
    must_succeed(after_prepare, "stop after a failed prepare")
    after_create = await stage.ask("stop", instance, state=State.STARTING, clean_up=True)
    must_succeed(after_create, "stop after a failed create")


@check("7", "35")
async def stop_of_a_stopped_instance_succeeds(stage: Stage) -> None:
    """Without NICs in the payload, and twice."""
    instance = await stage.running()
    must_succeed(await stage.ask("stop", instance), "stop")
    again = await stage.ask("stop", instance, state=State.STOPPED, caller=SYSTEM)
    must_succeed(again, "stop of a stopped instance")


@check("9")
async def what_was_stopped_is_off(stage: Stage) -> None:
    """A stop that succeeds and leaves the machine on is believed; the tenant still pays."""
    instance = await stage.running()
    must_succeed(await stage.ask("stop", instance), "stop")
    must(await stage.becomes(instance, PowerState.OFF), "not off after stop")


@check("37", "seen h.3")
async def a_stop_by_the_system_is_a_stop(stage: Stage) -> None:
    """Power sync, maintenance and expunge call as `system`, with the state as it is."""
    instance = await stage.running()
    called = await stage.ask("stop", instance, caller=SYSTEM, state=State.RUNNING)
    must_succeed(called, "stop by system")
    must(await stage.leaves(instance, PowerState.ON), "still on after a stop by system")


@check("25", "seen 2.20")
async def stop_during_create_succeeds_and_the_next_create_too(stage: Stage) -> None:
    """The job was cancelled, create still runs, and power sync sends stop."""
    instance = await stage.prepared()
    creating = asyncio.ensure_future(stage.ask("create", instance))
    await stage.clock.sleep(Seconds(stage.wishes.kill_after_s))
    must_succeed(await stage.ask("stop", instance, caller=SYSTEM), "stop during create")
    await creating
    must_succeed(await stage.ask("create", instance), "create after a stop during create")
    must(await stage.becomes(instance, PowerState.ON), "not on after the next create")


@check("15", "read 2.8")
async def reboot_never_shows_off(stage: Stage) -> None:
    """The instance stays Running: off between off and on would cost it a stop."""
    instance = await stage.running()
    rebooting = asyncio.ensure_future(stage.ask("reboot", instance))
    seen = set[PowerState]()
    while not rebooting.done():
        seen.add(await stage.power(instance))
        await stage.clock.sleep(Seconds(LOOK_S / 5))
    must_succeed(await rebooting, "reboot")
    seen.add(await stage.power(instance))
    must(PowerState.OFF not in seen, "status said off during a reboot")
    must(await stage.becomes(instance, PowerState.ON), "not on after a reboot")


@check("25", "seen h")
async def status_during_create_is_not_off(stage: Stage) -> None:
    """Off while it is installed costs a stop when the job was cancelled, or loses the instance."""
    instance = await stage.prepared()
    creating = asyncio.ensure_future(stage.ask("create", instance))
    seen = list[PowerState]()
    while not creating.done():
        seen.append(await stage.power(instance))
        await stage.clock.sleep(LOOK_S)
    must_succeed(await creating, "create")
    must(PowerState.OFF not in seen, "status said off during create")
    if not seen:
        raise NotJudgedError("create ended before a status was asked for")
