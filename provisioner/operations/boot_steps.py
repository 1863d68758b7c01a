"""Steps around one network boot: token, offer, the agent's call-in, and its end."""

import secrets
from collections.abc import Mapping
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.hardware.inventory import Inventory
from provisioner.operations.agent_orders import order
from provisioner.operations.doors import Work
from provisioner.operations.steps import Step
from provisioner.operations.talk import talk
from provisioner.ports.controllers import BootDevice
from provisioner.servers.baseline import differences
from provisioner.servers.operation import Boot
from provisioner.servers.root_disk import own_disks
from provisioner.store.waiting import stored
from provisioner.units import Seconds

NONCE_BYTES = 13
"""What an IPMI system event record of OEM type 0xE0 carries: 13 bytes of its own."""
AGENT = "agent"
"""Arrival: the agent called in with this boot's token."""


async def _network_first(work: Work) -> Mapping[str, Any]:
    """A boot with a token of its own, a nonce in the controller, the network as boot device.

    The override is read back where this controller reports it; one that cannot is recorded,
    and the proof is the agent's call-in (invariant 4).
    """
    mac = work.server.provisioning_nic().mac
    work.doors.site.ramdisk()  # refuses before power is touched where there is none
    now = work.doors.clock.wall()
    boot = Boot(
        operation=work.operation.id,
        server=work.server.name,
        epoch=work.operation.epoch,
        mac=mac,
        token_sha256="",
        opened_at=now,
    )
    await stored(work.doors.records.boots.open_boot, boot)
    nonce = secrets.token_bytes(NONCE_BYTES)
    async with talk(work) as controller:
        kept = await controller.leave_nonce(nonce)
        setting = await controller.boot_from(BootDevice.NETWORK)
    await work.doors.offers.offer(mac, work.server.name)
    await _journal(work, f"offer {mac}")
    return {
        "nonce": nonce.hex(),
        "nonce_kept": kept,
        "device": setting.device,
        "mode": setting.mode,
        "reported": setting.device is not None,
    }


async def _agent_called_in(work: Work) -> Mapping[str, Any]:
    call_in = work.doors.site.times.agent_call_in_s
    arrived = await work.doors.bell.wait(work.operation.id, AGENT, until=work.until)
    hello = await stored(work.doors.records.orders.order, work.operation.id, "hello")
    if not arrived or hello is None:
        raise OperatorError(
            ErrorCode.AGENT_SILENT,
            f"the agent did not call in within {call_in:.0f} s of power-on",
        )
    return {}


async def _same_machine(work: Work) -> Mapping[str, Any]:
    """Before the first destructive order: this is the machine, with its disks (7, 13, 14)."""
    facts = await facts_of(work)
    found = differences(work.server, facts)
    if found:
        raise OperatorError(
            ErrorCode.FACTS_DIFFER,
            f"not the machine or the disks that are remembered: {'; '.join(found)}",
        )
    own_disks(facts.disks, work.server.excluded_disks)
    return {"identity": await identity_class(work)}


async def identity_class(work: Work) -> str:
    """How surely controller and machine belong together: "nonce", else "uuid"."""
    left = work.found.get(NETWORK_FIRST.name, {})
    if not left.get("nonce_kept"):
        return "uuid"
    answer = await order(work, "read_nonce", {"kind": left["nonce_kept"]}, name="read-nonce")
    async with talk(work) as controller:
        await controller.remove_nonce()
    if answer.get("nonce") is None:
        return "uuid"
    if answer["nonce"] != left["nonce"]:
        raise OperatorError(
            ErrorCode.OTHER_MACHINE,
            "the machine does not read the nonce that was left in its controller",
        )
    return "nonce"


async def facts_of(work: Work) -> Inventory:
    """What this boot's agent found, as it said at its call-in."""
    hello = await stored(work.doors.records.orders.order, work.operation.id, "hello")
    if hello is None:
        raise OperatorError(ErrorCode.AGENT_SILENT, "the agent has not called in")
    return Inventory.from_json(hello.result["facts"])


async def _withdraw(work: Work) -> Mapping[str, Any]:
    """Nothing is offered to this MAC any more."""
    mac = work.server.provisioning_nic().mac
    await work.doors.offers.withdraw(mac)
    await _journal(work, f"withdraw {mac}")
    return {}


async def _journal(work: Work, text: str) -> None:
    await stored(work.doors.records.calls.call, work.server.name, "boot", text, "ok")


NETWORK_FIRST = Step(name="network-first", act=_network_first, limit=Seconds(120.0))
AGENT_CALLED_IN = Step(
    name="agent-called-in",
    act=_agent_called_in,
    limit=Seconds(0.0),
    waits=lambda times: times.agent_call_in_s,
)
SAME_MACHINE = Step(name="same-machine", act=_same_machine, limit=Seconds(180.0))
WITHDRAW = Step(name="withdraw", act=_withdraw, limit=Seconds(60.0))
