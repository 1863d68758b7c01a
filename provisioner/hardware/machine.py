"""System, firmware, processors and memory. Standard library only."""

import re

from provisioner.hardware.inventory import Card, Cpu, Firmware, PciFunction, System
from provisioner.hardware.tree import Tree, last_part, text

_FILLED_IN_BY_NOBODY = frozenset(
    {"to be filled by o.e.m.", "default string", "not specified", "none", "system serial number",
     "0123456789", "n/a"}
)  # fmt: skip
"""What board makers leave in SMBIOS; no machine is known by it."""
_NO_UUID = re.compile(r"0{8}(-0{4}){3}-0{12}|f{8}(-f{4}){3}-f{12}")


def read_system(tree: Tree) -> System:
    """SMBIOS type 1."""
    uuid = (text(tree, "class/dmi/id/product_uuid") or "").lower()
    return System(
        uuid=None if not uuid or _NO_UUID.fullmatch(uuid) else uuid,
        serial=_named(tree, "product_serial"),
        manufacturer=_named(tree, "sys_vendor"),
        product=_named(tree, "product_name"),
    )


def _named(tree: Tree, name: str) -> str | None:
    found = text(tree, f"class/dmi/id/{name}")
    return None if found is None or found.lower() in _FILLED_IN_BY_NOBODY else found


def read_firmware(tree: Tree) -> Firmware:
    """SMBIOS type 0, and how the kernel was started."""
    return Firmware(
        mode="uefi" if tree.names("firmware/efi") else "bios",
        vendor=text(tree, "class/dmi/id/bios_vendor"),
        version=text(tree, "class/dmi/id/bios_version"),
        date=text(tree, "class/dmi/id/bios_date"),
    )


def parse_cpus(cpuinfo: str) -> Cpu:
    """/proc/cpuinfo."""
    fields = re.findall(r"^([a-z_ ]+?)\s*: (.*)$", cpuinfo, re.MULTILINE)
    values: dict[str, list[str]] = {}
    for name, value in fields:
        values.setdefault(name, []).append(value.strip())
    sockets = set(values.get("physical id", ["0"]))
    return Cpu(
        vendor=next(iter(values.get("vendor_id", [])), None),
        model=next(iter(values.get("model name", [])), None),
        sockets=len(sockets),
        threads=max(1, len(re.findall(r"^processor\s*:", cpuinfo, re.MULTILINE))),
    )


def parse_memory(meminfo: str) -> int:
    """Bytes that the kernel has, from /proc/meminfo: what is installed less what it keeps."""
    found = re.search(r"^MemTotal:\s*(\d+) kB", meminfo, re.MULTILINE)
    return int(found[1]) * 1024 if found else 0


def read_cards(tree: Tree) -> tuple[Card, ...]:
    """Network interfaces with a device behind them, by name."""
    found = []
    for name in tree.names("class/net"):
        at = f"class/net/{name}"
        mac = (text(tree, f"{at}/address") or "").lower()
        # a device of its own tells cards from loopback, bridges and tunnels
        if tree.place(f"{at}/device") is None or not re.fullmatch(
            r"([0-9a-f]{2}:){5}[0-9a-f]{2}", mac
        ):
            continue
        driver = last_part(tree.place(f"{at}/device/driver"))
        link = text(tree, f"{at}/carrier") == "1"
        found.append(Card(name=name, mac=mac, driver=driver, link=link))
    return tuple(found)


def read_pci(tree: Tree) -> tuple[PciFunction, ...]:
    """Every PCI function, by address."""
    found = []
    for address in tree.names("bus/pci/devices"):
        at = f"bus/pci/devices/{address}"
        if not re.fullmatch(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", address):
            continue
        vendor, device = _id(tree, f"{at}/subsystem_vendor"), _id(tree, f"{at}/subsystem_device")
        found.append(
            PciFunction(
                address=address,
                pci_class=_id(tree, f"{at}/class", digits=6),
                vendor=_id(tree, f"{at}/vendor"),
                device=_id(tree, f"{at}/device"),
                subsystem=f"{vendor}:{device}" if vendor.strip("0") else None,
            )
        )
    return tuple(found)


def _id(tree: Tree, path: str, *, digits: int = 4) -> str:
    found = (text(tree, path) or "").lower().removeprefix("0x")
    return found.rjust(digits, "0")[-digits:]


def waiting_for_media(tree: Tree) -> bool:
    """A USB storage device is plugged in whose block device has not appeared yet."""
    for name in tree.names("bus/usb/devices"):
        at = f"bus/usb/devices/{name}"
        if text(tree, f"{at}/bInterfaceClass") == "08" and not _has_unit(tree, at):
            return True
    return False


def _has_unit(tree: Tree, interface: str) -> bool:
    hosts = [each for each in tree.names(interface) if each.startswith("host")]
    place = tree.place(interface)
    return bool(hosts) and any(
        (tree.place(f"block/{each}") or "").startswith(f"{place}/") for each in tree.names("block")
    )
