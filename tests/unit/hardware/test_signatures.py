import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.signatures import EDGE_BYTES, signature

EMPTY = bytes(EDGE_BYTES)


def at(offset, magic):
    return EMPTY[:offset] + magic + EMPTY[offset + len(magic) :]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (at(510, b"\x55\xaa"), "boot sector"),
        (at(512, b"EFI PART"), "gpt"),
        (at(4096, b"EFI PART"), "gpt"),
        (at(1080, b"\x53\xef"), "ext"),
        (at(0, b"XFSB"), "xfs"),
        (at(0, b"LUKS\xba\xbe"), "luks"),
        (at(512, b"LABELONE"), "lvm"),
        (at(4086, b"SWAPSPACE2"), "swap"),
        (at(65600, b"_BHRfS_M"), "btrfs"),
        (at(4096, b"\xfc\x4e\x2b\xa9"), "linux raid"),
        (at(132 << 10, b"\x0c\xb1\xba\x00\x00\x00\x00\x00"), "zfs"),
        (at(32769, b"CD001"), "iso9660"),
    ],
)
def test_beginnings(head, name):
    assert signature(head, EMPTY) == name


@pytest.mark.parametrize(
    ("tail", "name"),
    [
        (at(EDGE_BYTES - 512, b"EFI PART"), "gpt backup"),
        (at(EDGE_BYTES - 4096, b"EFI PART"), "gpt backup"),
        (at(EDGE_BYTES - 1024, b"Intel Raid ISM Cfg Sig. 1.3"), "intel raid"),
        (at(EDGE_BYTES - 65536, b"\xfc\x4e\x2b\xa9"), "linux raid"),
        (at(EDGE_BYTES - 8192, b"\xfc\x4e\x2b\xa9"), "linux raid"),
    ],
)
def test_ends(tail, name):
    assert signature(EMPTY, tail) == name


def test_zeros_and_plain_bytes_show_nothing():
    assert signature(EMPTY, EMPTY) is None
    assert signature(b"\xa5" * EDGE_BYTES, b"\xa5" * EDGE_BYTES) is None


@given(st.binary(max_size=5000), st.binary(max_size=5000))
def test_short_disks_are_no_trouble(head, tail):
    assert signature(head, tail) is None or isinstance(signature(head, tail), str)
