"""The disks of an order on this machine: exactly those, or none."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioner.agent.disks import resolve
from provisioner.agent.facts import read_facts
from provisioner.agent.order import OrderFailedError
from provisioner.hardware.inventory import Disk, Transport
from provisioner.wipe.orders import DiskReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One disk to work on.

    Attributes:
        unit: Disks of one unit share commands that reach all of them (namespaces of one NVMe
            controller), so they are worked on one after the other.
    """

    reference: DiskReference
    path: str
    unit: str


def find_targets(references: Sequence[DiskReference]) -> tuple[Target, ...]:
    """Each reference's one disk, in this order.

    Raises:
        OrderFailedError: What `resolve` raises; DISK_AMBIGUOUS for a disk that is named twice.
    """
    inventory = read_facts()
    targets = []
    for reference in references:
        disk = resolve(reference.to_json(), inventory)
        targets.append(Target(reference=reference, path=disk.path, unit=_unit(disk)))
    if len({target.path for target in targets}) < len(targets):
        raise OrderFailedError("DISK_AMBIGUOUS", "the order names one disk twice")
    return tuple(targets)


def _unit(disk: Disk) -> str:
    """The controller behind a NVMe namespace; any other disk is its own."""
    if disk.transport is Transport.NVME:
        return str(Path("/sys/block", disk.name, "device").resolve())
    return disk.path
