"""What drivers and vendors' tools say of GPUs, by PCI address. Pure.

NVIDIA: nvidia-smi. AMD: files of amdgpu in /sys. Intel's driver says nothing that is read here.
"""

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from provisioner.hardware.attributes import Attributes, wrong
from provisioner.hardware.gpu import Mig, ToolFacts
from provisioner.hardware.pci import address_of
from provisioner.hardware.pci_sysfs import DEVICES
from provisioner.hardware.unknown import MALFORMED, NOT_SAID, Unknown
from provisioner.hosts.texts import Texts

_MIB: Final = 2**20
_NOTHING: Final = re.compile(
    r"\[?(?:N/A|Not Supported|Unknown Error|Requested .*|GPU .* lost.*)\]?|"
)
_INSTANCE: Final = re.compile(r"\|\s+(\d{1,3})\s+MIG (\S+)\s+\d+\s+\d+\s+\d+:\d+\s+\|")


def read_tools(texts: Texts) -> Mapping[str, ToolFacts]:
    """Address -> what is said of it."""
    return {**_amd(texts), **_nvidia(texts)}


# --- NVIDIA ---------------------------------------------------------------------------------
def _nvidia(texts: Texts) -> dict[str, ToolFacts]:
    said = texts.command("nvidia-smi")
    if isinstance(said, Unknown) or not said.strip():
        return {}
    rows = list(csv.reader(said.splitlines(), skipinitialspace=True))
    names = [re.sub(r" \[.*\]$", "", each.strip()) for each in rows[0]]
    instances, links = _instances(texts), _links(texts)
    found = {}
    for number, row in enumerate(rows[1:], start=2):
        values = dict(zip(names, (each.strip() for each in row), strict=False))
        address = address_of(values.get("pci.bus_id", ""))
        if address is None or len(row) != len(names):
            text = wrong(f"{len(names)} fields with pci.bus_id", ", ".join(row))
            texts.complain(f"nvidia-smi --query-gpu, line {number}", text)
            continue
        index = values.get("index", "")
        facts = _nvidia_facts(texts, values, number)
        if isinstance(facts.mig, Mig):
            facts = replace(facts, mig=replace(facts.mig, instances=instances.get(index, ())))
        found[address] = replace(facts, nvlinks=links.get(index, NOT_SAID))
    return found


def _nvidia_facts(texts: Texts, values: Mapping[str, str], number: int) -> ToolFacts:
    recovery = _said(values, "gpu_recovery_action")
    return ToolFacts(
        name=_said(values, "name"),
        memory_mib=_memory(texts, values, number),
        vbios=_said(values, "vbios_version"),
        serial=_said(values, "serial"),
        uuid=_said(values, "uuid"),
        mig=_mig(values),
        partition=None,
        recovery=None if recovery == "None" else recovery,
        driver_version=_said(values, "driver_version"),
    )


def _said(values: Mapping[str, str], name: str) -> str | Unknown:
    found = values.get(name, "")
    return NOT_SAID if _NOTHING.fullmatch(found) else found


def _memory(texts: Texts, values: Mapping[str, str], number: int) -> int | Unknown:
    found = _said(values, "memory.total")
    if isinstance(found, Unknown):
        return found
    match = re.fullmatch(r"(\d{1,9}) MiB", found)
    if match is None:
        text = wrong("memory.total in MiB", found)
        texts.complain(f"nvidia-smi --query-gpu, line {number}", text)
        return MALFORMED
    return int(match[1])


def _mig(values: Mapping[str, str]) -> Mig | Unknown | None:
    now, pending = (values.get(f"mig.mode.{each}", "") for each in ("current", "pending"))
    if now in {"Enabled", "Disabled"}:
        return Mig(enabled=now == "Enabled", pending=(pending or now) == "Enabled")
    return None if now == "[N/A]" else NOT_SAID


def _instances(texts: Texts) -> dict[str, tuple[str, ...]]:
    """Index of the GPU -> profiles of its instances."""
    said = texts.command("nvidia-mig", partial=True)
    found: dict[str, tuple[str, ...]] = {}
    for match in _INSTANCE.finditer("" if isinstance(said, Unknown) else said):
        found[match[1]] = (*found.get(match[1], ()), match[2])
    return found


def _links(texts: Texts) -> dict[str, int]:
    """Index of the GPU -> active links; one that says nothing of them is left out."""
    said = texts.command("nvidia-nvlink", partial=True)
    found: dict[str, int] = {}
    index = ""
    for line in "" if isinstance(said, Unknown) else said.splitlines():
        head = re.match(r"GPU (\d{1,3}): ", line)
        if head:
            index = head[1]
        elif index and re.match(r"\s*Link \d{1,3}: ", line):
            found[index] = found.get(index, 0) + ("GB/s" in line)
    return found


# --- AMD ------------------------------------------------------------------------------------
def _amd(texts: Texts) -> dict[str, ToolFacts]:
    found = {}
    for name in texts.sys.names(DEVICES):
        at = f"{DEVICES}/{name}"
        if texts.sys.read(f"{at}/mem_info_vram_total") is None:
            continue
        of = Attributes(texts.sys, at, f"/sys/{at}", texts.complain)
        memory = of.number("mem_info_vram_total")
        parts = [of.text(f"current_{each}_partition") for each in ("compute", "memory")]
        known = [each for each in parts if isinstance(each, str) and each]
        found[name] = ToolFacts(
            memory_mib=memory if isinstance(memory, Unknown) else memory // _MIB,
            vbios=of.text("vbios_version"),
            serial=of.text("serial_number"),
            mig=None,
            partition="/".join(known) or None,
        )
    return found
