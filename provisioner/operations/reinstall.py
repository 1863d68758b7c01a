"""Reinstall and reseed: deploy's own steps again, on a machine that its tenant keeps.

Each has a second list for an instance that is stopped: it ends off, its port in quarantine.
"""

from collections.abc import Mapping
from typing import Any

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.hardware.inventory import Disk, Inventory
from provisioner.operations import boot_steps, deploy, port_steps, power_steps
from provisioner.operations.boot_steps import facts_of
from provisioner.operations.doors import Work
from provisioner.operations.steps import Step, StepList
from provisioner.servers.model import ServerRecord
from provisioner.servers.root_disk import own_disks, ruled_disk
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import Seconds


def installed_disk(server: ServerRecord, facts: Inventory | None) -> Disk:
    """Where its system lies: the disk that the server's rule names, whatever is on it now.

    Raises:
        InputError: DISK_NOT_FOUND, DISK_AMBIGUOUS, DISK_FABRIC.
        ConflictError: STATE_CONFLICT: it was adopted, so nobody here has installed it.
    """
    if facts is None:
        text = "its machine was adopted as it ran: nothing of it is known that could be written"
        raise ConflictError(ErrorCode.STATE_CONFLICT, text)
    return ruled_disk(server.root_disk, own_disks(facts.disks, server.excluded_disks))


async def _reseed_input(work: Work) -> Mapping[str, Any]:
    """All that can be refused before power is touched."""
    deploy.ramdisk_is_there(work)
    disk = installed_disk(work.server, work.server.baseline)
    port_steps.tenant(work.server, tuple(work.operation.parameters["vlans"]))
    if await stored(work.doors.records.seeds.seed, work.operation.id) is None:
        raise InputError(ErrorCode.SEED_INVALID, "the seed was not kept: ask for it again")
    return {"disk": disk.serial or disk.name}


async def _root_disk(work: Work) -> Mapping[str, Any]:
    """By the rule, among what this boot's agent found."""
    disk = installed_disk(work.server, await facts_of(work))
    return {"disk": deploy.reference(disk)}


RESEED_INPUT = Step(name="reseed-input", act=_reseed_input, limit=Seconds(60.0))
ROOT_DISK = Step(name=deploy.ROOT_DISK, act=_root_disk, limit=Seconds(60.0))

_TO_THE_AGENT = (
    power_steps.OFF_GRACEFULLY,
    port_steps.TO_PROVISIONING,
    boot_steps.NETWORK_FIRST,
    power_steps.ON_TO_NETWORK_FOR_TENANT,
    boot_steps.AGENT_CALLED_IN,
    boot_steps.SAME_MACHINE,
)
_AGENT_LEAVES = (boot_steps.WITHDRAW, deploy.AGENT_ENDS, power_steps.AGENT_OFF)
_TO_ITS_TENANT = (
    port_steps.TO_TENANT,
    power_steps.DISK_FIRST,
    power_steps.FIRST_ON,
    deploy.ALIVE,
)
_REINSTALL = (
    deploy.INPUT,
    *_TO_THE_AGENT,
    deploy.WRITE_IMAGE,
    deploy.WRITE_SEED,
    deploy.BOOT_ORDER,
    *_AGENT_LEAVES,
)
# the firmware's boot order was set when it was installed, and may be its tenant's by now
_RESEED = (RESEED_INPUT, *_TO_THE_AGENT, ROOT_DISK, deploy.WRITE_SEED, *_AGENT_LEAVES)

REINSTALL = StepList(
    name="reinstall/1", kind=Intent.REINSTALL, steps=(*_REINSTALL, *_TO_ITS_TENANT)
)
REINSTALL_STOPPED = StepList(
    name="reinstall-stopped/1", kind=Intent.REINSTALL, steps=(*_REINSTALL, port_steps.AT_REST)
)
RESEED = StepList(name="reseed/1", kind=Intent.RESEED, steps=(*_RESEED, *_TO_ITS_TENANT))
RESEED_STOPPED = StepList(
    name="reseed-stopped/1", kind=Intent.RESEED, steps=(*_RESEED, port_steps.AT_REST)
)
