import struct
import subprocess
import uuid
import zlib
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.gpt import (
    BASIC_DATA,
    LINUX_FILE_SYSTEM,
    Partition,
    Table,
    TableError,
    read_table,
    sector_bytes_of,
)

MIB = 1 << 20
GUID = uuid.UUID(int=7)
SECTORS = st.sampled_from([512, 4096])


def _table(disk_bytes=16 * MIB, sector_bytes=512):
    return Table.blank(disk_bytes=disk_bytes, sector_bytes=sector_bytes, guid=GUID)


def _partition(number, first, last, name="root"):
    kind = LINUX_FILE_SYSTEM
    return Partition(number=number, kind=kind, guid=GUID, first=first, last=last, name=name)


def _laid_out(table, size):
    disk = bytearray(size)
    for offset, piece in (*table.backup(), *table.primary()):
        disk[offset : offset + len(piece)] = piece
    return disk


@given(
    sector_bytes=SECTORS,
    numbers=st.sets(st.integers(1, 128), max_size=8),
    name=st.text(max_size=36).filter(lambda text: len(text.encode("utf-16-le")) <= 72),
)
def test_what_was_written_is_read_back(sector_bytes, numbers, name):
    name = name.split("\0")[0]
    table = _table(4 * MIB, sector_bytes)
    wanted = tuple(_partition(n, 300 + n, 300 + n, name) for n in sorted(numbers))
    for each in wanted:
        table = table.added(each)

    head = bytes(_laid_out(table, 4 * MIB)[:MIB])

    assert sector_bytes_of(head) == sector_bytes
    again = read_table(head, sector_bytes=sector_bytes)
    assert again == table
    assert again.partitions() == wanted


@given(flip=st.integers(0, 91))
def test_a_header_with_any_changed_byte_is_refused(flip):
    head = _laid_out(_table(4 * MIB), 4 * MIB)[:MIB]
    head[512 + flip] ^= 0x41

    with pytest.raises(TableError):
        read_table(bytes(head), sector_bytes=512)


def test_entries_with_a_changed_byte_are_refused():
    head = _laid_out(_table(4 * MIB), 4 * MIB)[:MIB]
    head[1024 + 700] ^= 1

    with pytest.raises(TableError, match="entries"):
        read_table(bytes(head), sector_bytes=512)


@given(head=st.binary(max_size=2048))
def test_no_bytes_break_the_reader(head):
    with pytest.raises(TableError):
        read_table(head, sector_bytes=512)


@given(fields=st.lists(st.integers(0, 2**32 - 1), min_size=19, max_size=19))
def test_no_header_with_a_right_checksum_breaks_the_reader(fields):
    raw = bytearray(b"EFI PART\0\0\1\0" + struct.pack("<I", 92) + struct.pack("<19I", *fields))
    raw[24:32] = struct.pack("<Q", 1)
    raw[16:20] = bytes(4)
    raw[16:20] = struct.pack("<I", zlib.crc32(raw[:92]))
    head = bytes(512) + bytes(raw).ljust(512, b"\0") + bytes(4096)

    with pytest.raises(TableError):
        read_table(head, sector_bytes=512)


def test_grown_moves_the_backup_and_the_protective_entry_to_the_new_end():
    table = _table().added(_partition(1, 2048, 4095)).grown(256 * MIB)

    (_, entries), (offset, header) = table.backup()
    assert offset == 256 * MIB - 512
    assert header.startswith(b"EFI PART")
    assert len(entries) == 16384
    assert struct.unpack_from("<I", table.mbr, 446 + 12)[0] == 256 * MIB // 512 - 1


def test_a_hybrid_mbr_stays_as_it_is():
    mbr = bytearray(_table().mbr)
    mbr[446 + 4] = 0x0C
    hybrid = bytes(mbr)

    assert replace(_table(), mbr=hybrid).grown(256 * MIB).mbr == hybrid


def test_a_disk_that_ends_before_the_last_partition_is_refused():
    with pytest.raises(TableError, match="partition 1"):
        _table().added(_partition(1, 2048, 20_000)).grown(8 * MIB)


@given(sector_bytes=SECTORS, length=st.integers(1, 7 * MIB))
def test_a_slot_at_the_end_is_aligned_and_lies_behind_all_others(sector_bytes, length):
    table = _table(sector_bytes=sector_bytes).added(_partition(3, 1024, 2047))

    number, first, last = table.slot_at_end("cidata", length)

    assert number == 4
    assert first * sector_bytes % MIB == 0
    assert first > 2047
    assert last <= table.last_usable
    assert (last - first + 1) * sector_bytes >= length


def test_the_slot_of_an_earlier_try_is_taken_again():
    table = _table().added(_partition(1, 2048, 4095))
    number, first, last = table.slot_at_end("cidata", MIB)
    mine = Partition(
        number=number, kind=BASIC_DATA, guid=GUID, first=first, last=last, name="cidata"
    )

    assert table.added(mine).slot_at_end("cidata", MIB) == (number, first, last)


def test_a_full_disk_has_no_slot():
    table = _table()
    with pytest.raises(TableError, match="room"):
        table.added(_partition(1, 2048, table.last_usable)).slot_at_end("cidata", MIB)


@pytest.mark.emulated
@pytest.mark.parametrize("size", [64 * MIB, 5 * 1024 * MIB])
def test_sgdisk_finds_no_fault(tmp_path, size):
    disk = tmp_path / "disk"
    table = _table().added(_partition(2, 2048, 4095)).grown(size)
    number, first, last = table.slot_at_end("cidata", 4 * MIB)
    table = table.added(
        Partition(number=number, kind=BASIC_DATA, guid=GUID, first=first, last=last, name="cidata")
    )
    with disk.open("wb") as file:
        file.truncate(size)
        for offset, piece in (*table.backup(), *table.primary()):
            file.seek(offset)
            file.write(piece)

    done = subprocess.run(["sgdisk", "-v", disk], capture_output=True, text=True, check=True)

    assert "No problems found" in done.stdout
