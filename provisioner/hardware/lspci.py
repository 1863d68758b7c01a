"""What `lspci -Dvvvnn` prints, function by function. Standard library only.

It names what /sys does not (capabilities, names of the host's own pci.ids), and stands in for
/sys where a text of lspci is all there is: `lspci -nn` without more is read too.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from provisioner.hardware.attributes import wrong
from provisioner.hardware.pci import Acs, Bar, Link, PciDevice, address_of
from provisioner.hardware.unknown import NOT_SAID, Complain, Unknown

WHERE: Final = "command lspci"
_HEAD: Final = re.compile(
    r"(?P<address>\S+) (?P<kind>.*?) \[(?P<class>[0-9a-f]{4})\]: (?P<name>.*?)"
    r" ?\[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]"
    r"(?: \(rev (?P<revision>[0-9a-f]{2})\))?(?: \(prog-if (?P<prog>[0-9a-f]{2}).*\))?"
)
_REGION: Final = re.compile(
    r"Region ([0-6]): (Memory|I/O ports) at (\S+)(?: \(([^)]*)\))?.*?\[size=(\d{1,6})([KMGT]?)\]"
)
_UNITS: Final = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_ACS: Final = ("SrcValid", "ReqRedir", "CmpltRedir", "UpstreamFwd")
"""What keeps functions behind a bridge apart: drivers/iommu/iommu.c, REQ_ACS_FLAGS."""
_MOST_PROBLEMS: Final = 20


def parse_lspci(text: str, complain: Complain) -> tuple[PciDevice, ...]:
    """All functions that it names, in its order; what it does not say is Unknown."""
    found: dict[str, PciDevice] = {}
    problems = 0
    for number, head, body in _entries(text):
        match = _HEAD.fullmatch(head)
        address = address_of(match["address"]) if match else None
        if match is None or address is None:
            problems += 1
            if problems <= _MOST_PROBLEMS:
                text_of = wrong("address, class and ids as lspci -nn prints them", head)
                complain(f"{WHERE}, line {number}", text_of)
            continue
        found[address] = _device(address, match, body)
    return tuple(found.values())


def _entries(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number and text of each head, and what is indented below it."""
    head, at, body = "", 0, list[str]()
    for number, line in enumerate(text.splitlines(), start=1):
        if line[:1].isspace():
            body.append(line.strip())
        elif line.strip():
            if head:
                yield at, head, "\n".join(body)
            head, at, body = line.strip(), number, []
    if head:
        yield at, head, "\n".join(body)


def _device(address: str, head: re.Match[str], body: str) -> PciDevice:
    name = head["name"].strip()
    return PciDevice(
        address=address,
        pci_class=f"{head['class']}{head['prog'] or ''}",  # lspci may leave out the interface
        vendor=head["vendor"],
        device=head["device"],
        revision=head["revision"] or NOT_SAID,
        name=name or NOT_SAID,
        **_said(body),
    )


def _said(body: str) -> dict[str, Any]:
    """Of the lines below the head, fields of PciDevice."""
    speed_now, speed_most = _speed(body, "LnkSta"), _speed(body, "LnkCap")
    found: dict[str, Any] = {
        "subsystem": _first(body, r"^Subsystem: .*\[([0-9a-f]{4}:[0-9a-f]{4})\]$"),
        "driver": _first(body, r"^Kernel driver in use: (\S+)$"),
        "iommu_group": _number(_first(body, r"^IOMMU group: (\d{1,9})$")),
        "numa_node": _number(_first(body, r"^NUMA node: (\d{1,9})$")),
        "slot": _first(body, r"^Physical Slot: (\S+)$"),
        "serial": _first(body, r"Device Serial Number ([0-9a-f-]{8,40})$"),
        "vfs_total": _number(_first(body, r"Total VFs: (\d{1,9}),")),
        "vfs": _number(_first(body, r"Number of VFs: (\d{1,9}),")),
        "link": speed_now,
        "link_most": speed_most,
        "acs": _acs(body),
        "bars": _bars(body),
    }
    if found["driver"] is NOT_SAID and "Kernel modules: " in body:
        found["driver"] = None  # lspci knew, and there is none
    return found


def _first(body: str, pattern: str) -> str | Unknown:
    match = re.search(pattern, body, re.MULTILINE)
    return match[1] if match else NOT_SAID


def _number(text: str | Unknown) -> int | Unknown:
    return text if isinstance(text, Unknown) else int(text)


def _speed(body: str, name: str) -> Link | Unknown:
    pattern = rf"^{name}:\s.*?Speed (\d{{1,3}}(?:\.\d)?)GT/s[^,]*, Width x(\d{{1,2}})"
    match = re.search(pattern, body, re.MULTILINE)
    if match is None or not int(match[2]):
        return NOT_SAID
    return Link(gigatransfers=float(match[1]), width=int(match[2]))


def _acs(body: str) -> Acs | Unknown:
    control = _first(body, r"^ACSCtl:\s(.*)$")
    if not isinstance(control, Unknown):
        return Acs.ON if all(f"{each}+" in control for each in _ACS) else Acs.OFF
    if "Capabilities: [" not in body or "access denied" in body:
        return NOT_SAID
    return Acs.ABSENT


def _bars(body: str) -> tuple[Bar, ...] | Unknown:
    found = []
    for match in _REGION.finditer(body):
        number, kind, start, words, size, unit = match.groups()
        is_assigned = bool(re.fullmatch(r"[0-9a-f]{1,16}", start))
        found.append(
            Bar(
                number=int(number),
                start=int(start, 16) if is_assigned else 0,
                bytes=int(size) * _UNITS[unit],
                is_memory=kind == "Memory",
                is_64bit="64-bit" in (words or ""),
                is_prefetchable="prefetchable" in (words or "") and "non-" not in (words or ""),
                is_assigned=is_assigned,
            )
        )
    return tuple(found) if found else NOT_SAID


def merged(sysfs: tuple[PciDevice, ...], lspci: tuple[PciDevice, ...]) -> tuple[PciDevice, ...]:
    """Both, by address: /sys decides, and lspci says what /sys left open."""
    from_lspci = {each.address: each for each in lspci}
    both = {each.address: _filled(each, from_lspci.get(each.address)) for each in sysfs}
    all_of_them = {**from_lspci, **both}
    return tuple(all_of_them[each] for each in sorted(all_of_them, key=_order))


def _filled(device: PciDevice, other: PciDevice | None) -> PciDevice:
    if other is None:
        return device
    missing = {
        name: getattr(other, name)
        for name in PciDevice.__slots__
        if getattr(device, name) is NOT_SAID
    }
    return replace(device, **missing)


def _order(address: str) -> tuple[int, str]:
    return len(address), address
