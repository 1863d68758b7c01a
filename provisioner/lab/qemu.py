"""How a server's parts become QEMU's command line; nothing is started here."""

import os
from pathlib import Path

from provisioner.lab.layout import DiskBus, DiskSpec, LabPaths, NbdSocket, RawFile, ServerSpec

EMULATOR = "/usr/bin/qemu-system-x86_64"
NIC = "nic0"
NETWORK_FIRST = 1
DISK = 5
NETWORK_LAST = 9
"""Places in the boot order: the card moves around the disk, which stays."""


def has_kvm() -> bool:
    """Whether hardware virtualisation is real here.

    /dev/kvm alone proves nothing: a kernel with a paravirtual KVM has it without the processor's
    extensions, and an ordinary guest would not run on it.
    """
    flags = Path("/proc/cpuinfo").read_text().split()
    return ("vmx" in flags or "svm" in flags) and os.access("/dev/kvm", os.R_OK | os.W_OK)


def accelerator(*, kvm: bool) -> list[str]:
    """Processor and accelerator; without KVM each virtual processor has a thread of its own."""
    if kvm:
        return ["-accel", "kvm", "-cpu", "host"]
    return ["-accel", "tcg,thread=multi", "-cpu", "qemu64"]


def machine(server: ServerSpec, *, kvm: bool) -> list[str]:
    """Board, processor, memory and what SMBIOS says; graphics=off puts iPXE on the serial port."""
    system = f"type=1,manufacturer=Rackwright,product=Lab,serial={server.serial}"
    return [
        "-name",
        server.name,
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-machine",
        "q35,graphics=off",
        *accelerator(kvm=kvm),
        "-m",
        str(server.memory_mib),
        "-smp",
        str(server.threads),
        "-uuid",
        str(server.uuid),
        "-smbios",
        system,
    ]


def card(server: ServerSpec, place: int) -> list[str]:
    """The network card on the server's tap, which exists before and after."""
    return [
        "-netdev",
        f"tap,id=net0,ifname={server.tap},script=no,downscript=no",
        "-device",
        f"virtio-net-pci,id={NIC},netdev=net0,mac={server.mac},bootindex={place}",
    ]


def disks(server: ServerSpec, paths: LabPaths) -> list[str]:
    """All disks; only the first one is in the boot order."""
    words = []
    if any(disk.bus is DiskBus.SCSI for disk in server.disks):
        words += ["-device", "virtio-scsi-pci,id=scsi0"]
    sata = 0
    for number, disk in enumerate(server.disks):
        drive = f"disk{number}"
        place = f",bootindex={DISK}" if number == 0 else ""
        bus = f"ide.{sata}"
        sata += disk.bus is DiskBus.SATA
        words += ["-drive", f"{_drive(disk, paths)},if=none,id={drive}"]
        words += ["-device", f"{_device(disk, bus)},drive={drive}{place}"]
    return words


def _drive(disk: DiskSpec, paths: LabPaths) -> str:
    """The host's page cache is the medium: a scan from outside sees each write at once."""
    match disk.source:
        case RawFile(honours_discard=honours):
            discard = "unmap" if honours else "ignore"
            return f"file={paths.disk(disk)},format=raw,cache=unsafe,discard={discard}"
        case NbdSocket(socket=socket):
            return f"file=nbd:unix:{socket},format=raw,cache=unsafe,discard=unmap"


def _device(disk: DiskSpec, sata_bus: str) -> str:
    serial = f"serial={disk.serial}"
    wwn = f",wwn=0x{disk.wwn}" if disk.wwn else ""
    match disk.bus:
        case DiskBus.NVME:
            return f"nvme,{serial}"
        case DiskBus.SATA:
            return f"ide-hd,bus={sata_bus},{serial}{wwn}"
        case DiskBus.SCSI:
            return f"scsi-hd,bus=scsi0.0,{serial}{wwn}"
        case DiskBus.VIRTIO:
            return f"virtio-blk-pci,{serial}"
