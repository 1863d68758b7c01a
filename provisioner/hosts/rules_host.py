"""Rules about texts, machine, boot and memory. Pure."""

from collections.abc import Iterator
from typing import Final

from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import HostFacts, Loader
from provisioner.hosts.finding_catalogue import Code
from provisioner.hosts.seen import HOST, Seen, of_device, seen

_SEVERAL: Final = 2


def texts(facts: HostFacts) -> Iterator[Seen]:
    """Who gathered them, and what cannot be read of them."""
    if not facts.origin.by_root:
        yield seen(Code.FACTS_WITHOUT_ROOT, HOST, ("bundle", "uid is not 0"))
    if facts.problems:
        said = ((each.path, each.text) for each in facts.problems)
        yield seen(Code.TEXT_MALFORMED, HOST, *said)


def machine(facts: HostFacts) -> Iterator[Seen]:
    """A machine of its own, with a name of its own."""
    if facts.machine.is_virtual is True:
        names = [facts.machine.maker, facts.machine.product]
        says = " ".join(each for each in names if isinstance(each, str)) or "flag hypervisor"
        yield seen(Code.HOST_IS_VIRTUAL, HOST, ("/sys/class/dmi/id, /proc/cpuinfo", says))
    if facts.machine.system_uuid is None:
        text = "/sys/class/dmi/id/product_uuid"
        yield seen(Code.SYSTEM_UUID_MISSING, HOST, (text, "no uuid, or one of zeros"))


def boot(facts: HostFacts) -> Iterator[Seen]:
    """What a trial boot would rest on."""
    if isinstance(facts.boot.loader, Unknown):
        line = facts.boot.command_line
        says = line.unknown if isinstance(line, Unknown) else " ".join(line)
        yield seen(Code.LOADER_UNKNOWN, HOST, ("/proc/cmdline", says))
    if facts.boot.loader is Loader.GRUB and facts.boot.saved_entry is None:
        yield seen(Code.SAVED_ENTRY_MISSING, HOST, ("grubenv", "no line saved_entry="))
    if not isinstance(facts.boot.built_in, Unknown) and "vfio-pci" in facts.boot.built_in:
        yield seen(Code.VFIO_BUILT_IN, HOST, ("modules.builtin", "vfio-pci"))
    if facts.machine.secure_boot is True:
        yield seen(Code.SECURE_BOOT_ON, HOST, ("EFI variable SecureBoot", "enabled"))


def memory(facts: HostFacts) -> Iterator[Seen]:
    """NUMA nodes and hugepages."""
    nodes = facts.cpu.nodes
    for each in nodes:
        if each.memory_mib == 0:
            text = f"/sys/devices/system/node/node{each.number}/meminfo"
            yield seen(Code.NODE_WITHOUT_MEMORY, f"node {each.number}", (text, "MemTotal 0 kB"))
    if len(nodes) >= _SEVERAL:
        for gpu in facts.gpus:
            device = facts.device(gpu.address)
            if device is not None and device.numa_node is None:
                text = of_device(gpu.address, "numa_node")
                yield seen(Code.NUMA_UNKNOWN, gpu.address, (text, "-1"))
    pages = [
        (
            f"/sys/devices/system/node/node{node.number}/hugepages",
            f"{page.total} of {page.size_kib} KiB",
        )
        for node in nodes
        for page in node.hugepages
        if isinstance(page.total, int) and page.total > 0
    ]
    if pages:
        yield seen(Code.HUGEPAGES_UNUSED, HOST, *pages)


RULES: Final = (texts, machine, boot, memory)
