"""Recordings of tests/record_tree.py, and disks with nothing on them."""

from pathlib import Path

from provisioner.hardware.disks import Edges
from provisioner.testing.sysfs import RecordedTree

FOLDER = Path(__file__).parents[2] / "data" / "hardware"


def recorded(name):
    return RecordedTree.load(FOLDER / f"{name}.json")


NINE_DISKS = recorded("qemu-7.2.22-seabios-1.16.2-nine-disks")
UEFI = recorded("qemu-7.2.22-ovmf-2022.11")


def empty(_name):
    return Edges(head=bytes(1 << 18), tail=bytes(1 << 18))
