"""GUID partition tables: read from a disk's first sectors, changed as values, given back as bytes.

Entries that are not ours travel as the bytes they are. Standard library only.

Source: UEFI specification 2.10, chapter 5.
"""

import struct
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

LINUX_FILE_SYSTEM = uuid.UUID("0fc63daf-8483-4772-8e79-3d69d8477de4")
BASIC_DATA = uuid.UUID("ebd0a0a2-b9e5-4433-87c0-68b6b72699c7")
EFI_SYSTEM = uuid.UUID("c12a7328-f81f-11d2-ba4b-00a0c93ec93b")
BIOS_BOOT = uuid.UUID("21686148-6449-6e6f-744e-656564454649")

ALIGNMENT_BYTES = 1 << 20
ENTRY_COUNT = 128
ENTRY_BYTES = 128
_HEADER = struct.Struct("<8s4sIIIQQQQ16sQIII")
_ENTRY = struct.Struct("<16s16sQQQ72s")
_SIGNATURE = b"EFI PART"
_MOST_ENTRIES = 1024
_MBR_SIGNATURE = b"\x55\xaa"
_MBR_ENTRIES = range(446, 510, 16)
_PROTECTIVE = 0xEE
_MOST_MBR_SECTORS = 0xFFFFFFFF


class TableError(ValueError):
    """The bytes are no partition table that may be changed, or it has no room; says which."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """One used entry.

    Attributes:
        number: From 1, as the kernel counts.
        last: The last sector that belongs to it.
    """

    number: int
    kind: uuid.UUID
    guid: uuid.UUID
    first: int
    last: int
    name: str
    attributes: int = 0

    def to_bytes(self) -> bytes:
        """The entry, 128 bytes."""
        name = self.name.encode("utf-16-le").ljust(72, b"\0")
        return _ENTRY.pack(
            self.kind.bytes_le, self.guid.bytes_le, self.first, self.last, self.attributes, name
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table and the disk it is for; positions of headers and entries follow from both.

    Attributes:
        sectors: Of the disk (or image), all of them.
        mbr: Sector 0 as it stands; only its protective entry is ever changed.
        entries: The raw array, `entry_count` times `entry_bytes` long.
        entries_at: First sector of the primary array; 2 nearly always.
    """

    sector_bytes: int
    sectors: int
    guid: uuid.UUID
    mbr: bytes
    entries: bytes
    entry_bytes: int = ENTRY_BYTES
    entries_at: int = 2
    first_usable: int

    @classmethod
    def blank(cls, *, disk_bytes: int, sector_bytes: int, guid: uuid.UUID) -> Self:
        """An empty table for a new disk, partitions from 1 MiB on."""
        sectors = disk_bytes // sector_bytes
        entry = struct.pack(
            "<B3sB3sII", 0, b"\x00\x02\x00", _PROTECTIVE, b"\xff\xff\xff", 1, sectors - 1
        )
        mbr = (bytes(446) + entry + bytes(48) + _MBR_SIGNATURE).ljust(sector_bytes, b"\0")
        return cls(
            sector_bytes=sector_bytes,
            sectors=sectors,
            guid=guid,
            mbr=mbr,
            entries=bytes(ENTRY_COUNT * ENTRY_BYTES),
            first_usable=2 + ENTRY_COUNT * ENTRY_BYTES // sector_bytes,
        )

    @property
    def entry_count(self) -> int:
        """Slots for partitions, used or not."""
        return len(self.entries) // self.entry_bytes

    @property
    def entry_sectors(self) -> int:
        """Length of one copy of the array."""
        return -(-len(self.entries) // self.sector_bytes)

    @property
    def last_usable(self) -> int:
        """The last sector before the backup at the disk's end."""
        return self.sectors - self.entry_sectors - 2

    def partitions(self) -> tuple[Partition, ...]:
        """The used entries, by number."""
        return tuple(self._used())

    def _used(self) -> Iterator[Partition]:
        for index in range(self.entry_count):
            raw = self.entries[index * self.entry_bytes :][: _ENTRY.size]
            kind, guid, first, last, attributes, name = _ENTRY.unpack(raw)
            if kind != bytes(16):
                yield Partition(
                    number=index + 1,
                    kind=uuid.UUID(bytes_le=kind),
                    guid=uuid.UUID(bytes_le=guid),
                    first=first,
                    last=last,
                    attributes=attributes,
                    name=name.decode("utf-16-le", "replace").split("\0")[0],
                )

    def grown(self, disk_bytes: int) -> Self:
        """The same table for a disk of this size: backup at its end, protective entry over it.

        Raises:
            TableError: A partition ends behind the last usable sector of that disk.
        """
        sectors = disk_bytes // self.sector_bytes
        grown = replace(self, sectors=sectors, mbr=_protect(self.mbr, sectors))
        for each in self.partitions():
            if each.last > grown.last_usable:
                raise TableError(f"partition {each.number} ends behind the disk's last sector")
        return grown

    def added(self, partition: Partition) -> Self:
        """With this entry in its slot, whatever was there."""
        at = (partition.number - 1) * self.entry_bytes
        raw = partition.to_bytes().ljust(self.entry_bytes, b"\0")
        entries = self.entries[:at] + raw + self.entries[at + self.entry_bytes :]
        return replace(self, entries=entries)

    def slot_at_end(self, name: str, length_bytes: int) -> tuple[int, int, int]:
        """Where a partition of this name goes at the disk's end: number, first and last sector.

        A partition that has the name already is taken for an earlier try and replaced.

        Raises:
            TableError: No free entry, or no room behind the last partition.
        """
        others = [each for each in self.partitions() if each.name != name]
        mine = [each.number for each in self.partitions() if each.name == name]
        number = mine[0] if mine else max((each.number for each in others), default=0) + 1
        if number > self.entry_count:
            raise TableError("no entry of the partition table is free")
        sectors = -(-length_bytes // self.sector_bytes)
        step = ALIGNMENT_BYTES // self.sector_bytes
        first = (self.last_usable + 1 - sectors) // step * step
        behind = max((each.last for each in others), default=self.first_usable - 1)
        if first <= behind:
            raise TableError(f"no room for {length_bytes} bytes behind the last partition")
        return number, first, first + sectors - 1

    def primary(self) -> tuple[tuple[int, bytes], ...]:
        """What lies at the disk's beginning, as (offset in bytes, bytes), in order of writing."""
        at = self.sector_bytes
        header = self._header(own=1, other=self.sectors - 1, entries_at=self.entries_at)
        return ((self.entries_at * at, self._array()), (at, header), (0, self.mbr))

    def backup(self) -> tuple[tuple[int, bytes], ...]:
        """What lies at its end, likewise."""
        last = self.sectors - 1
        entries_at = last - self.entry_sectors
        header = self._header(own=last, other=1, entries_at=entries_at)
        return (
            (entries_at * self.sector_bytes, self._array()),
            (last * self.sector_bytes, header),
        )

    def _array(self) -> bytes:
        return self.entries.ljust(self.entry_sectors * self.sector_bytes, b"\0")

    def _header(self, *, own: int, other: int, entries_at: int) -> bytes:
        def packed(crc: int) -> bytes:
            return _HEADER.pack(
                _SIGNATURE,
                b"\0\0\1\0",
                _HEADER.size,
                crc,
                0,
                own,
                other,
                self.first_usable,
                self.last_usable,
                self.guid.bytes_le,
                entries_at,
                self.entry_count,
                self.entry_bytes,
                zlib.crc32(self.entries),
            )

        return packed(zlib.crc32(packed(0))).ljust(self.sector_bytes, b"\0")


def sector_bytes_of(head: bytes) -> int | None:
    """512 or 4096, by where the header lies in a disk's first bytes; None without one."""
    for each in (512, 4096):
        if head[each : each + 8] == _SIGNATURE:
            return each
    return None


def read_table(head: bytes, *, sector_bytes: int) -> Table:
    """The table in a disk's first bytes (64 KiB are enough for any that is usual).

    Raises:
        TableError: None there, or its checksums, sizes or positions are wrong.
    """
    raw = head[sector_bytes : sector_bytes * 2]
    if len(raw) < sector_bytes or raw[:8] != _SIGNATURE:
        raise TableError(f"no GUID partition table for sectors of {sector_bytes} bytes")
    (_, _, size, crc, _, own, other, first, _, guid, at, count, entry_bytes, entries_crc) = (
        _HEADER.unpack_from(raw)
    )
    if not _HEADER.size <= size <= sector_bytes or own != 1:
        raise TableError("the header of the partition table is damaged")
    if zlib.crc32(raw[:16] + bytes(4) + raw[20:size]) != crc:
        raise TableError("the header of the partition table has a wrong checksum")
    if entry_bytes < _ENTRY.size or entry_bytes % 128 or not 1 <= count <= _MOST_ENTRIES:
        raise TableError("the partition table has entries of an unknown form")
    entries = head[at * sector_bytes : at * sector_bytes + count * entry_bytes]
    if at <= own or len(entries) != count * entry_bytes or zlib.crc32(entries) != entries_crc:
        raise TableError("the entries of the partition table have a wrong checksum")
    return Table(
        sector_bytes=sector_bytes,
        sectors=other + 1,
        guid=uuid.UUID(bytes_le=guid),
        mbr=head[:sector_bytes],
        entries=entries,
        entry_bytes=entry_bytes,
        entries_at=at,
        first_usable=first,
    )


def _protect(mbr: bytes, sectors: int) -> bytes:
    """The protective entry over the whole disk; a hybrid or missing one stays as it is."""
    for at in _MBR_ENTRIES:
        if mbr[at + 4] == _PROTECTIVE and struct.unpack_from("<I", mbr, at + 8)[0] == 1:
            length = min(sectors - 1, _MOST_MBR_SECTORS)
            return mbr[: at + 12] + struct.pack("<I", length) + mbr[at + 16 :]
    return mbr
