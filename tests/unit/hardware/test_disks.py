import pytest

from provisioner.hardware.disks import Edges, bus_path, read_disks, transport_of
from provisioner.hardware.identify import page_text, unit_serial, whole_model
from provisioner.hardware.inventory import Transport
from provisioner.hardware.nonce import medium_with
from provisioner.testing.sysfs import RecordedTree
from tests.unit.hardware.recorded import NINE_DISKS, UEFI, empty

FOUND = {
    # name: transport, serial, wwn, bus path
    "nvme0n1": ("nvme", "NVME-SERIAL-0", "nvme.1b36-", "pci-0000:00:02.0-nvme-1"),
    "sda": ("sas", "SAS-SERIAL-0", "naa.5000c50087654321", "pci-0000:00:05.0-scsi-0:0:0:0"),
    "sdb": ("scsi", "MEGA-SERIAL-0", None, "pci-0000:00:09.0-scsi-0:2:0:0"),
    "sdc": ("sata", "ATA-SERIAL-0", "naa.5000c50012345678", "pci-0000:00:04.0-ata-1"),
    "sdd": ("scsi", "SCSI-SERIAL-0", "naa.5000c500aabbccdd", "pci-0000:00:06.0-scsi-0:0:0:0"),
    "sde": ("usb", None, None, "pci-0000:00:08.0-usb-0:1:1.0-scsi-0:0:0:0"),
    "sr0": ("optical", None, None, "pci-0000:00:04.0-ata-2"),
    "vda": ("virtio", "VIRTIO-SERIAL-0", None, "pci-0000:00:07.0"),
}


@pytest.fixture(scope="module")
def disks():
    return {each.name: each for each in read_disks(NINE_DISKS, empty)}


@pytest.mark.parametrize("name", FOUND)
def test_each_recorded_disk_is_what_it_is(disks, name):
    transport, serial, wwn, path = FOUND[name]
    disk = disks[name]
    assert (disk.transport, disk.serial, disk.bus_path) == (transport, serial, path)
    assert disk.wwn == wwn or disk.wwn.startswith(wwn)
    assert disk.path == f"/dev/{name}"


def test_sizes_and_sectors_are_read(disks):
    assert disks["vda"].bytes == 64 << 20
    assert (disks["vda"].logical_sector_bytes, disks["sda"].logical_sector_bytes) == (4096, 512)
    assert (disks["sda"].rotational, disks["nvme0n1"].rotational) == (True, False)


def test_models_and_firmware_are_read(disks):
    assert (disks["nvme0n1"].model, disks["nvme0n1"].firmware) == ("QEMU NVMe Ctrl", "7.2.22")
    assert disks["sdc"].model == "QEMU HARDDISK"
    assert disks["sdd"].model == "QEMU QEMU HARDDISK"


def test_a_drive_without_a_medium_is_no_disk():
    found = read_disks(NINE_DISKS, lambda name: None if name == "sr1" else empty(name))
    assert {"sr0"} == {each.name for each in found if each.transport == Transport.OPTICAL}


def test_the_medium_with_our_nonce_is_none_of_the_servers_disks():
    def edges(name):
        head = medium_with(b"13 bytes long") if name in {"sr0", "sda"} else bytes(2048)
        return Edges(head=head, tail=b"")

    names = {each.name for each in read_disks(NINE_DISKS, edges)}
    assert "sr0" not in names
    assert "sda" in names, "a fixed disk with the same bytes stays a disk"


def test_a_disk_that_cannot_be_read_is_not_taken_for_empty():
    found = read_disks(UEFI, lambda _: Edges(head=None, tail=None))
    assert [each.has_partition_table for each in found] == [True]


def test_a_disk_with_a_table_says_so():
    head = bytes(510) + b"\x55\xaa" + bytes(1000)
    assert read_disks(UEFI, lambda _: Edges(head=head, tail=b""))[0].has_partition_table
    assert not read_disks(UEFI, empty)[0].has_partition_table


PCI = "devices/pci0000:00/0000:00:1f.0/0000:03:00.0"
PLACES = {
    # device paths as they stand in kernel documentation and bug reports; not recorded here
    "iscsi": f"{PCI}/host7/session1/target7:0:0/7:0:0:0/block/sdx",
    "fc": f"{PCI}/host1/rport-1:0-2/target1:0:0/1:0:0:5/block/sdx",
    "sas": f"{PCI}/host0/port-0:1/end_device-0:1/target0:0:1/0:0:1:0/block/sdx",
    "usb": f"{PCI}/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0/block/sdx",
    "sata": f"{PCI}/ata3/host2/target2:0:0/2:0:0:0/block/sdx",
    "scsi": f"{PCI}/host0/target0:2:0/0:2:0:0/block/sdx",
}


