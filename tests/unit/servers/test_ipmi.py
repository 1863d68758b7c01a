import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.servers import ipmi
from provisioner.servers.ipmi import BootSource, ChassisAct


def fru(chassis=b"", product=b""):
    """An inventory with these areas' fields; each area is filled up to eight bytes."""
    areas, offsets = b"", []
    for head, fields in ((b"\x01\x00\x17", chassis), (b"\x01\x00\x19", product)):
        area = head + fields + b"\xc1" if fields else b""
        offsets.append((8 + len(areas)) // 8 if area else 0)
        areas += area + bytes(-len(area) % 8)
    return bytes([1, 0, offsets[0], 0, offsets[1], 0, 0, 0]) + areas


def text(*fields):
    return b"".join(bytes([0xC0 | len(each)]) + each for each in fields)


def test_buttons_and_boot_flags_are_these_bytes():
    assert ipmi.chassis_control(ChassisAct.UP).data == b"\x01"
    assert ipmi.boot_flags(BootSource.NETWORK, efi=False).data.hex() == "058004000000"
    assert ipmi.boot_flags(BootSource.NETWORK, efi=True).data.hex() == "05a004000000"
    assert ipmi.boot_flags(BootSource.DISK, efi=True).data.hex() == "05a008000000"


def test_power_is_the_lowest_bit():
    assert ipmi.chassis_is_on(bytes([0x61, 0x10, 0x40]))
    assert not ipmi.chassis_is_on(bytes([0x60, 0x10, 0x40]))
    with pytest.raises(ValueError, match="empty"):
        ipmi.chassis_is_on(b"")


@pytest.mark.parametrize(
    ("answer", "valid", "efi", "source"),
    [
        ("0105a004000000", True, True, 1),
        ("01058008000000", True, False, 2),
        ("01050004000000", False, False, 1),  # ipmi_sim: the device alone reads back
        ("0185a004000000", False, True, 1),  # parameter marked as invalid
    ],
)
def test_boot_flags_as_read(answer, valid, efi, source):
    flags = ipmi.read_boot_flags(bytes.fromhex(answer))
    assert (flags.valid, flags.efi, flags.source) == (valid, efi, source)
    assert not flags.persistent


@pytest.mark.parametrize("answer", ["", "01", "010580", "01030000"])
def test_anything_else_is_no_boot_flags(answer):
    with pytest.raises(ValueError, match="boot flags"):
        ipmi.read_boot_flags(bytes.fromhex(answer))


def test_a_guid_reads_in_the_order_of_the_wire():
    wire = bytes(range(1, 17))
    assert ipmi.guid_text(wire) == "01020304-0506-0708-090a-0b0c0d0e0f10"


@pytest.mark.parametrize("filler", [bytes(16), b"\xff" * 16])
def test_a_filler_is_no_guid(filler):
    assert ipmi.guid_text(filler) is None


def test_a_nonce_is_an_oem_record_of_thirteen_bytes():
    request = ipmi.add_nonce(bytes(range(13)))
    assert request.data.hex() == "0000e0000102030405060708090a0b0c"
    assert ipmi.delete_record(ipmi.record_id(b"\x02\x01\x99"), 7).data.hex() == "02010700"
    with pytest.raises(ValueError, match="13 bytes"):
        ipmi.add_nonce(bytes(12))


def test_serials_of_an_inventory():
    product = text(b"ACME", b"GPU-HOST", b"PN1", b"1.0", b"SN0002", b"AT2")
    chassis = text(b"PART", b"CHASSIS7")
    assert ipmi.product_serial(fru(chassis, product)) == "SN0002"
    assert ipmi.product_serial(fru(chassis, text(b"ACME", b"X", b"Y", b"1.0", b"  "))) == "CHASSIS7"
    assert ipmi.product_serial(fru(chassis)) == "CHASSIS7"
    assert ipmi.product_serial(fru()) is None


@given(st.binary(max_size=200))
def test_no_bytes_at_all_break_the_reading_of_an_inventory(junk):
    ipmi.product_serial(b"\x01" + junk)
