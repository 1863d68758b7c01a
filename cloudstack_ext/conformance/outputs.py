"""What is printed, and how an entry point ends where it is not asked for a verb of its own."""

from dataclasses import replace

from cloudstack_ext.conformance.model import check, must, must_fail, must_succeed, shown
from cloudstack_ext.conformance.stage import Stage
from cloudstack_ext.management_server.merge import UnparsableError, merged
from cloudstack_ext.management_server.payload import Action, statuses_payload
from cloudstack_ext.management_server.server import has_console
from cloudstack_ext.power_view import PowerState
from provisioner.units import Seconds

CLASS_NAMES = (
    "com.cloud.agent.api.GetVmIpAddressCommand",
    "com.cloud.agent.api.GetGPUStatsCommand",
    "com.cloud.agent.api.PlugNicCommand",
    "com.cloud.agent.api.UnPlugNicCommand",
    "com.cloud.agent.api.CheckVirtualMachineCommand",
    "com.cloud.agent.api.CreateStoragePoolCommand",
    "com.cloud.agent.api.ModifyStoragePoolCommand",
)
"""All that a running server sent (seen 2.3)."""
PIPE = 65_536
BIG = 1_048_576
"""Characters of base64: the largest value of vm.userdata.max.length (seen q)."""
SHORT_S = 5


@check("34", "seen 2.3", "seen 2.5", "seen 2.16")
async def java_class_names_fail(stage: Stage) -> None:
    """Exit 0 does harm: what is printed to GetVmIpAddressCommand becomes an address of NICs."""
    for name in CLASS_NAMES:
        called = await stage.server.class_name(name, stage.host)
        must_fail(called, name.rpartition(".")[2])


@check("48")
async def an_unknown_verb_fails(stage: Stage) -> None:
    """A later version's verb that is answered with success is believed."""
    instance = await stage.running()
    must_fail(await stage.ask("frobnicate", instance, wait_s=SHORT_S), "an unknown verb")


@check("33", "seen 2.15")
async def a_custom_action_named_like_a_verb_is_no_verb(stage: Stage) -> None:
    """Only the payload's key `action` tells: whoever obeys argv alone destroys the machine."""
    instance = await stage.running()
    for name in ("reboot", "stop", "delete"):
        await stage.server.commands.send(
            name, instance, caller=stage.server.caller, host=stage.host, action=Action(name=name)
        )
        must(await stage.becomes(instance, PowerState.ON), f"not on after an action named {name}")


@check("33", "seen 2.15")
async def a_custom_action_that_nobody_made_fails(stage: Stage) -> None:
    """Its job is a success either way; only the exit tells the user that nothing was done."""
    instance = await stage.running()
    called = await stage.server.commands.send(
        "conformance probe",
        instance,
        caller=stage.server.caller,
        host=stage.host,
        action=Action(name="conformance probe", parameters={"x": "y"}),
        wait_s=SHORT_S,
    )
    must_fail(called, "an action of an unknown name")


@check("19", "seen q", "seen f")
async def a_payload_of_a_megabyte_is_answered_in_short(stage: Stage) -> None:
    """More than 64 KiB of output blocks the child until it is killed."""
    instance = await stage.running()
    instance.vm_data = [["userdata", "user_data", "QUJD" * (BIG // 4)]]
    called = await stage.ask("start", instance)
    instance.vm_data = []
    must_succeed(called, "start with a megabyte of user data")
    must(len(called.output) <= PIPE // 2, f"{len(called.output)} bytes of output")


@check("21", "seen g2")
async def nothing_is_left_that_keeps_the_output_open(stage: Stage) -> None:
    """The server reads to the end of the output, without a limit: its thread is lost."""
    instance = await stage.running()
    for verb in ("stop", "stop", "start", "reboot"):
        called = await stage.ask(verb, instance)
        must(not called.held, f"{verb} ended, and something still holds its output")


@check("20", "seen a.6", "seen e")
async def prepare_prints_an_object_or_nothing(stage: Stage) -> None:
    """A warning before the JSON makes prepare fail, and the deployment goes on without it."""
    await stage.room()
    called = await stage.ask("prepare", stage.fresh())
    must_succeed(called, "prepare")
    try:
        merged({}, called.output)
    except UnparsableError:
        must(False, f"prepare: not one JSON object: {shown(called)}")  # noqa: FBT003


@check("20", "read 2.10")
async def getconsole_is_a_console_or_a_failure(stage: Stage) -> None:
    """Everything else is shown to the user as a broken console."""
    called = await stage.ask("getconsole", await stage.running(), wait_s=SHORT_S)
    if called.failure:
        must_fail(called, "getconsole")
        return
    must(has_console(called), f"getconsole: exit 0 without url or host and port: {shown(called)}")


@check("read 2.12")
async def statuses_names_every_instance_or_fails(stage: Stage) -> None:
    """It is the whole report of a ping: an instance that is missing in it becomes Stopped."""
    instance = await stage.running()
    payload = statuses_payload(stage.host, stage.cloud.extension)
    called = await stage.server.entry.ask("statuses", payload, SHORT_S)
    if called.failure:
        must_fail(called, "statuses")
        return
    said = called.parsed()
    named = said.get("power_state") if isinstance(said, dict) else None
    power = named.get(instance.name) if isinstance(named, dict) else None
    text = f"statuses: exit 0, and {instance.name}, which is on, is {power}: {shown(called)}"
    must(str(power).lower() in {"poweron", "powerunknown"}, text)


@check("read 1.5")
async def a_payload_that_is_not_there_or_cut_fails(stage: Stage) -> None:
    """Payload files are cleared away, and disks fill up: nothing was asked for then."""
    instance = await stage.running()
    entry = stage.server.entry
    for payload in (b"", b'{"virtualmachineid":"', b"[]"):
        called = await entry.ask("stop", payload, SHORT_S)
        must_fail(called, f"stop with the payload {payload!r}")
    gone = [*entry.argv, "stop", str(entry.folder / "gone.json"), str(SHORT_S)]
    must_fail(entry.door.run(gone, Seconds(float(SHORT_S))), "stop without a payload")
    must(await stage.becomes(instance, PowerState.ON), "not on after stops without a payload")


@check("read 2.3")
async def fields_that_nobody_knows_are_passed_over(stage: Stage) -> None:
    """Each version of the server adds some."""
    instance = await stage.running()
    kept = replace(instance.nics[0])
    instance.details |= {"newer": "x", "External:newer": "y"}
    instance.vm_data = [["newer", "thing", "x"], ["metadata", "newer", ""]]
    called = await stage.ask("start", instance)
    instance.vm_data, instance.nics[0] = [], kept
    must_succeed(called, "start with fields of a newer server")
