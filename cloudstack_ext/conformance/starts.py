"""prepare, create and start."""

import asyncio
from dataclasses import replace
from typing import Any

from cloudstack_ext.conformance.model import (
    NotJudgedError,
    check,
    must,
    must_fail,
    must_succeed,
    shown,
)
from cloudstack_ext.conformance.stage import Stage
from cloudstack_ext.management_server.entry_point import Called
from cloudstack_ext.power_view import PowerState

SHORT_WAIT_S = 3
"""Less than a real installation takes."""


@check("49")
async def two_instances_never_share_a_machine(stage: Stage) -> None:
    """Up to 500 calls come at once; the server itself does not know what is taken."""
    await stage.room()
    called = await asyncio.gather(*(stage.ask("prepare", stage.fresh()) for _ in range(2)))
    macs = [{nic.get("mac") for nic in _nics(each)} - {None} for each in called if not each.failure]
    if len(macs) < len(called) or not all(macs):
        raise NotJudgedError("prepare answered no MACs, or there is one machine only")
    must(not set.intersection(*macs), f"both have the MAC {set.intersection(*macs)}")


@check("36", "seen a.2")
async def prepare_answers_by_nic_uuid_alone(stage: Stage) -> None:
    """`uuid` in a NIC is the network's: with it two NICs of one network become one."""
    await stage.room()
    instance = stage.fresh()
    called = await stage.ask("prepare", instance)
    must_succeed(called, "prepare")
    nics, known = _nics(called), {nic.nic_uuid for nic in instance.nics}
    named = [nic.get("nicUuid") for nic in nics]
    must(set(named) <= known, f"a nicUuid that was not asked about: {shown(called)}")
    must(len(set(named)) == len(named), f"a NIC twice: {shown(called)}")
    must(not any("uuid" in nic for nic in nics), f"the network's uuid: {shown(called)}")
    must(all(v is not None for nic in nics for v in nic.values()), f"null: {shown(called)}")


@check("4", "seen 2.13")
async def prepare_answers_the_same_when_it_is_asked_again(stage: Stage) -> None:
    """An instance has one machine, by its uuid, whatever comes twice."""
    await stage.room()
    instance = stage.fresh()
    one, two = [await stage.ask("prepare", instance) for _ in range(2)]
    must_succeed(two, "prepare for the second time")
    must(_nics(one) == _nics(two), f"first {shown(one)}, then {shown(two)}")


@check("seen k", "seen k.1")
async def what_a_tenant_can_set_chooses_no_other_machine(stage: Stage) -> None:
    """A tenant overrides every detail of offering and template, and adds any key."""
    await stage.room()
    instance = stage.fresh()
    before = await stage.ask("prepare", instance)
    wishes = ("pool", "host", "server", "node", "address", "virtualmachineid", "uuid")
    instance.details |= {f"External:{key}": "other" for key in wishes}
    instance.details |= dict.fromkeys(wishes, "other")
    after = await stage.ask("prepare", instance)
    must_succeed(after, "prepare with a tenant's details")
    must(_nics(before) == _nics(after), f"first {shown(before)}, then {shown(after)}")


@check("16")
async def what_is_only_prepared_is_not_on(stage: Stage) -> None:
    """After a crash of the server it would be taken for running."""
    instance = await stage.prepared()
    power = await stage.power(instance)
    must(power is not PowerState.ON, f"status says {power}")


@check("3", "48", "seen a2", "seen 2.13")
async def create_needs_no_prepare_before_it(stage: Stage) -> None:
    """A prepare that failed is not repeated: create comes without it, and decides."""
    await stage.room()
    instance = stage.fresh()
    must_succeed(await stage.ask("create", instance), "create without prepare")
    must(await stage.becomes(instance, PowerState.ON), "create succeeded, status never said on")


@check("6", "seen i.3")
async def create_of_a_running_instance_changes_nothing(stage: Stage) -> None:
    """After a crash of the server the next start of a used machine is sent as create."""
    instance = await stage.running()
    instance.details["deployvm"] = "true"
    called = await stage.ask("create", instance)
    del instance.details["deployvm"]
    must_succeed(called, "create of a running instance")
    must(await stage.becomes(instance, PowerState.ON), "not on after create of a running one")


@check("6", "38", "40", "seen i.3", "seen k.3")
async def create_of_a_stopped_instance_starts_it_without_its_image(stage: Stage) -> None:
    """A tenant's detail makes it create, and the template's details are gone with it."""
    instance = await stage.running()
    must_succeed(await stage.ask("stop", instance), "stop")
    kept, instance.details = instance.details, {"deployvm": "true"}
    called = await stage.ask("create", instance)
    instance.details = kept
    must_succeed(called, "create of a stopped instance without the template's details")
    must(await stage.becomes(instance, PowerState.ON), "not on after create of a stopped one")


