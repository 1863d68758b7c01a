"""Is this the hardware that was enrolled? Pure."""

from collections.abc import Sequence

from provisioner.hardware.inventory import Disk, Inventory
from provisioner.servers.model import ExpectedHardware


def unmet(
    expected: ExpectedHardware | None, seen: Inventory, own: Sequence[Disk]
) -> tuple[str, ...]:
    """What differs from the manifest's `expected`, each in one line; () is "as expected".

    Memory may be up to a tenth smaller than it is sold: firmware and kernel keep some.

    Args:
        expected: None is "whatever is found".
        seen: By the agent.
        own: The disks of it that are the server's own.
    """
    if expected is None:
        return ()
    found = [
        _same("processor threads", expected.cpu_threads, seen.cpu.threads),
        _same("disks of its own", expected.disks, len(own)),
        _same("GPUs", expected.gpus, sum(each.is_gpu() for each in seen.pci)),
        _same("serial number", expected.serial, seen.system.serial),
        _memory(expected.memory_bytes, seen.memory_bytes),
    ]
    return tuple(filter(None, found))


def _same(what: str, wanted: int | str | None, seen: int | str | None) -> str:
    return "" if wanted in {None, seen} else f"{what}: {wanted} expected, {seen} seen"


def _memory(wanted: int | None, seen: int) -> str:
    if wanted is None or wanted * 9 // 10 <= seen <= wanted:
        return ""
    return f"memory: {wanted} bytes expected, {seen} seen"
