"""Which device an order means. Standard library only."""

from collections.abc import Mapping
from typing import Any

from provisioner.agent.order import OrderFailedError
from provisioner.hardware.inventory import FABRIC, Disk, Inventory, Transport

_NAMED_BY = ("serial", "wwn", "model")


def resolve(reference: Mapping[str, Any], inventory: Inventory) -> Disk:
    """The one disk that a reference names: same size, and same in all that it gives.

    Raises:
        OrderFailedError: DISK_NOT_FOUND; DISK_AMBIGUOUS; DISK_FABRIC for one that is not the
            server's own (over a fabric, removable, or read only); ORDER_MALFORMED.
    """
    named, size = _checked(reference)
    fitting = [
        each
        for each in inventory.disks
        if each.bytes == size and all(getattr(each, name) == named[name] for name in named)
    ]
    if len(fitting) != 1:
        code = "DISK_AMBIGUOUS" if fitting else "DISK_NOT_FOUND"
        raise OrderFailedError(code, f"{len(fitting)} disks are {describe(reference)}")
    _refuse_foreign(fitting[0])
    return fitting[0]


def describe(reference: Mapping[str, Any]) -> str:
    """A reference in one line."""
    return ", ".join(f"{name} {reference.get(name)}" for name in (*_NAMED_BY, "bytes"))


def _checked(reference: Mapping[str, Any]) -> tuple[dict[str, str], int]:
    size = reference.get("bytes")
    named = {name: reference[name] for name in _NAMED_BY if reference.get(name) is not None}
    if type(size) is not int or not all(isinstance(each, str) for each in named.values()):
        raise OrderFailedError("ORDER_MALFORMED", "a disk is named by serial, wwn, model and bytes")
    return named, size


def _refuse_foreign(disk: Disk) -> None:
    """Invariant 14, once more at the last moment."""
    foreign = disk.transport in FABRIC or disk.transport in {Transport.USB, Transport.OPTICAL}
    if foreign or disk.removable or disk.read_only:
        raise OrderFailedError(
            "DISK_FABRIC", f"{disk.path} ({disk.transport}) is not the server's own writable disk"
        )
