import struct

from provisioner.hardware.gpt import BIOS_BOOT, EFI_SYSTEM
from provisioner.image.bootable import (
    CORE_AT,
    MIB,
    SECTOR_BYTES,
    SYSTEM_AT,
    first_sector,
    linked_core,
    make_table,
    named,
    system_length,
)


def test_the_first_sector_is_grubs_code_with_the_tables_own_entries():
    boot, mbr = bytes(range(256)) * 2, bytes(440) + bytes([7]) * 70 + b"\0\0"

    made = first_sector(boot, mbr)

    assert len(made) == SECTOR_BYTES
    assert made[:0x5C] == boot[:0x5C]
    assert struct.unpack_from("<Q", made, 0x5C) == (CORE_AT,)
    assert made[0x66:0x68] == b"\x90\x90"
    assert made[440:510] == mbr[440:510]
    assert made[510:] == b"\x55\xaa"


def test_the_core_finds_its_rest_in_the_following_sectors():
    made = linked_core(b"\1" * (SECTOR_BYTES * 10 + 1))

    assert struct.unpack_from("<QHH", made, SECTOR_BYTES - 12) == (CORE_AT + 1, 10, 0x820)
    assert made[SECTOR_BYTES:] == b"\1" * (SECTOR_BYTES * 9 + 1)


def test_the_table_has_a_place_for_the_core_and_one_for_the_firmware():
    table = make_table("x", disk_bytes=16 * MIB, system_bytes=4 * MIB)

    core, system = table.partitions()
    assert (core.kind, core.first, core.last) == (BIOS_BOOT, CORE_AT, SYSTEM_AT - 1)
    assert (system.kind, system.first) == (EFI_SYSTEM, SYSTEM_AT)
    assert (system.last - system.first + 1) * SECTOR_BYTES == 4 * MIB


def test_names_make_guids_that_stay_and_differ():
    assert named("a") == named("a")
    assert named("a") != named("b")


def test_a_system_partition_has_room_to_spare(tmp_path):
    (tmp_path / "kernel").write_bytes(bytes(3 * MIB + 1))

    assert system_length((tmp_path / "kernel",)) == 7 * MIB
