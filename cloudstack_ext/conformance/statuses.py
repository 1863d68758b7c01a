"""status, which is asked for every instance of a host, one after the other, each minute."""

import asyncio

from cloudstack_ext.conformance.model import check, must, must_succeed
from cloudstack_ext.conformance.stage import Stage
from cloudstack_ext.power_view import PowerState

AT_ONCE = 16


@check("15")
async def status_of_what_was_never_heard_of_is_unknown(stage: Stage) -> None:
    """Off makes the server stop it, on makes it Running: unknown alone changes nothing."""
    power = await stage.power(stage.fresh())
    must(power is PowerState.UNKNOWN, f"status says {power}")


@check("seen h.7")
async def status_of_what_was_never_heard_of_is_no_failure(stage: Stage) -> None:
    """Each failing status leaves its payload file behind: 72 in 21 s were seen."""
    must_succeed(await stage.ask("status", stage.fresh()), "status of what was never heard of")


@check("seen h.2")
async def status_needs_no_caller(stage: Stage) -> None:
    """Only the first instance of a host has one in its payload."""
    called = await stage.ask("status", await stage.running(), caller=None)
    must_succeed(called, "status without a caller")
    must(called.power_state() is PowerState.ON, f"says {called.power_state()} without a caller")


@check("seen h", "read 1.8")
async def status_is_quick(stage: Stage) -> None:
    """One after the other: together they must stay well below a minute."""
    instance = await stage.running()
    asked = [await stage.ask("status", instance, caller=None) for _ in range(5)]
    seconds = sorted(called.seconds for called in asked)
    must(seconds[2] < stage.wishes.status_s, f"the middle one of five took {seconds[2]:.1f} s")


@check("49")
async def many_statuses_at_once_all_say_the_same(stage: Stage) -> None:
    """Hosts are asked in parallel."""
    instance = await stage.running()
    said = await asyncio.gather(*(stage.power(instance) for _ in range(AT_ONCE)))
    must(set(said) == {PowerState.ON}, f"said {sorted(set(said))}")


@check("24", "read 1.7")
async def another_server_hears_the_same(stage: Stage) -> None:
    """A host's owner changes on restart and rebalance: what is known lies not on one server."""
    instance = await stage.running()
    called = await stage.ask("status", instance, server=stage.other)
    must(called.power_state() is PowerState.ON, f"the other server hears {called.power_state()}")


@check("read 1.5")
async def nothing_of_its_own_lies_among_the_payloads(stage: Stage) -> None:
    """Any file there that is older than a day is deleted."""
    instance = await stage.running()
    for file in stage.server.entry.folder.iterdir():
        file.unlink()
    power = await stage.power(instance)
    must(power is PowerState.ON, f"status says {power} after the payloads were cleared away")
