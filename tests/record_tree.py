"""Records the parts of /sys that provisioner.hardware reads, as tests/data/hardware/*.json.

    python3 record_tree.py > NAME.json

Standard library only, one file: it runs on any Linux, in the ramdisk too (its python3, this file
in a second initrd). Nothing is read of a disk's content. Names of NAME: product and version.
"""

import json
import os
import sys

ROOT = "/sys/"
LINKS = (
    "block/*",
    "block/*/device",
    "class/ata_port/*",
    "class/net/*",
    "class/net/*/device",
    "class/net/*/device/driver",
    "class/nvme/*",
    "class/scsi_host/*",
    "bus/pci/devices/*",
    "bus/usb/devices/*",
)
_OF_DEVICE = ("vendor", "model", "rev", "wwid", "serial", "vpd_pg80", "vpd_pg83", "vpd_pg89")
FILES = (
    *(
        f"block/*/{name}"
        for name in ("size", "ro", "removable", "serial", "wwid", "nsid", "hidden")
    ),
    *(f"block/*/queue/{name}_block_size" for name in ("logical", "physical")),
    "block/*/queue/rotational",
    "block/*/dm/uuid",
    *(f"block/*/device/{name}" for name in _OF_DEVICE),
    *(f"block/*/device/{name}" for name in ("type", "sas_address", "name", "cid", "fwrev")),
    *(f"class/nvme/*/{name}" for name in ("serial", "model", "firmware_rev", "transport")),
    *(f"class/dmi/id/{name}" for name in ("product_uuid", "product_serial", "product_name")),
    *(
        f"class/dmi/id/{name}"
        for name in ("sys_vendor", "bios_vendor", "bios_version", "bios_date")
    ),
    "class/ata_port/*/port_no",
    *(f"class/net/*/{name}" for name in ("address", "carrier")),
    *(f"bus/pci/devices/*/{name}" for name in ("class", "vendor", "device")),
    *(f"bus/pci/devices/*/subsystem_{name}" for name in ("vendor", "device")),
    "bus/usb/devices/*/bInterfaceClass",
    "firmware/efi/fw_platform_size",
)


def resolved(path: str) -> str:
    """Below the root, every link followed."""
    return os.path.realpath(path).removeprefix(ROOT)


def below(pattern: str) -> list[str]:
    """Paths that fit; a star stands for one whole name. The ramdisk's python has no glob."""
    paths = [ROOT.rstrip("/")]
    for name in pattern.split("/"):
        found = []
        for path in paths:
            if name == "*":
                found += [f"{path}/{each}" for each in listed(path)]
            elif os.path.lexists(f"{path}/{name}"):
                found.append(f"{path}/{name}")
        paths = found
    return paths


def listed(path: str) -> list[str]:
    """Names in a folder, sorted; none where it is no folder."""
    try:
        return sorted(os.listdir(path))  # noqa: PTH208 no pathlib where this may run
    except OSError:
        return []


def main() -> int:
    """Print the record."""
    links = {}
    for path in (each for pattern in LINKS for each in below(pattern)):
        parent, _, name = path.rpartition("/")
        place = f"{resolved(parent)}/{name}"
        if place != resolved(path):
            links[place] = resolved(path)
    for parent in ("class/dmi/id",):
        links[parent] = resolved(ROOT + parent)
    files = {}
    for path in (each for pattern in FILES for each in below(pattern)):
        try:
            with open(path, "rb") as file:  # noqa: PTH123
                files[resolved(path)] = file.read(65536).hex()
        except OSError:
            continue
    # where a device hangs below an interface is told by folders that hold no file of ours
    json.dump({"links": links, "files": files}, sys.stdout, indent=0, sort_keys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
