"""PCI functions from /sys, as the kernel shows them. Standard library only."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeVar

from provisioner.hardware.attributes import Attributes
from provisioner.hardware.pci import (
    AerCounts,
    Bar,
    Link,
    MdevType,
    PciDevice,
    VgpuType,
    address_of,
)
from provisioner.hardware.tree import Tree, last_part
from provisioner.hardware.unknown import MALFORMED, NOT_SAID, Complain, Unknown

T = TypeVar("T")

DEVICES: Final = "bus/pci/devices"
_RESOURCE: Final = re.compile(r"0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16})")
# include/linux/ioport.h
_MEMORY, _PORTS, _PREFETCH, _WIDE, _UNSET = 0x200, 0x100, 0x2000, 0x100000, 0x20000000
_MOST_BARS: Final = 13
_WIDEST: Final = 32


def read_devices(tree: Tree, complain: Complain) -> tuple[PciDevice, ...]:
    """All, by address.

    Args:
        tree: Rooted at /sys.
        complain: Told of each file that is malformed.
    """
    slots = _slots(tree)
    names = [name for name in tree.names(DEVICES) if address_of(name) == name]
    # a kernel that knows the file leaves it out where a function cannot be reset
    resets = any(tree.read(f"{DEVICES}/{name}/reset_method") is not None for name in names)
    no_reset = () if resets else NOT_SAID
    found = (_device(tree, name, slots, complain) for name in names)
    return tuple(
        replace(each, reset_methods=no_reset) if each.reset_methods is NOT_SAID else each
        for each in found
    )


def _device(tree: Tree, address: str, slots: Mapping[str, str], complain: Complain) -> PciDevice:
    at = f"{DEVICES}/{address}"
    of = Attributes(tree, at, f"/sys/{at}", complain)
    place = tree.place(at)
    root, bridges = _path(place, address)
    # where files or links were not recorded, one that is missing says nothing
    no_file = None if tree.read(f"{at}/vendor") is not None else NOT_SAID
    no_link = None if place != at else NOT_SAID
    return PciDevice(
        address=address,
        pci_class=of.hexadecimal("class", digits=6),
        vendor=of.hexadecimal("vendor", digits=4),
        device=of.hexadecimal("device", digits=4),
        subsystem=_subsystem(of),
        revision=of.hexadecimal("revision", digits=2),
        driver=_link_name(tree, at, "driver", absent=no_link),
        driver_override=_override(of),
        reset_methods=_words(of.text("reset_method")),
        bars=_bars(of),
        link=_link(of, "current"),
        link_most=_link(of, "max"),
        aer=_aer(of),
        iommu_group=_group(tree, at, absent=no_link),
        numa_node=_node(of.number("numa_node")),
        root=root,
        bridges=bridges,
        physical_function=_link_name(tree, at, "physfn", absent=no_link),
        vfs_total=_or(of.number("sriov_totalvfs"), no_file),
        vfs=of.number("sriov_numvfs"),
        mdev_types=_mdev_types(tree, at, complain),
        vgpu_types=_vgpu_types(of),
        vgpu_type=of.number("nvidia/current_vgpu_type"),
        boot_vga=_or(_yes(of, "boot_vga"), no_file),
        power_state=of.text("power_state"),
        d3cold_allowed=_yes(of, "d3cold_allowed"),
        slot=slots.get(address.rpartition(".")[0], NOT_SAID),
    )


def _path(place: str | None, address: str) -> tuple[str | Unknown, tuple[str, ...] | Unknown]:
    parts = (place or "").split("/")
    root = next((each for each in parts if re.fullmatch(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}", each)), "")
    if not root or parts[-1] != address:
        return NOT_SAID, NOT_SAID
    above = parts[parts.index(root) + 1 : -1]
    return root, tuple(each for each in above if address_of(each) == each)


def _subsystem(of: Attributes) -> str | Unknown | None:
    vendor = of.hexadecimal("subsystem_vendor", digits=4)
    device = of.hexadecimal("subsystem_device", digits=4)
    if isinstance(vendor, Unknown) or isinstance(device, Unknown):
        return NOT_SAID if NOT_SAID in {vendor, device} else MALFORMED
    return f"{vendor}:{device}" if vendor.strip("0") else None


def _link_name(tree: Tree, at: str, name: str, *, absent: Unknown | None) -> str | Unknown | None:
    return last_part(tree.place(f"{at}/{name}")) or absent


def _group(tree: Tree, at: str, *, absent: Unknown | None) -> int | Unknown | None:
    name = last_part(tree.place(f"{at}/iommu_group"))
    return int(name) if name and re.fullmatch(r"[0-9]{1,9}", name) else absent


def _override(of: Attributes) -> str | Unknown | None:
    found = of.text("driver_override")
    return None if found in {"(null)", ""} else found


def _words(found: str | Unknown) -> tuple[str, ...] | Unknown:
    return found if isinstance(found, Unknown) else tuple(found.split())


def _or(found: T | Unknown, absent: Unknown | None) -> T | Unknown | None:
    return absent if found is NOT_SAID else found


def _node(found: int | Unknown) -> int | Unknown | None:
    return None if isinstance(found, int) and found < 0 else found


def _yes(of: Attributes, name: str) -> bool | Unknown:
    found = of.number(name)
    return found if isinstance(found, Unknown) else found == 1


def _bars(of: Attributes) -> tuple[Bar, ...] | Unknown:
    lines = of.lines("resource")
    if isinstance(lines, Unknown):
        return lines
    found: list[Bar] = []
    for number, line in enumerate(each for each in lines[:_MOST_BARS] if each):
        match = _RESOURCE.fullmatch(line)
        if match is None:
            return of.malformed("resource", "three hexadecimal numbers a line", line)
        start, end, flags = (int(each, 16) for each in match.groups())
        if flags & (_MEMORY | _PORTS) and end > start:
            found.append(
                Bar(
                    number=number,
                    start=start,
                    bytes=end - start + 1,
                    is_memory=bool(flags & _MEMORY),
                    is_64bit=bool(flags & _WIDE),
                    is_prefetchable=bool(flags & _PREFETCH),
                    is_assigned=start > 0 and not flags & _UNSET,
                )
            )
    return tuple(found)


def _link(of: Attributes, when: str) -> Link | Unknown:
    speed, width = of.text(f"{when}_link_speed"), of.number(f"{when}_link_width")
    if isinstance(speed, Unknown) or isinstance(width, Unknown) or speed in {"", "Unknown"}:
        return NOT_SAID
    match = re.fullmatch(r"([0-9]{1,3}(?:\.[0-9]{1,2})?) GT/s(?: PCIe)?", speed)
    if match is None:
        return of.malformed(f"{when}_link_speed", "GT/s", speed)
    # 0 and 255 are what a link that is down, or is none, shows
    return Link(gigatransfers=float(match[1]), width=width) if 0 < width <= _WIDEST else NOT_SAID


def _aer(of: Attributes) -> AerCounts | Unknown:
    found: dict[str, int] = {}
    for name, total in (("correctable", "COR"), ("nonfatal", "NONFATAL"), ("fatal", "FATAL")):
        lines = of.lines(f"aer_dev_{name}")
        if isinstance(lines, Unknown):
            return lines
        said = re.search(rf"^TOTAL_ERR_{total} ([0-9]{{1,20}})$", "\n".join(lines), re.MULTILINE)
        if said is None:
            return of.malformed(f"aer_dev_{name}", f"TOTAL_ERR_{total}", " ".join(lines))
        found[name] = int(said[1])
    return AerCounts(**found)


def _mdev_types(tree: Tree, at: str, complain: Complain) -> tuple[MdevType, ...]:
    found = []
    for identifier in tree.names(f"{at}/mdev_supported_types"):
        below = f"{at}/mdev_supported_types/{identifier}"
        of = Attributes(tree, below, f"/sys/{below}", complain)
        found.append(
            MdevType(
                identifier=identifier,
                name=of.text("name"),
                available=of.number("available_instances"),
                description=of.text("description"),
            )
        )
    return tuple(found)


def _vgpu_types(of: Attributes) -> tuple[VgpuType, ...]:
    lines = of.lines("nvidia/creatable_vgpu_types")
    if isinstance(lines, Unknown):
        return ()
    matches = (re.fullmatch(r"([0-9]{1,9}) *: *(.{1,64})", line) for line in lines)
    return tuple(VgpuType(number=int(each[1]), name=each[2]) for each in matches if each)


def _slots(tree: Tree) -> dict[str, str]:
    """Address without function -> designation of its slot."""
    found: dict[str, str] = {}
    for name in tree.names("bus/pci/slots"):
        content = tree.read(f"bus/pci/slots/{name}/address")
        if content is not None:
            found[content.decode("ascii", "replace").strip().lower()] = name
    return found
