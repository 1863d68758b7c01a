"""Rules about the IOMMU, its groups and what lies on the way to a GPU. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from provisioner.hardware.gpu import DISPLAYS, Gpu
from provisioner.hardware.pci import Acs, PciDevice, groups_of
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.finding_catalogue import Code
from provisioner.hosts.seen import HOST, Seen, of_device, seen, shown

_GROUPS: Final = "/sys/kernel/iommu_groups"
_FOREIGN: Final = {"intel_iommu": ("AuthenticAMD", "dmar"), "amd_iommu": ("GenuineIntel", "ivhd")}
"""Argument -> processors where it does nothing, unless there is such a unit all the same."""
_CRITICAL: Final = frozenset({"01", "02"})
"""Base classes of disks and network cards."""
_SAFE_DRIVERS: Final = re.compile(r"vfio-pci|pci-stub|.*-vfio-pci")


def switched_on(facts: HostFacts) -> Iterator[Seen]:
    """Firmware first: what it does not offer no kernel can switch on."""
    if facts.iommu.enabled is not False:
        return
    tables = facts.machine.tables
    groups = (_GROUPS, "empty")
    if tables == ():
        names = ("/sys/firmware/acpi/tables", "none of DMAR, IVRS, IORT")
        yield seen(Code.IOMMU_FIRMWARE_OFF, HOST, names, groups)
    else:
        said = tables.unknown if isinstance(tables, Unknown) else ", ".join(tables)
        yield seen(Code.IOMMU_OFF, HOST, groups, ("/sys/firmware/acpi/tables", said))


def arguments(facts: HostFacts) -> Iterator[Seen]:
    """Words of the kernel line that do nothing, or harm."""
    words = facts.boot.command_line
    vendor = facts.cpu.vendor
    for word in () if isinstance(words, Unknown) else words:
        said = ("/proc/cmdline", word)
        cpu = ("/proc/cpuinfo", vendor)
        other, unit = _FOREIGN.get(word.partition("=")[0], ("", ""))
        if other == vendor and not any(each.startswith(unit) for each in facts.iommu.units):
            yield seen(Code.IOMMU_ARGUMENT_FOREIGN, HOST, said, cpu)
        elif word == "amd_iommu=on":
            yield seen(Code.AMD_IOMMU_ON_IGNORED, HOST, said)
        elif word.startswith("pcie_acs_override"):
            yield seen(Code.ACS_OVERRIDE, HOST, said)


def interrupts(facts: HostFacts) -> Iterator[Seen]:
    """Without remapping a device's interrupts are the guest's to forge."""
    words = facts.boot.command_line
    line = () if isinstance(words, Unknown) else words
    said = [
        ("/proc/cmdline", word)
        for word in line
        if re.search(r"allow_unsafe_interrupts=(1|Y)", word) or word == "intremap=off"
    ]
    if facts.iommu.unsafe_interrupts is True:
        said.append(("/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "Y"))
    if said:
        yield seen(Code.UNSAFE_INTERRUPTS, HOST, *said)


def groups(facts: HostFacts) -> Iterator[Seen]:
    """What would go to a guest with each GPU."""
    members = groups_of(facts.pci)
    gpus = {each.address: each for each in facts.gpus}
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        if device is None or isinstance(device.iommu_group, Unknown):
            continue
        if device.iommu_group is None:
            if facts.iommu.enabled is True:
                link = of_device(gpu.address, "iommu_group")
                yield seen(Code.GROUP_MISSING, gpu.address, (link, "none"))
            continue
        others = [each for each in members[device.iommu_group] if each.address != gpu.address]
        yield from _group(gpu, device.iommu_group, others, gpus)
    yield from _several(members, gpus)


def _group(
    gpu: Gpu, number: int, others: Sequence[PciDevice], gpus: dict[str, Gpu]
) -> Iterator[Seen]:
    text = f"{_GROUPS}/{number}/devices"
    critical = [each for each in others if _is_critical(each, gpus)]
    if critical:
        said = ((text, shown(each)) for each in critical)
        yield seen(Code.GROUP_WITH_CRITICAL, gpu.address, *said)
    held = [
        each
        for each in others
        if each not in critical
        and each.address not in gpus
        and not each.is_bridge()
        and isinstance(each.driver, str)
        and not _SAFE_DRIVERS.fullmatch(each.driver)
    ]
    if held:
        yield seen(Code.GROUP_NOT_VIABLE, gpu.address, *((text, shown(each)) for each in held))


def _is_critical(device: PciDevice, gpus: dict[str, Gpu]) -> bool:
    """A disk, a network card, or a display that is no GPU: the console."""
    is_display = device.base_class() in DISPLAYS and device.address not in gpus
    return device.base_class()[:2] in _CRITICAL or (is_display and not device.is_virtual())


def _several(members: Mapping[int, tuple[PciDevice, ...]], gpus: dict[str, Gpu]) -> Iterator[Seen]:
    for number, devices in members.items():
        sharing = [each for each in devices if each.address in gpus]
        if len(sharing) > 1:
            said = ((f"{_GROUPS}/{number}/devices", shown(each)) for each in sharing)
            yield seen(Code.GROUP_OF_GPUS, sharing[0].address, *said)


def acs(facts: HostFacts) -> Iterator[Seen]:
    """Bridges that join what lies below them, where a GPU's group shows it."""
    members = groups_of(facts.pci)
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        if device is None or not isinstance(device.iommu_group, int):
            continue
        slots = {each.address.rpartition(".")[0] for each in members[device.iommu_group]}
        bridges = () if isinstance(device.bridges, Unknown) else device.bridges
        above = [each for each in map(facts.device, bridges) if each is not None]
        open_ones = [each for each in above if each.acs in {Acs.OFF, Acs.ABSENT}]
        if len(slots) > 1 and open_ones:
            said = (("command lspci", f"{shown(each)}: ACS {each.acs}") for each in open_ones)
            yield seen(Code.ACS_OFF_ABOVE, gpu.address, *said)


def reserved(facts: HostFacts) -> Iterator[Seen]:
    """Ranges that firmware wants mapped for a GPU's group."""
    ranges = {each.group: each for each in facts.iommu.reserved}
    log = () if isinstance(facts.log, Unknown) else facts.log
    refused = {each.subject for each in log if each.rule == "rmrr"}  # rules_log says it
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        group = device.iommu_group if device is not None else None
        if isinstance(group, int) and group in ranges and gpu.address not in refused:
            each = ranges[group]
            text = f"{_GROUPS}/{group}/reserved_regions"
            yield seen(
                Code.RMRR_DEVICE, gpu.address, (text, f"{each.start:#x} {each.end:#x} direct")
            )


RULES: Final = (switched_on, arguments, interrupts, groups, acs, reserved)
