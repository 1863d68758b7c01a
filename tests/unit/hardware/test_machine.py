import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.disks import read_disks
from provisioner.hardware.inventory import Inventory
from provisioner.hardware.machine import (
    parse_cpus,
    parse_memory,
    read_cards,
    read_firmware,
    read_pci,
    read_system,
    waiting_for_media,
)
from provisioner.hardware.tree import clean
from provisioner.testing.sysfs import RecordedTree
from tests.unit.hardware.recorded import NINE_DISKS, UEFI, empty


def test_system_of_a_recorded_machine():
    system = read_system(NINE_DISKS)
    assert system.uuid == "6c1f7d0e-0000-4000-8000-000000000001"
    assert (system.manufacturer, system.product, system.serial) == ("Rig", "Server", "SN-1")


@pytest.mark.parametrize(
    ("uuid", "serial"),
    [
        (b"00000000-0000-0000-0000-000000000000\n", b"To Be Filled By O.E.M.\n"),
        (b"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF\n", b"Default string\n"),
        (b"", b"   \n"),
        (None, None),
    ],
)
def test_what_board_makers_leave_in_is_no_name(uuid, serial):
    files = {"class/dmi/id/product_uuid": uuid, "class/dmi/id/product_serial": serial}
    tree = RecordedTree({k: v for k, v in files.items() if v is not None}, {})
    system = read_system(tree)
    assert (system.uuid, system.serial) == (None, None)


def test_firmware_tells_how_the_kernel_was_started():
    assert (read_firmware(NINE_DISKS).mode, read_firmware(UEFI).mode) == ("bios", "uefi")
    assert read_firmware(NINE_DISKS).vendor == "SeaBIOS"


def test_cards_have_a_device_behind_them():
    (card,) = read_cards(NINE_DISKS)
    assert (card.mac, card.driver, card.link) == ("52:54:00:00:00:01", "virtio_net", False)


def test_loopback_and_bridges_are_no_cards():
    files = {"devices/virtual/net/br0/address": b"02:00:00:00:00:01\n"}
    tree = RecordedTree(files, {"class/net/br0": "devices/virtual/net/br0"})
    assert read_cards(tree) == ()


def test_pci_functions_are_read_with_their_ids():
    functions = {each.address: each for each in read_pci(NINE_DISKS)}
    nvme = functions["0000:00:02.0"]
    assert (nvme.vendor, nvme.device, nvme.pci_class) == ("1b36", "0010", "010802")
    assert nvme.subsystem == "1af4:1100"


def test_a_recorded_machine_travels_as_json():
    facts = Inventory(
        system=read_system(NINE_DISKS),
        firmware=read_firmware(NINE_DISKS),
        cpu=parse_cpus("processor : 0\n"),
        memory_bytes=1,
        disks=read_disks(NINE_DISKS, empty),
        nics=read_cards(NINE_DISKS),
        pci=read_pci(NINE_DISKS),
    )
    assert Inventory.from_json(facts.to_json()) == facts


CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
physical id\t: 0

processor\t: 1
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz
physical id\t: 1
"""


def test_processors_are_counted():
    cpu = parse_cpus(CPUINFO)
    assert (cpu.vendor, cpu.sockets, cpu.threads) == ("GenuineIntel", 2, 2)
    assert cpu.model == "Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz"


def test_memory_is_read():
    assert parse_memory("MemTotal:  1024 kB\nMemFree: 1 kB\n") == 1 << 20
    assert parse_memory("") == 0


@given(st.text(alphabet="processor: \n\tphysical id0123"))
def test_cpuinfo_never_crashes(text):
    assert parse_cpus(text).threads >= 1


@given(st.binary())
def test_device_text_is_one_printable_line_or_nothing(content):
    text = clean(content)
    assert text is None or (text.isprintable() and text.isascii() and text == text.strip())


def test_usb_storage_without_its_disk_is_waited_for():
    interface = "devices/pci0000:00/0000:00:08.0/usb1/1-1/1-1:1.0"
    links = {"bus/usb/devices/1-1:1.0": interface}
    files = {f"{interface}/bInterfaceClass": b"08\n"}
    assert waiting_for_media(RecordedTree(files, links))
    assert not waiting_for_media(RecordedTree({f"{interface}/bInterfaceClass": b"03\n"}, links))
    block = f"{interface}/host6/target6:0:0/6:0:0:0/block/sde"
    there = RecordedTree({**files, f"{block}/size": b"8"}, {**links, "block/sde": block})
    assert not waiting_for_media(there)
    assert not waiting_for_media(NINE_DISKS)
