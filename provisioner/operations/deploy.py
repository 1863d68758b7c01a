"""Deploy: from a free server to a tenant's running system."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.hardware.inventory import Disk
from provisioner.operations import boot_steps, port_steps, power_steps
from provisioner.operations.agent_orders import order
from provisioner.operations.alive import proof_of_life
from provisioner.operations.boot_steps import facts_of
from provisioner.operations.doors import Work
from provisioner.operations.power_on import WRITTEN
from provisioner.operations.steps import Step, StepList
from provisioner.ports.catalogue import ImageRecord
from provisioner.seed.volume import ROOM_BYTES
from provisioner.servers.model import Power
from provisioner.servers.root_disk import own_disks, root_disk
from provisioner.servers.states import Intent
from provisioner.store.waiting import stored
from provisioner.units import ImageName, Seconds

IMAGE_FILES = ("blocks.json", "image.raw")
ROOT_DISK = "root-disk"
"""The step that finds the disk where nothing is written but a seed."""


async def _input(work: Work) -> Mapping[str, Any]:
    """All that can be refused before power is touched: image, root disk, networks, seed."""
    image = await _image(work)
    ramdisk_is_there(work)
    if work.server.baseline is None:
        raise OperatorError(ErrorCode.FACTS_DIFFER, "the server has no baseline: inspect it first")
    own = own_disks(work.server.baseline.disks, work.server.excluded_disks)
    disk = root_disk(
        work.server.root_disk,
        own,
        image_bytes=image.image_bytes + ROOM_BYTES,
        sector_bytes=image.logical_sector_bytes,
    )
    port_steps.tenant(work.server, tuple(work.operation.parameters["vlans"]))
    if await stored(work.doors.records.seeds.seed, work.operation.id) is None:
        raise InputError(ErrorCode.SEED_INVALID, "the seed was not kept: ask for create again")
    return {"image": image.name, "root": image.root, "disk": disk.serial or disk.name}


async def _image(work: Work) -> ImageRecord:
    name = ImageName(work.operation.parameters["image"])
    image = await stored(work.doors.records.catalogue.image, name)
    if image is None:
        raise InputError(ErrorCode.IMAGE_MISSING, f"image {name} is not imported")
    if not all((image.folder / each).exists() for each in IMAGE_FILES):
        raise InputError(ErrorCode.IMAGE_MISSING, f"the files of image {name} are gone")
    return image


def ramdisk_is_there(work: Work) -> None:
    """As long as there is none no server is touched for it: it stays free for the next one."""
    try:
        work.doors.site.ramdisk()
    except OperatorError as error:
        raise InputError(error.code, error.brief, error.detail) from error


async def _write_image(work: Work) -> Mapping[str, Any]:
    image, facts = await _image(work), await facts_of(work)
    disk = root_disk(
        work.server.root_disk,
        own_disks(facts.disks, work.server.excluded_disks),
        image_bytes=image.image_bytes + ROOM_BYTES,
        sector_bytes=image.logical_sector_bytes,
    )
    blobs = f"{work.doors.site.blobs_url}/images/{image.name}"
    named = reference(disk)
    written = await order(
        work,
        "write_image",
        {
            "disk": named,
            "url": f"{blobs}/image.raw",
            "blocks_url": f"{blobs}/blocks.json",
            "image_bytes": image.image_bytes,
            "block_bytes": image.block_bytes,
            "root": image.root,
            "logical_sector_bytes": image.logical_sector_bytes,
        },
    )
    return {**written, "disk": named}


def reference(disk: Disk) -> dict[str, Any]:
    """By what an agent knows it."""
    return {"serial": disk.serial, "wwn": disk.wwn, "bytes": disk.bytes, "model": disk.model}


def _written(work: Work) -> Mapping[str, Any]:
    """The disk that an image was written to, or whose system stays as it is."""
    found: Mapping[str, Any] = (work.found.get(WRITTEN) or work.found[ROOT_DISK])["disk"]
    return found


async def _write_seed(work: Work) -> Mapping[str, Any]:
    """The tenant's seed goes to this boot alone, then it is gone from here."""
    seeds = work.doors.records.seeds
    parameters = {
        "disk": _written(work),
        "url": f"{work.doors.site.agent_url}/agent/v1/seed",
        "sha256": work.operation.parameters["seed_sha256"],
        "bytes": work.operation.parameters["seed_bytes"],
    }
    written = await order(work, "write_seed", parameters)
    await stored(seeds.drop_seed, work.operation.id)
    return written


async def _boot_order(work: Work) -> Mapping[str, Any]:
    mode = work.server.firmware.value
    return await order(work, "set_boot_order", {"mode": mode, "disk": _written(work)})


async def _agent_ends(work: Work) -> Mapping[str, Any]:
    return await order(work, "power_off", {})


async def _alive(work: Work) -> Mapping[str, Any]:
    """The system runs, or is assumed to: how that is known is recorded."""
    found = await proof_of_life(work)
    if work.allocation is not None:
        mark = partial(work.doors.records.allocations.mark, work.allocation.id, wanted=Power.ON)
        await stored(mark)
    return found


INPUT = Step(name="input", act=_input, limit=Seconds(60.0))
WRITE_IMAGE = Step(
    name=WRITTEN, act=_write_image, limit=Seconds(4 * 3600.0), marks=("needs_reinstall",)
)
WRITE_SEED = Step(name="write-seed", act=_write_seed, limit=Seconds(600.0), marks=("needs_reseed",))
BOOT_ORDER = Step(name="boot-order", act=_boot_order, limit=Seconds(300.0))
AGENT_ENDS = Step(name="agent-ends", act=_agent_ends, limit=Seconds(300.0))
ALIVE = Step(
    name="alive",
    act=_alive,
    limit=Seconds(60.0),
    waits=lambda times: times.proof_of_life_s,
)

DEPLOY = StepList(
    name="deploy/1",
    kind=Intent.DEPLOY,
    steps=(
        INPUT,
        power_steps.OFF,
        port_steps.TO_PROVISIONING,
        boot_steps.NETWORK_FIRST,
        power_steps.ON_TO_NETWORK_FOR_TENANT,
        boot_steps.AGENT_CALLED_IN,
        boot_steps.SAME_MACHINE,
        WRITE_IMAGE,
        WRITE_SEED,
        BOOT_ORDER,
        boot_steps.WITHDRAW,
        AGENT_ENDS,
        power_steps.AGENT_OFF,
        port_steps.TO_TENANT,
        power_steps.DISK_FIRST,
        power_steps.FIRST_ON,
        ALIVE,
    ),
)
