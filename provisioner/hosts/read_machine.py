"""Board, firmware, processors and memory from a bundle's texts. Pure."""

import re
from typing import Final

from provisioner.hardware.attributes import Attributes, wrong
from provisioner.hardware.machine import parse_memory, read_system
from provisioner.hardware.numa import read_nodes
from provisioner.hardware.unknown import MALFORMED, NOT_SAID, Unknown
from provisioner.hosts.facts import Machine, Processors
from provisioner.hosts.texts import Texts

TABLES: Final = ("DMAR", "IVRS", "IORT")
_DMI: Final = "class/dmi/id"
_GUESTS: Final = (
    "QEMU",
    "KVM",
    "Standard PC",
    "VMware",
    "VirtualBox",
    "Virtual Machine",
    "HVM domU",
)
"""What the firmware of virtual machines calls its maker or product."""


def read_machine(texts: Texts) -> Machine:
    """All that the texts say of it."""
    of = Attributes(texts.sys, _DMI, f"/sys/{_DMI}", texts.complain)
    system = read_system(texts.sys)
    # of what the kernel shows to root alone, a file that is missing is one that is not there
    missing = None if texts.bundle.uid == 0 and texts.sys.names(_DMI) else NOT_SAID
    said = {
        name: value if texts.sys.read(f"{_DMI}/{file}") is not None else missing
        for name, file, value in (
            ("system_uuid", "product_uuid", system.uuid),
            ("serial", "product_serial", system.serial),
            ("maker", "sys_vendor", system.manufacturer),
            ("product", "product_name", system.product),
        )
    }
    return Machine(
        system_uuid=said["system_uuid"],
        serial=said["serial"],
        maker=said["maker"],
        product=said["product"],
        board=_board(of),
        bios_vendor=of.text("bios_vendor"),
        bios_version=of.text("bios_version"),
        bios_date=of.text("bios_date"),
        bmc_version=_bmc(texts),
        is_uefi=_is_uefi(texts),
        secure_boot=_secure_boot(texts),
        is_virtual=_is_virtual(texts, said["maker"], said["product"]),
        tables=_tables(texts),
    )


def _board(of: Attributes) -> str | Unknown:
    words = [of.text(f"board_{each}") for each in ("vendor", "name", "version")]
    known = [each for each in words if isinstance(each, str) and each]
    return " ".join(known) if known else NOT_SAID


def _bmc(texts: Texts) -> str | Unknown:
    for name in texts.sys.names("devices/platform"):
        if name.startswith("ipmi_bmc."):
            return texts.line(f"/sys/devices/platform/{name}/firmware_revision")
    return NOT_SAID


def _is_uefi(texts: Texts) -> bool | Unknown:
    if texts.files.names("/sys/firmware/efi"):
        return True
    # /sys/power/state is there on every host, so its neighbour was looked for too
    return False if texts.files.read("/sys/power/state") is not None else NOT_SAID


def _secure_boot(texts: Texts) -> bool | Unknown:
    said = texts.command("secure-boot", partial=True)
    if isinstance(said, str):
        match = re.search(r"^SecureBoot (enabled|disabled)$", said, re.MULTILINE)
        if match:
            return match[1] == "enabled"
    variable = efi_variable(texts, "SecureBoot")
    if isinstance(variable, Unknown):
        return False if _is_uefi(texts) is False else NOT_SAID
    if len(variable) != 1:
        texts.complain("EFI variable SecureBoot", wrong("one byte", variable.hex()))
        return MALFORMED
    return variable == b"\x01"


def efi_variable(texts: Texts, name: str) -> bytes | Unknown:
    """Content of an EFI variable, without its attributes."""
    said = texts.command("efi-variables", partial=True)
    if isinstance(said, Unknown):
        return said
    for part in said.split("== ")[1:]:
        head, _, body = part.partition("\n")
        if head.startswith(f"{name}-"):
            pairs = body.split()
            if all(re.fullmatch(r"[0-9a-f]{2}", each) for each in pairs):
                return bytes.fromhex("".join(pairs))[4:]
            texts.complain(f"EFI variable {name}", wrong("bytes as od -tx1 prints them", body))
            return MALFORMED
    return NOT_SAID


def _is_virtual(texts: Texts, *names: str | Unknown | None) -> bool | Unknown:
    cpuinfo = texts.file("/proc/cpuinfo")
    flags = None if isinstance(cpuinfo, Unknown) else re.search(r"^flags\s*: (.*)$", cpuinfo, re.M)
    if flags is not None and "hypervisor" in flags[1].split():
        return True
    said = [each for each in names if isinstance(each, str)]
    if any(guest in each for each in said for guest in _GUESTS):
        return True
    return False if flags is not None or said else NOT_SAID


def _tables(texts: Texts) -> tuple[str, ...] | Unknown:
    said = texts.command("acpi-tables")
    if isinstance(said, Unknown):
        return said
    names = said.split()
    return tuple(each for each in TABLES if any(name.startswith(each) for name in names))


def read_processors(texts: Texts) -> Processors:
    """CPUs and memory."""
    cpuinfo, meminfo = texts.file("/proc/cpuinfo"), texts.file("/proc/meminfo")
    architecture = texts.command("uname")
    memory = (
        NOT_SAID if isinstance(meminfo, Unknown) else parse_memory(meminfo) // 2**20 or MALFORMED
    )
    if memory is MALFORMED:
        texts.complain("/proc/meminfo", "a line MemTotal in kB expected")
    nodes = read_nodes(texts.sys, texts.complain)
    if isinstance(cpuinfo, Unknown):
        return Processors(memory_mib=memory, nodes=nodes)
    values: dict[str, list[str]] = {}
    for name, value in re.findall(r"^([A-Za-z_ ]+?)\s*:[ \t]*(.*)$", cpuinfo, re.MULTILINE):
        values.setdefault(name, []).append(value.strip())
    bits = re.search(r"^address sizes\s*: (\d{1,3}) bits physical", cpuinfo, re.MULTILINE)
    return Processors(
        architecture=architecture if isinstance(architecture, Unknown) else architecture.strip(),
        vendor=_first(values, "vendor_id", "CPU implementer"),
        model=_first(values, "model name", "CPU part"),
        sockets=len(set(values["physical id"])) if "physical id" in values else NOT_SAID,
        threads=len(values["processor"]) if "processor" in values else NOT_SAID,
        address_bits=int(bits[1]) if bits else NOT_SAID,
        memory_mib=memory,
        nodes=nodes,
    )


def _first(values: dict[str, list[str]], *names: str) -> str | Unknown:
    for name in names:
        if values.get(name):
            return values[name][0]
    return NOT_SAID
