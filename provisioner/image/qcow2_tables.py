"""Whether a qcow2's file holds everything that its tables point at.

What lies behind a file's end reads as zeros, for QEMU too, so a file that was cut off would be
unpacked without a word. `qemu-img check` lets a shortage of less than one cluster pass.

Source: QEMU's docs/interop/qcow2.txt, "Cluster mapping" and "Extended L2 Entries".
"""

import os
import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from provisioner.errors import ErrorCode, InputError

_ENTRY_BYTES = 8
_SECTOR_BYTES = 512
_COMPRESSED = 1 << 62
_ZERO = 1
_OFFSET = (1 << 56) - (1 << 9)
"""The bits of an entry that say where in the file its cluster or table begins."""
_SUBCLUSTERS = 32
_MOST_FIRST_BYTES = 32 << 20
"""Source: QCOW_MAX_L1_SIZE in QEMU's block/qcow2.h; it opens no file with more."""
_MOST_TABLES_BYTES = 512 << 20
"""For clusters of 64 KiB, the usual, the tables of 4 TiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What a header says of the tables.

    Attributes:
        size: Of the disk inside, in bytes.
        l1_at: Where in the file the first table begins.
        has_subclusters: An entry is followed by a bitmap of its cluster's 32 parts.
    """

    size: int
    cluster_bits: int
    l1_at: int
    has_subclusters: bool

    @property
    def cluster_bytes(self) -> int:
        """Of a cluster, and of a table of the second level."""
        return 1 << self.cluster_bits

    @property
    def table_covers(self) -> int:
        """So many bytes of the disk are behind one table of the second level."""
        entry = 2 * _ENTRY_BYTES if self.has_subclusters else _ENTRY_BYTES
        return self.cluster_bytes // entry * self.cluster_bytes


def check_whole(file: int, layout: Layout) -> None:
    """Refuse a file that is shorter than its tables say; what reads as zeros anyway may lack.

    Raises:
        InputError: IMAGE_CLAIMS.
    """
    length = os.fstat(file).st_size
    first_bytes = -(-layout.size // layout.table_covers) * _ENTRY_BYTES
    if first_bytes > _MOST_FIRST_BYTES:
        raise _too_many_tables()
    first = _table(file, layout.l1_at, first_bytes, length)
    used = [(number, each & _OFFSET) for number, each in enumerate(first) if each & _OFFSET]
    if len(used) * layout.cluster_bytes > _MOST_TABLES_BYTES:
        raise _too_many_tables()
    for number, at in used:
        second = _table(file, at, layout.cluster_bytes, length)
        end = _end(second, layout, layout.size - number * layout.table_covers)
        if end > length:
            raise _cut_off(length, end)


def _table(file: int, at: int, wanted: int, length: int) -> Sequence[int]:
    if at + wanted > length:
        raise _cut_off(length, at + wanted)
    entries = array("Q", os.pread(file, wanted, at))
    if sys.byteorder == "little":
        entries.byteswap()
    return entries


def _end(entries: Sequence[int], layout: Layout, left: int) -> int:
    """Where in the file the last byte ends that one table needs.

    Args:
        entries: Of the table, with bitmaps between them where clusters have parts.
        layout: Of the file.
        left: Bytes of the disk from this table's first cluster on.
    """
    size, end = layout.cluster_bytes, 0
    bitmaps = entries[1::2] if layout.has_subclusters else None
    for number, entry in enumerate(entries[::2] if layout.has_subclusters else entries):
        wanted = min(size, left - number * size)
        if wanted <= 0:
            break
        if entry & _COMPRESSED:
            end = max(end, _compressed_end(entry, layout.cluster_bits))
            continue
        if bitmaps is not None:
            allocated = bitmaps[number] & 0xFFFFFFFF
            wanted = min(wanted, allocated.bit_length() * (size // _SUBCLUSTERS))
        elif entry & _ZERO:
            continue
        if entry & _OFFSET and wanted:
            end = max(end, (entry & _OFFSET) + wanted)
    return end


def _compressed_end(entry: int, cluster_bits: int) -> int:
    """Of its last sector: what is missing in that is unpacked to other bytes, without an error."""
    offset_bits = 62 - (cluster_bits - 8)
    begin = entry & ((1 << offset_bits) - 1)
    more_sectors = (entry & (_COMPRESSED - 1)) >> offset_bits
    return (begin // _SECTOR_BYTES + 1 + more_sectors) * _SECTOR_BYTES


def _too_many_tables() -> InputError:
    brief = "qcow2: too many tables for its size; `qemu-img convert` makes larger clusters"
    return InputError(ErrorCode.IMAGE_CLAIMS, brief)


def _cut_off(length: int, end: int) -> InputError:
    brief = f"the qcow2 is cut off: it has {length} bytes, and its tables point up to {end}"
    return InputError(ErrorCode.IMAGE_CLAIMS, brief)
