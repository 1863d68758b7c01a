"""The rack's two servers with disks that are just large enough: wiping them is what takes time."""

from dataclasses import replace

from provisioner.lab.layout import BIOS1, UEFI1

MIB = 1 << 20
SIZES = {
    "NVME-bios1": 192 * MIB,
    "SATA-bios1": 96 * MIB,
    "SATA-uefi1": 256 * MIB,
    "SCSI-uefi1": 96 * MIB,
}


def small(server):
    """The same server with small disks."""
    return replace(
        server,
        disks=tuple(
            replace(disk, source=replace(disk.source, size_bytes=SIZES[disk.serial]))
            for disk in server.disks
        ),
    )


SERVERS = (small(BIOS1), small(UEFI1))