@check("22", "23")
async def a_create_that_was_killed_is_taken_up_again(stage: Stage) -> None:
    """SIGKILL comes at the end of the wait and with the server's own end."""
    instance = await stage.prepared()
    await stage.cut_create(instance)
    must_succeed(await stage.ask("create", instance), "create after one that was killed")
    must(await stage.becomes(instance, PowerState.ON), "not on after the second create")


@check("1", "seen c")
async def create_after_a_failed_one_and_its_stop_succeeds(stage: Stage) -> None:
    """Each failed create is followed by stop, never delete, and by the next create."""
    instance = await stage.prepared()
    await stage.cut_create(instance)
    must_succeed(await stage.ask("stop", instance, clean_up=True), "the stop after a failed create")
    must_succeed(await stage.ask("create", instance), "create after a failed one and its stop")
    must(await stage.becomes(instance, PowerState.ON), "not on after the next create")


@check("24")
async def two_creates_at_once_both_succeed(stage: Stage) -> None:
    """Two servers after a failover: the refused one would be followed by a stop."""
    instance = await stage.prepared()
    both = await asyncio.gather(
        stage.ask("create", instance), stage.ask("create", instance, server=stage.other)
    )
    for called in both:
        must_succeed(called, "one of two creates at once")
    must(await stage.becomes(instance, PowerState.ON), "not on after two creates")


@check("22", "seen g")
async def create_ends_before_it_would_be_killed(stage: Stage) -> None:
    """The fourth word is when it is killed without a word, and its output dropped."""
    called = await stage.ask("create", await stage.prepared(), wait_s=SHORT_WAIT_S)
    must(called.exit is not None, f"create with a wait of {SHORT_WAIT_S} s: {shown(called)}")


@check("5")
async def start_of_what_was_never_created_fails(stage: Stage) -> None:
    """An owner who replaced the details before the first start makes it a start of nothing."""
    instance = stage.fresh()
    must_fail(await stage.ask("start", instance), "start of what was never created")
    power = await stage.power(instance)
    must(power is not PowerState.ON, f"status after it says {power}")


@check("5")
async def reboot_of_what_was_never_created_fails(stage: Stage) -> None:
    """Success would say that a machine was rebooted; which one?"""
    must_fail(await stage.ask("reboot", stage.fresh()), "reboot of what was never created")


@check("24")
async def start_of_a_running_instance_succeeds(stage: Stage) -> None:
    """A start that was done, and whose answer was lost, is sent again."""
    must_succeed(await stage.ask("start", await stage.running()), "start of a running instance")


@check("38", "39", "seen 2.6")
async def an_instance_whose_details_were_replaced_is_still_known(stage: Stage) -> None:
    """UpdateVirtualMachine replaces the whole set; another offering brings other details."""
    instance = await stage.running()
    kept = instance.details, instance.offering, instance.cpus
    instance.details, instance.offering, instance.cpus = {}, {"External:class": "other"}, 64
    called = [await stage.ask(verb, instance) for verb in ("stop", "start", "reboot")]
    instance.details, instance.offering, instance.cpus = kept
    for verb, each in zip(("stop", "start", "reboot"), called, strict=True):
        must_succeed(each, f"{verb} without its details")
    must(await stage.becomes(instance, PowerState.ON), "not on after a start without its details")


@check("43", "seen 2.7", "seen 2.8")
async def an_instance_whose_mac_and_address_changed_starts(stage: Stage) -> None:
    """A new owner means a new MAC; an address may be changed while it is stopped."""
    instance = await stage.running()
    kept = instance.nics[0]
    instance.nics[0] = replace(kept, mac="1e:00:a1:fe:dc:ba")
    instance.nics[0].ip = kept.gateway.rpartition(".")[0] + ".250"
    called = [await stage.ask(verb, instance) for verb in ("stop", "start")]
    instance.nics[0] = kept
    must_succeed(called[1], "start with another MAC and address")
    must(await stage.becomes(instance, PowerState.ON), "not on with another MAC and address")


@check("42")
async def an_instance_is_known_by_its_uuid_and_not_its_name(stage: Stage) -> None:
    """Names are for people; the uuid never changes."""
    instance = await stage.running()
    kept, instance.number = instance.number, instance.number + 100_000
    called = await stage.ask("stop", instance)
    instance.number = kept
    must_succeed(called, "stop by another name")
    must(await stage.leaves(instance, PowerState.ON), "still on after a stop by another name")


def _nics(called: Called) -> list[dict[str, Any]]:
    """Of prepare's answer; [] where it names none."""
    said = called.parsed()
    nics = said.get("nics") if isinstance(said, dict) else None
    return [nic for nic in nics if isinstance(nic, dict)] if isinstance(nics, list) else []
