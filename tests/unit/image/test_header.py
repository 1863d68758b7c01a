import struct
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError
from provisioner.hardware.gpt import Table
from provisioner.image.header import (
    SourceFormat,
    check_qcow2,
    format_of,
    logical_sector_bytes,
)

LIMIT = 1 << 40


def _disk(sector_bytes=512):
    table = Table.blank(disk_bytes=1 << 22, sector_bytes=sector_bytes, guid=uuid.UUID(int=1))
    head = bytearray(64 << 10)
    for offset, piece in table.primary():
        head[offset : offset + len(piece)] = piece
    return bytes(head)


def _qcow2(
    version=3,
    backing=(0, 0),
    bits=16,
    size=1 << 30,
    crypt=0,
    features=0,
    extensions=b"",
    length=104,
):
    head = struct.pack(
        ">4sIQIIQIIQQIIQ",
        b"QFI\xfb",
        version,
        *backing,
        bits,
        size,
        crypt,
        1,
        1 << 16,
        1 << 17,
        1,
        0,
        0,
    )
    if version == 3:
        head += struct.pack(">QQQII", features, 0, 0, 4, length)
    return head + extensions + bytes(512)


def _extension(kind, content=b""):
    return struct.pack(">II", kind, len(content)) + content.ljust(-(-len(content) // 8) * 8, b"\0")


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        (_qcow2(), SourceFormat.QCOW2),
        (b"\x1f\x8b\x08\0rest", SourceFormat.GZIP),
        (b"\xfd7zXZ\0\0\x04", SourceFormat.XZ),
        (b"\x28\xb5\x2f\xfd\x04", SourceFormat.ZSTD),
        (_disk(), SourceFormat.RAW),
        (_disk(4096), SourceFormat.RAW),
    ],
)
def test_the_format_is_what_the_first_bytes_say(head, wanted):
    assert format_of(head) is wanted


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (b"KDMV\x01\0\0\0", "VMware"),
        (b"vhdxfile" + bytes(100), "VHDX"),
        (b"conectix", "VHD"),
        (b"<<< Oracle VM VirtualBox Disk Image >>>", "VirtualBox"),
        (b"LUKS\xba\xbe\0\1", "encrypted"),
        (b"PK\x03\x04", "zip"),
        (b"", "no partition table"),
        (b"#!/bin/sh\n", "no partition table"),
        (bytes(1 << 16), "no partition table"),
        (bytes(510) + b"\x55\xaa" + bytes(1024), "MBR"),
    ],
)
def test_what_is_not_taken_is_named(head, part):
    with pytest.raises(InputError, match=part) as raised:
        format_of(head)

    assert raised.value.code is ErrorCode.IMAGE_FORMAT


@pytest.mark.parametrize("sector_bytes", [512, 4096])
def test_the_sector_is_where_the_table_begins(sector_bytes):
    assert logical_sector_bytes(_disk(sector_bytes)) == sector_bytes


@pytest.mark.parametrize(
    "head",
    [
        _qcow2(),
        _qcow2(version=2),
        _qcow2(features=0b11001),
        _qcow2(extensions=_extension(0x6803F857, b"x" * 384)),
        _qcow2(length=112, extensions=bytes(8) + _extension(0)),
    ],
)
def test_a_plain_qcow2_passes_with_its_size_and_first_table(head):
    layout = check_qcow2(head, most_bytes=LIMIT)
    assert (layout.size, layout.cluster_bytes, layout.l1_at) == (1 << 30, 1 << 16, 1 << 16)


@pytest.mark.parametrize(
    ("head", "has_subclusters"),
    [(_qcow2(), False), (_qcow2(version=2), False), (_qcow2(features=0b11001), True)],
)
def test_a_header_says_whether_clusters_have_parts(head, has_subclusters):
    assert check_qcow2(head, most_bytes=LIMIT).has_subclusters is has_subclusters


@pytest.mark.parametrize(
    ("head", "part"),
    [
        (_qcow2(backing=(200, 11)), "backing file"),
        (_qcow2(backing=(0, 11)), "backing file"),
        (_qcow2(version=2, backing=(200, 11)), "backing file"),
        (_qcow2(crypt=1), "encrypted"),
        (_qcow2(crypt=2), "encrypted"),
        (_qcow2(bits=63), "clusters"),
        (_qcow2(size=0), "empty"),
        (_qcow2(version=1), "version 1"),
        (_qcow2(version=4), "version 4"),
        (_qcow2(features=1 << 2), "another file"),
        (_qcow2(features=1 << 1), "corrupt"),
        (_qcow2(features=1 << 40), "unknown"),
        (_qcow2(extensions=_extension(0xE2792ACA, b"raw")), "backing file's format"),
        (_qcow2(extensions=_extension(0x44415441, b"/etc/passwd")), "data file"),
        (_qcow2(extensions=_extension(0x0537BE77, bytes(16))), "encryption header"),
        (_qcow2(extensions=_extension(7) * 80), "too many"),
        (_qcow2(length=0xFFFFFFFF), "cut off"),
        (_qcow2(extensions=struct.pack(">II", 7, 0xFFFFFFFF)), "cut off"),
        (_qcow2()[:80], "cut off"),
        (_qcow2()[:40], "cut off"),
    ],
)
def test_a_header_that_claims_too_much_is_refused(head, part):
    with pytest.raises(InputError, match=part) as raised:
        check_qcow2(head, most_bytes=LIMIT)

    assert raised.value.code is ErrorCode.IMAGE_CLAIMS


def test_all_claims_are_named_at_once():
    with pytest.raises(InputError) as raised:
        check_qcow2(_qcow2(backing=(1, 1), crypt=1, features=1 << 2), most_bytes=LIMIT)

    assert raised.value.brief.count(";") == 2


def test_a_huge_virtual_size_is_refused():
    with pytest.raises(InputError) as raised:
        check_qcow2(_qcow2(size=1 << 62), most_bytes=LIMIT)

    assert raised.value.code is ErrorCode.IMAGE_TOO_LARGE


@given(rest=st.binary(max_size=300))
def test_no_qcow2_header_breaks_the_reader(rest):
    with pytest.raises(InputError):
        check_qcow2(b"QFI\xfb" + rest, most_bytes=LIMIT)
