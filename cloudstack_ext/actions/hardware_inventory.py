"""`hardware-inventory`: what inspection found in the machine, without what tells it from others.

No serial, WWN, UUID, address of a card or bus, firmware version or name: they would let one
tenant know a machine again that another one has had. Whoever runs the machine reads them there.
"""

from collections import Counter
from collections.abc import Iterator

from cloudstack_ext.actions import words
from cloudstack_ext.actions.asked import Asked, Row, item
from provisioner.hardware.inventory import Disk, Inventory


async def hardware_inventory(asked: Asked) -> tuple[Row, ...]:
    """Of the baseline, which every boot of ours is compared with."""
    return tuple(rows_of(await asked.desk.inventory(asked.key)))


def rows_of(found: Inventory) -> Iterator[Row]:
    """As the tenant reads it."""
    model = " ".join(filter(None, (found.system.manufacturer, found.system.product)))
    yield item("system", model or "not named by its firmware")
    cpu = found.cpu
    yield item("processors", f"{cpu.sockets} x {cpu.model or 'not named'}, {cpu.threads} threads")
    yield item("memory", f"{found.memory_bytes / 2**30:.0f} GiB")
    yield item("firmware", found.firmware.mode)
    for kind, count in Counter(_disk(disk) for disk in found.disks).items():
        yield item("disks", f"{count} x {kind}")
    yield item("network cards", str(len(found.nics)))
    gpus = Counter(f"{each.vendor}:{each.device}" for each in found.pci if each.is_gpu())
    for device, count in gpus.items():
        yield item("GPUs", f"{count} x PCI {device}")


def _disk(disk: Disk) -> str:
    model = disk.model or "not named"
    spin = ", rotating" if disk.rotational else ""
    return f"{words.size(disk.bytes)} {disk.transport}, {model}{spin}"
