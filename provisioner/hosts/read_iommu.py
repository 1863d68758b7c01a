"""The IOMMU, ranges that firmware reserves, and who holds the boot console. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from provisioner.hardware.attributes import wrong
from provisioner.hardware.pci import PciDevice, address_of, groups_of
from provisioner.hardware.tree import last_part
from provisioner.hardware.unknown import NOT_SAID, Unknown
from provisioner.hosts.facts import Framebuffer, Iommu, IommuGroup, Reserved
from provisioner.hosts.texts import Texts

_GROUPS: Final = "kernel/iommu_groups"
_HOLDERS: Final = frozenset({"BOOTFB", "efifb", "simpledrm", "simplefb", "vesafb"})
_RANGE: Final = re.compile(r"( *)([0-9a-f]{1,16})-([0-9a-f]{1,16}) : (.*)")


def read_iommu(texts: Texts, devices: Sequence[PciDevice]) -> Iommu:
    """All that the texts say of it."""
    in_groups = [each.iommu_group for each in devices]
    enabled: bool | Unknown = NOT_SAID
    if any(isinstance(each, int) for each in in_groups):
        enabled = True
    elif None in in_groups:
        enabled = False
    unsafe = texts.line("/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts")
    return Iommu(
        enabled=enabled,
        units=texts.sys.names("class/iommu"),
        groups=tuple(_groups(texts, devices)),
        reserved=tuple(_reserved(texts)),
        unsafe_interrupts=unsafe if isinstance(unsafe, Unknown) else unsafe == "Y",
    )


def _groups(texts: Texts, devices: Sequence[PciDevice]) -> Iterator[IommuGroup]:
    for number, members in groups_of(devices).items():
        yield IommuGroup(
            number=number,
            kind=texts.line(f"/sys/{_GROUPS}/{number}/type"),
            members=tuple(each.address for each in members),
        )


def _reserved(texts: Texts) -> Iterator[Reserved]:
    """Of type direct: those that firmware wants mapped while a guest has the device."""
    for name in texts.sys.names(_GROUPS):
        path = f"{_GROUPS}/{name}/reserved_regions"
        content = texts.sys.read(path)
        if content is None or not re.fullmatch(r"\d{1,9}", name):
            continue
        for line in filter(str.strip, content.decode("ascii", "replace").splitlines()):
            match = re.fullmatch(r"0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) ([a-z-]+)", line.strip())
            if match is None:
                texts.complain(f"/sys/{path}", wrong("start, end and type", line))
            elif match[3] == "direct":
                yield Reserved(group=int(name), start=int(match[1], 16), end=int(match[2], 16))


def read_framebuffers(texts: Texts) -> tuple[Framebuffer, ...] | Unknown:
    """Of /proc/iomem, and of the framebuffers that are a PCI function's."""
    iomem = texts.file("/proc/iomem")
    found = [] if isinstance(iomem, Unknown) else list(_in_memory(iomem))
    for name in texts.sys.names("class/graphics"):
        owner = texts.line(f"/sys/class/graphics/{name}/name")
        device = last_part(texts.sys.place(f"class/graphics/{name}/device"))
        if isinstance(owner, str) and device is not None:
            address = address_of(device)
            found.append(Framebuffer(owner=owner, device=address if address == device else None))
    if isinstance(iomem, Unknown) and not found:
        return NOT_SAID
    return tuple(dict.fromkeys(found))


def _in_memory(iomem: str) -> Iterator[Framebuffer]:
    """Ranges lie indented in those that hold them: a function's, or a bridge's window."""
    above: list[tuple[int, str]] = []
    for line in iomem.splitlines():
        match = _RANGE.fullmatch(line)
        if match is None:
            continue
        depth, owner = len(match[1]), match[4].strip()
        above = [each for each in above if each[0] < depth]
        if owner in _HOLDERS and not any(each[1] in _HOLDERS for each in above):
            holders = (address_of(each[1]) for each in reversed(above))
            yield Framebuffer(owner=owner, device=next(filter(None, holders), None))
        above.append((depth, owner))
