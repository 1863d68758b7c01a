"""PCI functions of a host as values. Numbers are hexadecimal digits without 0x, in lower case.

Standard library only. Every field may be Unknown; None says that there is none.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from provisioner.hardware.unknown import NOT_SAID, Unknown

ADDRESS: Final = re.compile(r"(?:([0-9A-Fa-f]{1,8}):)?([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-7])")
DOMAIN_DIGITS: Final = 4


ROM: Final = 6


def address_of(text: str) -> str | None:
    """In the kernel's spelling, the domain with at least four digits; None where it is none.

    nvidia-smi writes eight digits of the domain, lspci without -D writes none.
    """
    found = ADDRESS.fullmatch(text.strip())
    if found is None:
        return None
    domain, bus, device, function = found.groups()
    number = int(domain or "0", 16)
    return f"{number:0{DOMAIN_DIGITS}x}:{bus.lower()}:{device.lower()}.{function}"


def slot_of(address: str) -> str:
    """The address without its function: what a card's functions share."""
    return address.rpartition(".")[0]


class Acs(StrEnum):
    """Access control services of one bridge or function: what keeps neighbours apart."""

    ON = "on"
    OFF = "off"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One base address register: a window of memory or ports.

    Attributes:
        number: 0 to 5; 6 is the expansion ROM; from 7 on those of all virtual functions.
        start: Of the address it has; meaningless where it is not assigned.
    """

    number: int
    start: int
    bytes: int
    is_memory: bool
    is_64bit: bool
    is_prefetchable: bool
    is_assigned: bool

    def is_own_memory(self) -> bool:
        """Memory of the function itself: neither ports, nor ROM, nor its virtual functions'."""
        return self.is_memory and self.number < ROM


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """PCI Express: billions of transfers a second on each lane, and lanes."""

    gigatransfers: float
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AerCounts:
    """Errors since boot that the function has reported."""

    correctable: int
    nonfatal: int
    fatal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MdevType:
    """A mediated device that a function could offer.

    Attributes:
        identifier: As the kernel names it: nvidia-745.
        name: As CloudStack shows it.
    """

    identifier: str
    name: str | Unknown
    available: int | Unknown
    description: str | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class VgpuType:
    """A vGPU of the vendor's own VFIO framework: number and name."""

    number: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PciDevice:
    """One PCI function.

    Attributes:
        address: With the full domain.
        pci_class: Class, subclass and, where it is known, programming interface.
        subsystem: Vendor and device of the board, with a colon; None where it names none.
        name: As lspci named it on the host: from the host's own pci.ids.
        driver: None: it has none.
        driver_override: None: there is none.
        reset_methods: As the kernel would try them; () cannot be reset.
        link: As it is now; an idle GPU lowers its speed, never its width.
        iommu_group: None: it is in none.
        acs: Of this function itself.
        numa_node: None: the platform names none (-1).
        root: The host bridge: pci0000:00.
        bridges: On the way from there, nearest to the root first.
        physical_function: Of which this is a virtual one; None: it is none.
        vfs_total: None: it offers none.
        vfs: Enabled now.
        vgpu_type: Number of the one that this virtual function is now; 0 is none.
        boot_vga: The firmware's console is on it; None: it is no display.
        slot: Designation of the physical slot.
    """

    address: str
    pci_class: str | Unknown
    vendor: str | Unknown
    device: str | Unknown
    subsystem: str | Unknown | None = NOT_SAID
    revision: str | Unknown = NOT_SAID
    name: str | Unknown = NOT_SAID
    driver: str | Unknown | None = NOT_SAID
    driver_override: str | Unknown | None = NOT_SAID
    reset_methods: tuple[str, ...] | Unknown = NOT_SAID
    bars: tuple[Bar, ...] | Unknown = NOT_SAID
    link: Link | Unknown = NOT_SAID
    link_most: Link | Unknown = NOT_SAID
    aer: AerCounts | Unknown = NOT_SAID
    iommu_group: int | Unknown | None = NOT_SAID
    acs: Acs | Unknown = NOT_SAID
    numa_node: int | Unknown | None = NOT_SAID
    root: str | Unknown = NOT_SAID
    bridges: tuple[str, ...] | Unknown = NOT_SAID
    physical_function: str | Unknown | None = NOT_SAID
    vfs_total: int | Unknown | None = NOT_SAID
    vfs: int | Unknown = NOT_SAID
    mdev_types: tuple[MdevType, ...] = ()
    vgpu_types: tuple[VgpuType, ...] = ()
    vgpu_type: int | Unknown = NOT_SAID
    boot_vga: bool | Unknown | None = NOT_SAID
    power_state: str | Unknown = NOT_SAID
    d3cold_allowed: bool | Unknown = NOT_SAID
    slot: str | Unknown = NOT_SAID
    serial: str | Unknown = NOT_SAID

    def ids(self) -> str:
        """Vendor and device with a colon; "????" for what is not known."""
        return f"{_shown(self.vendor)}:{_shown(self.device)}"

    def base_class(self) -> str:
        """Class and subclass, four digits; "" where it is not known."""
        return "" if isinstance(self.pci_class, Unknown) else self.pci_class[:4]

    def is_bridge(self) -> bool:
        """A host or PCI bridge: it may stay on its driver in any group."""
        return self.base_class() in {"0600", "0604"}

    def is_virtual(self) -> bool:
        """A virtual function of another one."""
        return isinstance(self.physical_function, str)


def groups_of(devices: Sequence[PciDevice]) -> Mapping[int, tuple[PciDevice, ...]]:
    """IOMMU group -> its members."""
    found: dict[int, list[PciDevice]] = {}
    for each in devices:
        if isinstance(each.iommu_group, int):
            found.setdefault(each.iommu_group, []).append(each)
    return {number: tuple(found[number]) for number in sorted(found)}


def _shown(value: str | Unknown) -> str:
    return "????" if isinstance(value, Unknown) else value
