"""Both servers as QEMU and libvirt are told about them."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from provisioner.lab import qemu
from provisioner.lab.layout import (
    BIOS1,
    UEFI1,
    DiskBus,
    DiskSpec,
    LabPaths,
    NbdSocket,
    RawFile,
)
from provisioner.lab.libvirt_domain import domain

PATHS = LabPaths(state=Path("/lab"), cache=Path("/cache"))
LYING = DiskSpec(
    bus=DiskBus.VIRTIO,
    serial="LIAR",
    source=NbdSocket(socket=Path("/lab/liar.sock"), file="liar.raw", size_bytes=1 << 20),
)


def words(server):
    return qemu.disks(server, PATHS)


def test_only_the_first_disk_is_in_the_boot_order():
    devices = [word for word in words(BIOS1) if "drive=" in word]

    assert devices[0] == f"nvme,serial=NVME-bios1,drive=disk0,bootindex={qemu.DISK}"
    assert devices[1] == "ide-hd,bus=ide.0,serial=SATA-bios1,wwn=0x5000c50015ea7101,drive=disk1"


def test_the_card_boots_before_or_after_the_disk_and_never_at_the_same_place():
    assert qemu.NETWORK_FIRST < qemu.DISK < qemu.NETWORK_LAST
    assert "bootindex=1" in " ".join(qemu.card(BIOS1, qemu.NETWORK_FIRST))


def test_sata_disks_get_ports_of_their_own():
    sata = BIOS1.disks[1]
    server = replace(BIOS1, disks=(sata, replace(sata, serial="X"), LYING))

    devices = " ".join(words(server))
    assert "bus=ide.0" in devices
    assert "bus=ide.1" in devices


def test_a_disk_may_be_a_socket_and_a_file_may_ignore_discards():
    deaf = RawFile(file="d.raw", size_bytes=1, honours_discard=False)
    server = replace(BIOS1, disks=(LYING, replace(BIOS1.disks[0], source=deaf)))

    drives = [word for word in words(server) if "format=raw" in word]
    assert drives[0].startswith("file=nbd:unix:/lab/liar.sock,")
    assert "discard=ignore" in drives[1]


@pytest.mark.parametrize("kvm", [True, False])
def test_a_processor_is_emulated_where_kvm_is_not_real(kvm):
    assert ("kvm" in qemu.accelerator(kvm=kvm)) is kvm
    assert ("host" in qemu.accelerator(kvm=kvm)) is kvm


def test_libvirt_never_moves_the_tap_and_keeps_the_whole_console():
    tree = ET.fromstring(domain(UEFI1, PATHS, "lab-uefi1", kvm=False))

    card = tree.find("devices/interface")
    assert card.get("type") == "ethernet"
    assert card.find("target").attrib == {"dev": "tap-uefi1", "managed": "no"}
    assert card.find("rom").get("enabled") == "no"
    assert tree.find("devices/serial/log").attrib["append"] == "on"
    assert tree.get("type") == "qemu"
    assert tree.findtext("uuid") == str(UEFI1.uuid)


def test_libvirt_gets_the_same_disks():
    server = replace(UEFI1, disks=(*UEFI1.disks, LYING))
    disks = ET.fromstring(domain(server, PATHS, "n", kvm=True)).findall("devices/disk")

    assert [disk.findtext("serial") for disk in disks] == ["SATA-uefi1", "SCSI-uefi1", "LIAR"]
    assert [disk.find("target").get("bus") for disk in disks] == ["sata", "scsi", "virtio"]
    assert disks[1].findtext("wwn") == "5000c50015ea7201"
    assert disks[1].find("driver").get("discard") == "ignore"
    assert disks[2].find("source/host").get("socket") == "/lab/liar.sock"
