"""Rescue: a RAM system with sshd in the tenant's networks, in place of what is on the disks.

Our agent makes it and ends: nothing of ours runs on the machine once its port leads there.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.operations import boot_steps, deploy, port_steps, power_steps
from provisioner.operations.agent_orders import order
from provisioner.operations.doors import Work
from provisioner.operations.reinstall import installed_disk
from provisioner.operations.steps import Step, StepList
from provisioner.servers.allocation import TenantNetwork
from provisioner.servers.model import Nic
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import Seconds

HOST_KEY = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
ACKNOWLEDGED_S = Seconds(5.0)
"""Its agent waits for the acknowledgement of its result, and lets go of our network then."""


async def _input(work: Work) -> Mapping[str, Any]:
    """All that can be refused before power is touched."""
    deploy.ramdisk_is_there(work)
    installed_disk(work.server, work.server.baseline)
    port_steps.tenant(work.server, tuple(work.operation.parameters["vlans"]))
    if not work.operation.parameters["keys"]:
        raise InputError(ErrorCode.KEYS_MISSING, "without an SSH key nobody could log in")
    return {}


async def _rescue(work: Work) -> Mapping[str, Any]:
    """The agent readies it; what it answers is the tenant's to see, so its form is looked at."""
    if work.allocation is None:
        raise OperatorError(ErrorCode.CANNOT_TELL, "a rescue without an allocation")
    answer = await order(
        work,
        "rescue",
        {
            "hostname": work.operation.parameters["hostname"],
            "keys": list(work.operation.parameters["keys"]),
            "networks": list(networks_of(work.allocation.networks, work.server.tenant_nics())),
        },
    )
    key = str(answer.get("host_key"))
    if not HOST_KEY.fullmatch(key):
        raise OperatorError(ErrorCode.AGENT_FAILED, "the rescue system named no host key")
    return {"host_key": key}


def networks_of(
    networks: Iterable[TenantNetwork], nics: Iterable[Nic]
) -> Iterator[Mapping[str, Any]]:
    """The instance's networks with the server's own cards: the n-th goes to the n-th port."""
    for network, nic in zip(networks, nics, strict=False):
        yield {
            "mac": nic.mac,
            "address": network.address,
            "prefix": network.prefix,
            "gateway": network.gateway,
            "dns": list(network.dns),
            "default": network.default,
            "mtu": network.mtu,
        }


async def _boot_closed(work: Work) -> Mapping[str, Any]:
    """Its token opens nothing any more: from here on the machine is in the tenant's hands."""
    await work.doors.clock.sleep(ACKNOWLEDGED_S)
    now = work.doors.clock.wall()
    close = partial(work.doors.records.boots.change_boot, work.operation.id, closed_at=now)
    await stored(close)
    return {}


RESCUE_INPUT = Step(name="rescue-input", act=_input, limit=Seconds(60.0))
RESCUE_ORDER = Step(name="rescue", act=_rescue, limit=Seconds(600.0))
BOOT_CLOSED = Step(name="boot-closed", act=_boot_closed, limit=Seconds(60.0))

RESCUE = StepList(
    name="rescue/1",
    kind=Intent.RESCUE,
    steps=(
        RESCUE_INPUT,
        power_steps.OFF_GRACEFULLY,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK_FOR_TENANT,
        boot_steps.AGENT_CALLED_IN,
        boot_steps.SAME_MACHINE,
        RESCUE_ORDER,
        boot_steps.WITHDRAW,
        BOOT_CLOSED,
        port_steps.TO_TENANT,
    ),
)
