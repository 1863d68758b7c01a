"""Lines of the kernel's log that mean something for GPU hosts: a closed list of rules. Pure.

Sources: Linux's drivers/iommu, drivers/vfio, drivers/pci and makers' drivers; each as it was
seen in public reports (docs/gpu-findings.md names what each means).
"""

import re
from collections.abc import Iterator
from typing import Final

from provisioner.hardware.pci import address_of
from provisioner.hardware.tree import clean
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import LogLine
from provisioner.hosts.texts import Texts

_ADDRESS: Final = r"(?P<subject>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])"
_CARD: Final = r"(?P<subject>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7]|:0)?)"
RULES: Final = {
    "amd_iommu_option": r"AMD-Vi: Unknown option - '(?P<subject>[^']{1,40})'",
    "acs_override": r"PCIe ACS overrides enabled",
    "rmrr": rf"{_ADDRESS}: DMAR: Device is ineligible for IOMMU domain attach",
    "rmrr_relaxed": r"assuming all RMRRs are relaxable",
    "no_interrupt_remapping": r"(?:No interrupt remapping|IRQ remapping (?:was|is) disabled)",
    "bar_reserved": rf"{_ADDRESS}: BAR \d: can't reserve",
    "bar_unassigned": rf"{_ADDRESS}: (?:VF )?BAR \d.*(?:can't assign|failed to assign)",
    "sriov_no_room": rf"{_ADDRESS}: not enough MMIO resources for SR-IOV",
    "d3cold": rf"{_ADDRESS}: Unable to change power state from D3cold",
    "unbind_hangs": rf"NVRM: Attempting to remove device {_ADDRESS} with non-zero usage count",
    "xid": rf"NVRM: Xid \(PCI:{_CARD}\): (?P<number>\d{{1,3}}),",
    "intel_unsupported": rf"{_ADDRESS}: Your graphics device \w{{4}} is not properly supported",
    "parameter_ignored": r"(?P<subject>\w{1,40}: unknown parameter '[^']{1,40}') ignored",
    "fabric_manager": r"(?P<subject>)fabric manager NVIDIA GPU driver interface version",
    "vf_limit": r"(?P<subject>)VF number \d+ to be enabled exceeds the vf limit",
    "module_key": r"(?P<subject>)(?:Loading of unsigned module is rejected|Key was rejected)",
}
"""Name -> pattern; its group `subject` is what the line is about."""
_COMPILED: Final = {name: re.compile(pattern) for name, pattern in RULES.items()}
_MOST: Final = 200
"""A card in trouble writes the same line for ever: so many of one rule are kept."""


def read_log(texts: Texts) -> tuple[LogLine, ...] | Unknown:
    """Lines that a rule knows, in their order, each subject of a rule once."""
    said = texts.command("kernel-log", partial=True)
    journal = texts.command("fabric-manager", partial=True)
    if isinstance(said, Unknown):
        return said
    seen: dict[tuple[str, str], LogLine] = {}
    for line in _known("\n".join([said, *([journal] if isinstance(journal, str) else [])])):
        seen.setdefault((line.rule, line.subject), line)
        if len(seen) >= _MOST:
            break
    return tuple(seen.values())


def _known(text: str) -> Iterator[LogLine]:
    for line in text.splitlines():
        for rule, pattern in _COMPILED.items():
            match = pattern.search(line[:1000])
            if match is None:
                continue
            groups = match.groupdict()
            subject = groups.get("subject") or ""
            if groups.get("number"):
                subject = f"{_card(subject)} Xid {groups['number']}"
            shown = clean(line.encode("utf-8", "replace")) or ""
            yield LogLine(rule=rule, subject=address_of(subject) or subject, text=shown[:300])


def _card(text: str) -> str:
    """NVIDIA's driver writes 0000:4b:00, without a function."""
    return address_of(text) or address_of(f"{text}.0") or text
