"""Disks as /sys/block shows them: what each is, how it is reached, and by what it is known again.

Standard library only.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from provisioner.hardware.identify import unit_serial, whole_model
from provisioner.hardware.inventory import Disk, Transport
from provisioner.hardware.nonce import nonce_on_medium
from provisioner.hardware.signatures import signature
from provisioner.hardware.tree import Tree, last_part, number, text

_SECTOR_BYTES = 512
"""The unit of /sys/block/*/size, whatever the disk's own sectors are."""
_NO_DISKS = re.compile(r"(loop|ram|zram|md|nbd|fd)\d+|nvme\d+c\d+n\d+|mmcblk\d+(boot\d+|rpmb)")
"""Made of memory or of other disks, or a path or a boot partition of one that is listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edges:
    """The first and the last bytes of a disk; None where it does not give them out."""

    head: bytes | None
    tail: bytes | None


EdgeReader = Callable[[str], Edges | None]
"""Device name -> its edges; None where the drive is empty."""


def read_disks(tree: Tree, edges: EdgeReader) -> tuple[Disk, ...]:
    """Every block device with a medium, by name, whoever it belongs to.

    The medium by which the service leaves a nonce is none of the server's, and left out.

    Args:
        tree: /sys.
        edges: Reads both ends of a device.
    """
    found = []
    for name in tree.names("block"):
        transport = transport_of(tree, name)
        if (
            _NO_DISKS.fullmatch(name)
            or (transport is None)
            or not number(tree, f"block/{name}/size")
        ):
            continue
        both = edges(name)
        if both is not None and not _is_ours(transport, both):
            found.append(_disk(tree, name, transport, both))
    return tuple(found)


def _is_ours(transport: Transport, edges: Edges) -> bool:
    virtual = transport in {Transport.OPTICAL, Transport.USB}
    return virtual and edges.head is not None and nonce_on_medium(edges.head) is not None


def transport_of(tree: Tree, name: str) -> Transport | None:
    """How this block device is reached; None for a mapping of other disks."""
    if name.startswith("dm-"):
        kind = text(tree, f"block/{name}/dm/uuid") or ""
        return Transport.MULTIPATH if kind.startswith("mpath-") else None
    if name.startswith("nvme"):
        return _nvme_transport(tree, name)
    for prefix, transport in _BY_NAME:
        if name.startswith(prefix):
            return transport
    return _scsi_transport(tree, name) if name.startswith("sd") else Transport.UNKNOWN


def _scsi_transport(tree: Tree, name: str) -> Transport:
    place = tree.place(f"block/{name}") or ""
    for pattern, transport in _BY_PATH:
        if pattern.search(place):
            return transport
    if text(tree, f"block/{name}/device/vendor") == "ATA":
        return Transport.SATA  # behind a SAS card, which passes ATA commands through
    return Transport.SAS if "/end_device-" in place else Transport.SCSI


_BY_NAME = (("sr", Transport.OPTICAL), ("vd", Transport.VIRTIO), ("rbd", Transport.RBD))
_BY_PATH = (
    # the fabric first: a card of it may sit behind any bus
    (re.compile(r"/session\d+/"), Transport.ISCSI),
    (re.compile(r"/rport-\d"), Transport.FC),
    (re.compile(r"/usb\d+/"), Transport.USB),
    (re.compile(r"/ata\d+/"), Transport.SATA),
)


def _nvme_transport(tree: Tree, name: str) -> Transport:
    """By every controller that leads to it: with more paths, one over a fabric decides."""
    controllers = _nvme_controllers(tree, name)
    kinds = {text(tree, f"class/nvme/{each}/transport") for each in controllers}
    return Transport.NVME if kinds == {"pcie"} else Transport.NVME_OF


def _nvme_controllers(tree: Tree, name: str) -> list[str]:
    parent = last_part(tree.place(f"block/{name}/device")) or ""
    if re.fullmatch(r"nvme\d+", parent):
        return [parent]
    inside = tree.names(f"block/{name}/device")
    return [each for each in inside if re.fullmatch(r"nvme\d+", each)]


def _disk(tree: Tree, name: str, transport: Transport, edges: Edges) -> Disk:
    at = f"block/{name}"
    logical = number(tree, f"{at}/queue/logical_block_size", _SECTOR_BYTES)
    serial, wwn, model, firmware = _identity(tree, name)
    return Disk(
        name=name,
        path=f"/dev/{name}",
        serial=serial,
        wwn=wwn,
        model=model,
        firmware=firmware,
        bytes=number(tree, f"{at}/size") * _SECTOR_BYTES,
        logical_sector_bytes=logical,
        physical_sector_bytes=number(tree, f"{at}/queue/physical_block_size", logical),
        rotational=text(tree, f"{at}/queue/rotational") == "1",
        removable=text(tree, f"{at}/removable") == "1" or text(tree, f"{at}/device/type") == "SD",
        read_only=text(tree, f"{at}/ro") == "1",
        transport=transport,
        # a disk that cannot be read is not taken for an empty one
        has_partition_table=edges.head is None
        or edges.tail is None
        or signature(edges.head, edges.tail) is not None,
        bus_path=bus_path(tree, name),
    )


def _identity(tree: Tree, name: str) -> tuple[str | None, str | None, str | None, str | None]:
    """Serial, WWN, model and firmware."""
    at = f"block/{name}"
    if name.startswith("nvme"):
        of = f"class/nvme/{(_nvme_controllers(tree, name) or [''])[0]}"
        return (
            text(tree, f"{of}/serial"),
            text(tree, f"{at}/wwid"),
            text(tree, f"{of}/model"),
            text(tree, f"{of}/firmware_rev"),
        )
    device = f"{at}/device"
    return (
        text(tree, f"{at}/serial") or text(tree, f"{device}/serial") or unit_serial(tree, device),
        text(tree, f"{device}/wwid") or text(tree, f"{at}/wwid") or text(tree, f"{device}/cid"),
        whole_model(tree, device),
        text(tree, f"{device}/rev") or text(tree, f"{device}/fwrev"),
    )


def bus_path(tree: Tree, name: str) -> str | None:
    """The device's place as /dev/disk/by-path names it, for what sits on a PCI bus.

    Source: udev-builtin-path_id.c, systemd 252. SAS disks behind expanders get the address of
    the disk instead of its phy, since that is what stays the same.
    """
    place = tree.place(f"block/{name}/device") or tree.place(f"block/{name}") or ""
    slots = re.findall(r"/([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?=/|$)", place)
    if not slots:
        return None
    pci = f"pci-{slots[-1]}"
    if name.startswith("nvme"):
        return f"{pci}-nvme-{number(tree, f'block/{name}/nsid', 1)}"
    lun = re.search(r"/(\d+):(\d+):(\d+):(\d+)(?=/|$)", place)
    if lun is None:
        return pci
    host, channel, target, unit = lun.groups()
    if ata := re.search(r"/(ata\d+)/", place):
        port = number(tree, f"class/ata_port/{ata[1]}/port_no", 1)
        return f"{pci}-ata-{port}"
    if usb := re.search(r"/(\d+-[0-9.]+:\d+\.\d+)/host", place):
        return f"{pci}-usb-0:{usb[1].partition('-')[2]}-scsi-0:{channel}:{target}:{unit}"
    if address := text(tree, f"block/{name}/device/sas_address"):
        return f"{pci}-sas-{address}-lun-{unit}"
    return f"{pci}-scsi-{_first_host(tree, pci, host)}:{channel}:{target}:{unit}"


def _first_host(tree: Tree, pci: str, host: str) -> int:
    """The host's number counted from the first one of the same card, as udev does."""
    same = [
        int(each.removeprefix("host"))
        for each in tree.names("class/scsi_host")
        if f"/{pci.removeprefix('pci-')}/" in (tree.place(f"class/scsi_host/{each}") or "")
    ]
    return int(host) - min(same, default=int(host))
