"""The seed's volume: a small FAT file system labelled CIDATA, made in memory.

Made here and not by a tool because a tenant's secrets must not lie in a temporary file. Equal
files give equal bytes, and the length is always the same, so it tells nothing of the content.

Source: Microsoft, "FAT32 File System Specification" 1.03 (boot sector, FAT12, long names).
"""

import struct
import zlib
from collections.abc import Iterator, Mapping

VOLUME_BYTES = 4 << 20
ROOM_BYTES = VOLUME_BYTES + (2 << 20)
"""What a disk must have beyond the image: the volume, its alignment, the table's backup."""
_LABEL = b"CIDATA     "
_ROOT_BYTES = 4096
_LEAST_CLUSTER = 2048
_MEDIA = 0xF8
_END_OF_CHAIN = 0xFFF
_DATE = 43 << 9 | 1 << 5 | 1  # 2023-01-01, in years since 1980
_LONG_NAME = 0x0F
_VOLUME_LABEL = 0x08
_LONG_PART = 13
_BOOT = struct.Struct("<3s8sHBHBHHBHHHIIBBBI11s8s")
_ENTRY = struct.Struct("<11sBBBHHHHHHHI")


class VolumeFullError(ValueError):
    """More content than a seed's volume holds; cannot happen behind `validate.check_seed`."""


def make_volume(files: Mapping[str, bytes], *, sector_bytes: int = 512) -> bytes:
    """A file system with these files in its root.

    Args:
        files: Name -> content; names of lower-case letters and dashes, their first six
            characters all different.
        sector_bytes: Of the disk that it goes to: a kernel mounts no smaller ones than its disk's.

    Raises:
        VolumeFullError: The files do not fit.
    """
    shape = _Shape(sector_bytes)
    volume = bytearray(VOLUME_BYTES)
    chains: list[int] = []
    entries = [_ENTRY.pack(_LABEL, _VOLUME_LABEL, 0, 0, 0, 0, 0, 0, 0, _DATE, 0, 0)]
    for name, content in files.items():
        count = -(-len(content) // shape.cluster_bytes)
        first = len(chains) + 2 if count else 0
        chains += [first + n + 1 for n in range(count - 1)] + [_END_OF_CHAIN] * bool(count)
        entries += _directory_entries(name, first, len(content))
        at = shape.data_at + (first - 2) * shape.cluster_bytes
        if count:
            volume[at : at + len(content)] = content
    root = b"".join(entries)
    if len(chains) > shape.clusters or len(root) > _ROOT_BYTES or len(volume) != VOLUME_BYTES:
        raise VolumeFullError("the files are larger than the volume")
    number = zlib.crc32(b"".join(files.values()))
    volume[:sector_bytes] = shape.boot_sector(number)
    table = _packed([_MEDIA | 0xF00, _END_OF_CHAIN, *chains])
    for copy in range(2):
        at = sector_bytes + copy * shape.table_bytes
        volume[at : at + len(table)] = table
    volume[shape.root_at : shape.root_at + len(root)] = root
    return bytes(volume)


class _Shape:
    """Where things lie on a volume with sectors of this size."""

    def __init__(self, sector_bytes: int) -> None:
        self.sector_bytes = sector_bytes
        self.cluster_bytes = max(_LEAST_CLUSTER, sector_bytes)
        entries = VOLUME_BYTES // self.cluster_bytes + 2
        self.table_sectors = -(-entries * 3 // 2 // sector_bytes)
        self.table_bytes = self.table_sectors * sector_bytes
        self.root_at = sector_bytes + 2 * self.table_bytes
        self.data_at = self.root_at + _ROOT_BYTES
        self.clusters = (VOLUME_BYTES - self.data_at) // self.cluster_bytes

    def boot_sector(self, number: int) -> bytes:
        """The parameter block; the machine code place is an endless loop."""
        block = _BOOT.pack(
            b"\xeb\xfe\x90", b"rackwrgt", self.sector_bytes,
            self.cluster_bytes // self.sector_bytes, 1, 2, _ROOT_BYTES // _ENTRY.size,
            VOLUME_BYTES // self.sector_bytes, _MEDIA, self.table_sectors, 63, 255, 0, 0,
            0x80, 0, 0x29, number, _LABEL, b"FAT12   ",
        )  # fmt: skip
        return (block.ljust(510, b"\0") + b"\x55\xaa").ljust(self.sector_bytes, b"\0")


def _directory_entries(name: str, first: int, length: int) -> Iterator[bytes]:
    """Long name in parts, last part first, then the short entry that older readers see."""
    short = name[:6].upper().encode("ascii") + b"~1   "
    check = 0
    for byte in short:
        check = (((check & 1) << 7) + (check >> 1) + byte) & 0xFF
    units = name.encode("utf-16-le")
    step = _LONG_PART * 2
    parts = [units[at : at + step] for at in range(0, len(units), step)]
    for n in range(len(parts), 0, -1):
        part = parts[n - 1]
        if len(part) < step:
            part = (part + b"\0\0").ljust(step, b"\xff")
        order = n | (0x40 if n == len(parts) else 0)
        yield struct.pack(
            "<B10sBBB12sH4s", order, part[:10], _LONG_NAME, 0, check, part[10:22], 0, part[22:]
        )
    yield _ENTRY.pack(short, 0x20, 0, 0, 0, _DATE, _DATE, 0, 0, _DATE, first, length)


def _packed(values: list[int]) -> bytes:
    """FAT12: two entries in three bytes."""
    even = [*values, 0] if len(values) % 2 else values
    pairs = zip(even[::2], even[1::2], strict=True)
    return b"".join((low | high << 12).to_bytes(3, "little") for low, high in pairs)
