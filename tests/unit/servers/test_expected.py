from dataclasses import replace

import pytest

from provisioner.hardware.inventory import (
    Cpu,
    Disk,
    Firmware,
    Inventory,
    PciFunction,
    System,
    Transport,
)
from provisioner.servers.expected import unmet
from provisioner.servers.manifest import manifest_of
from provisioner.servers.model import ExpectedHardware
from provisioner.units import WallSeconds

DISK = Disk(
    name="sda",
    path="/dev/sda",
    serial="D1",
    wwn=None,
    model=None,
    firmware=None,
    bytes=1,
    logical_sector_bytes=512,
    physical_sector_bytes=512,
    rotational=False,
    removable=False,
    read_only=False,
    transport=Transport.SATA,
    has_partition_table=False,
)
GPU = PciFunction(address="0000:01:00.0", pci_class="030200", vendor="10de", device="2335")
SEEN = Inventory(
    system=System(uuid=None, serial="S1", manufacturer=None, product=None),
    firmware=Firmware(mode="uefi"),
    cpu=Cpu(vendor=None, model=None, sockets=1, threads=8),
    memory_bytes=950,
    disks=(DISK,),
    nics=(),
    pci=(GPU, replace(GPU, pci_class="020000")),
)
ALL = ExpectedHardware(cpu_threads=8, memory_bytes=1000, disks=1, gpus=1, serial="S1")


def test_as_expected_is_nothing_to_say():
    assert unmet(ALL, SEEN, (DISK,)) == ()


def test_nothing_expected_is_never_missed():
    assert unmet(None, SEEN, ()) == ()
    assert unmet(ExpectedHardware(), SEEN, ()) == ()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"cpu_threads": 16}, "processor threads: 16 expected, 8 seen"),
        ({"disks": 2}, "disks of its own: 2 expected, 1 seen"),
        ({"disks": 0}, "disks of its own: 0 expected, 1 seen"),
        ({"gpus": 8}, "GPUs: 8 expected, 1 seen"),
        ({"serial": "S2"}, "serial number: S2 expected, S1 seen"),
        ({"memory_bytes": 2000}, "memory: 2000 bytes expected, 950 seen"),
        ({"memory_bytes": 900}, "memory: 900 bytes expected, 950 seen"),
    ],
)
def test_each_difference_is_named(change, line):
    assert unmet(replace(ALL, **change), SEEN, (DISK,)) == (line,)


def test_all_differences_come_at_once():
    assert len(unmet(replace(ALL, gpus=8, disks=2), SEEN, (DISK,))) == 2


def test_what_the_manifest_expects_is_remembered():
    entry = {
        "name": "a",
        "pool": "a",
        "controller": {"protocol": "ipmi", "address": "h", "user": "u"},
        "firmware": "bios",
        "nics": [{"mac": "52:54:00:00:00:01", "roles": ["provisioning"], "port": "p"}],
        "root_disk": {"serial": "D1"},
        "expected": {"gpus": 8},
    }
    manifest = manifest_of({"version": 1, "servers": [entry]}, source="x")
    record = manifest.servers[0].record(WallSeconds(1.0))
    assert record.expected == ExpectedHardware(gpus=8)
