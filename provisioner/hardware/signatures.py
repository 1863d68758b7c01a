"""Does a disk hold anything? Partition tables and file systems, by what both ends of it say.

Wrong in one direction only: what is not known is taken for empty, so a list that is too short
lets a used disk pass for a new one. Source: libblkid's superblock probers, util-linux 2.38.

Standard library only.
"""

EDGE_BYTES = 256 << 10
"""How much of each end is looked at."""

_HEAD = (
    (510, b"\x55\xaa", "boot sector"),
    (512, b"EFI PART", "gpt"),
    (4096, b"EFI PART", "gpt"),
    (0, b"XFSB", "xfs"),
    (0, b"LUKS\xba\xbe", "luks"),
    (0, b"hsqs", "squashfs"),
    (0, b"bluestore block device", "ceph bluestore"),
    (0, b"ER\x02\x00", "apple map"),
    (1024, b"\x10\x20\xf5\xf2", "f2fs"),
    (1024, b"H+\x00\x04", "hfs+"),
    (1024, b"HX\x00\x05", "hfsx"),
    (1080, b"\x53\xef", "ext"),
    (4076, b"SWAP-SPACE", "swap"),
    (4086, b"SWAPSPACE2", "swap"),
    (4096, b"\xfc\x4e\x2b\xa9", "linux raid"),
    (0, b"\xfc\x4e\x2b\xa9", "linux raid"),
    (4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81", "bcache"),
    (32769, b"CD001", "iso9660"),
    (32769, b"BEA01", "udf"),
    (65536 + 52, b"ReIsEr", "reiserfs"),
    (65536 + 64, b"_BHRfS_M", "btrfs"),
    *((sector * 512, b"LABELONE", "lvm") for sector in range(4)),
)
_ZFS_UBERBLOCKS = range(128 << 10, 256 << 10, 1024)
_ZFS_MAGIC = (b"\x0c\xb1\xba\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00\x00\xba\xb1\x0c")
_TAIL = (
    (512, b"EFI PART", "gpt backup"),
    (4096, b"EFI PART", "gpt backup"),
    (1024, b"Intel Raid ISM Cfg Sig. ", "intel raid"),
    (512, b"\x11\xde\x11\xde", "ddf raid"),
    (512, b"\xde\x11\xde\x11", "ddf raid"),
)
_MDRAID_OLD_ALIGNMENT = 64 << 10
_MDRAID_LAST = 8 << 10


def signature(head: bytes, tail: bytes) -> str | None:
    """What the first and the last EDGE_BYTES of a disk show; None where they show nothing."""
    for offset, magic, name in _HEAD:
        if head[offset : offset + len(magic)] == magic:
            return name
    if any(head[at : at + 8] in _ZFS_MAGIC for at in _ZFS_UBERBLOCKS):
        return "zfs"
    for distance, magic, name in _TAIL:
        at = len(tail) - distance
        if at >= 0 and tail[at : at + len(magic)] == magic:
            return name
    if _has_linux_raid_at_end(tail):
        return "linux raid"
    return None


def _has_linux_raid_at_end(tail: bytes) -> bool:
    """Versions 0.90 (64 KiB steps from the end) and 1.0 (8 KiB before it, at 4 KiB steps)."""
    places = range(len(tail) - 2 * _MDRAID_OLD_ALIGNMENT, len(tail) - _MDRAID_LAST + 1, 4096)
    return any(
        tail[at : at + 4] in {b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"} for at in places if at >= 0
    )
