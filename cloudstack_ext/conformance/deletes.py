"""delete, and what is left of an instance after it."""

import asyncio

from cloudstack_ext.conformance.model import check, must, must_fail, must_succeed
from cloudstack_ext.conformance.stage import Stage
from cloudstack_ext.management_server.cloud import SYSTEM
from cloudstack_ext.management_server.instances import State
from cloudstack_ext.power_view import PowerState
from provisioner.units import Seconds


@check("12", "13")
async def delete_of_what_was_never_heard_of_succeeds(stage: Stage) -> None:
    """Else it stays Expunging for ever, tried again and again."""
    must_succeed(await stage.ask("delete", stage.fresh()), "delete of what was never heard of")


@check("12", "14", "seen n")
async def delete_ends_soon(stage: Stage) -> None:
    """What it begins may take hours; its answer may not."""
    await stage.deleted()
    called = stage.deleted_call
    seconds = 0.0 if called is None else called.seconds
    must(seconds < stage.wishes.delete_s, f"delete took {seconds:.1f} s")


@check("12", "14")
async def delete_may_come_again(stage: Stage) -> None:
    """By the expunge thread, as `system`, when the first answer was lost."""
    instance = await stage.deleted()
    must_succeed(await stage.ask("delete", instance, caller=SYSTEM), "delete for the second time")


@check("16")
async def what_was_deleted_is_not_on(stage: Stage) -> None:
    """The wipe boots the machine; on would be somebody's instance, and billed."""
    power = await stage.power(await stage.deleted())
    must(power is not PowerState.ON, f"status says {power}")


@check("12")
async def start_after_delete_fails(stage: Stage) -> None:
    """Its machine may be another tenant's by now."""
    must_fail(await stage.ask("start", await stage.deleted()), "start after delete")


@check("12", "24")
async def create_after_delete_fails(stage: Stage) -> None:
    """A call of a server that was taken for dead comes late; nobody would delete it again."""
    instance = await stage.deleted()
    instance.details["deployvm"] = "true"
    must_fail(await stage.ask("create", instance), "create after delete")


@check("7")
async def stop_after_delete_succeeds(stage: Stage) -> None:
    """It is sent by clean-ups, whatever was there before."""
    instance = await stage.deleted()
    called = await stage.ask("stop", instance, state=State.STARTING, clean_up=True)
    must_succeed(called, "stop after delete")


@check("12", "read 1.7")
async def delete_during_create_ends_it(stage: Stage) -> None:
    """It is not in the queue of jobs: it can come while create still runs."""
    instance = await stage.prepared()
    creating = asyncio.ensure_future(stage.ask("create", instance))
    await stage.clock.sleep(Seconds(stage.wishes.kill_after_s))
    must_succeed(await stage.ask("delete", instance), "delete during create")
    await creating
    power = await stage.power(instance)
    must(power is not PowerState.ON, f"status after it says {power}")
    must_fail(await stage.ask("start", instance), "start after a delete during create")