def one_disk(name, place, **files):
    device = place.rpartition("/block/")[0]
    below = {key: value for key, value in files.items() if not key.startswith("/")}
    return RecordedTree(
        {f"{place}/size": b"8\n", **{f"{device}/{key}": value for key, value in below.items()}},
        {f"block/{name}": place, f"{place}/device": device},
    )


@pytest.mark.parametrize("transport", PLACES)
def test_the_way_to_a_disk_tells_its_transport(transport):
    assert transport_of(one_disk("sdx", PLACES[transport]), "sdx") == transport


def test_an_ata_disk_behind_a_sas_card_is_sata():
    tree = one_disk("sdx", PLACES["sas"], vendor=b"ATA     \n")
    assert transport_of(tree, "sdx") == Transport.SATA


def test_a_sas_disk_is_named_by_its_address():
    tree = one_disk("sdx", PLACES["sas"], sas_address=b"0x5000c50012345679\n")
    assert bus_path(tree, "sdx") == "pci-0000:03:00.0-sas-0x5000c50012345679-lun-0"


@pytest.mark.parametrize(
    ("kinds", "transport"),
    [
        ([b"pcie\n"], "nvme"),
        ([b"tcp\n"], "nvme-of"),
        ([b"pcie\n", b"rdma\n"], "nvme-of"),
        ([b"fc\n"], "nvme-of"),
        ([], "nvme-of"),
    ],
)
def test_nvme_is_the_servers_own_only_when_every_path_is_pcie(kinds, transport):
    subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0"
    tree = RecordedTree(
        {
            f"{subsystem}/nvme0n1/size": b"8\n",
            **{f"devices/nvme{n}/transport": kind for n, kind in enumerate(kinds)},
        },
        {
            "block/nvme0n1": f"{subsystem}/nvme0n1",
            f"{subsystem}/nvme0n1/device": subsystem,
            **{f"{subsystem}/nvme{n}": f"devices/nvme{n}" for n in range(len(kinds))},
            **{f"class/nvme/nvme{n}": f"devices/nvme{n}" for n in range(len(kinds))},
        },
    )
    assert transport_of(tree, "nvme0n1") == transport


@pytest.mark.parametrize(
    ("name", "uuid", "transport"),
    [
        ("dm-0", b"mpath-36001405\n", Transport.MULTIPATH),
        ("dm-0", b"LVM-abc\n", None),
        ("rbd0", None, Transport.RBD),
        ("vdb", None, Transport.VIRTIO),
        ("mmcblk0", None, Transport.UNKNOWN),
        ("pmem0", None, Transport.UNKNOWN),
    ],
)
def test_names_tell_the_rest(name, uuid, transport):
    files = {f"devices/{name}/size": b"8\n"}
    if uuid:
        files[f"devices/{name}/dm/uuid"] = uuid
    tree = RecordedTree(files, {f"block/{name}": f"devices/{name}"})
    assert transport_of(tree, name) is transport


@pytest.mark.parametrize(
    "name", ["loop0", "ram1", "zram0", "md127", "nbd0", "nvme0c1n1", "mmcblk0boot1"]
)
def test_what_is_made_of_memory_or_other_disks_is_no_disk(name):
    tree = RecordedTree({f"devices/{name}/size": b"8\n"}, {f"block/{name}": f"devices/{name}"})
    assert read_disks(tree, empty) == ()


def test_a_device_without_a_size_is_no_disk():
    tree = RecordedTree({"devices/sdz/size": b"0\n"}, {"block/sdz": "devices/sdz"})
    assert read_disks(tree, empty) == ()


def ata_information(serial, model):
    def swapped(text, width):
        padded = text.ljust(width).encode()
        return b"".join(padded[at + 1 : at + 2] + padded[at : at + 1] for at in range(0, width, 2))

    identify = bytearray(512)
    identify[20:40] = swapped(serial, 20)
    identify[54:94] = swapped(model, 40)
    return b"\0\x89\x02\x38" + bytes(56) + bytes(identify)


def test_an_ata_drive_gives_its_own_serial_and_whole_model():
    tree = RecordedTree(
        {"d/vpd_pg89": ata_information("S4EVNX0R", "Samsung SSD 870 EVO 500GB longer"),
         "d/vpd_pg80": b"\0\x80\0\x04CUTS", "d/vendor": b"ATA", "d/model": b"Samsung SSD 870"},
        {},
    )  # fmt: skip
    assert unit_serial(tree, "d") == "S4EVNX0R"
    assert whole_model(tree, "d") == "Samsung SSD 870 EVO 500GB longer"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (b"\0\x80\0\x06  AB12", "AB12"),
        (b"\0\x80\0\x02AB12", "AB"),
        (b"\0\x83\0\x04AB12", None),
        (b"\0\x80\0\x04    ", None),
        (b"\0\x80", None),
        (b"", None),
        (b"\0\x80\0\x08A\x00\xff\nB\x7f<>", "A B <>"),
    ],
)
def test_serial_pages(page, text):
    assert page_text(page, 0x80) == text
