"""What an image says of itself, by its own first bytes, and whether that may be believed.

Source: QEMU's docs/interop/qcow2.txt; RFC 1952 (gzip), the .xz file format 1.2.1, RFC 8878
(zstandard), UEFI 2.10 chapter 5.
"""

import struct
from collections.abc import Iterator
from enum import StrEnum

from provisioner.errors import ErrorCode, InputError
from provisioner.hardware.gpt import sector_bytes_of
from provisioner.image.qcow2_tables import Layout

HEAD_BYTES = 64 << 10
"""So much of a file is looked at."""


class SourceFormat(StrEnum):
    """How an image's file is packed."""

    RAW = "raw"
    GZIP = "raw.gz"
    XZ = "raw.xz"
    ZSTD = "raw.zst"
    QCOW2 = "qcow2"


_MAGIC = {
    b"QFI\xfb": SourceFormat.QCOW2,
    b"\x1f\x8b\x08": SourceFormat.GZIP,
    b"\xfd7zXZ\0": SourceFormat.XZ,
    b"\x28\xb5\x2f\xfd": SourceFormat.ZSTD,
}
_FOREIGN = {
    b"KDMV": "a VMware disk",
    b"# Disk DescriptorFile": "a VMware disk's description",
    b"vhdxfile": "a Hyper-V disk (VHDX)",
    b"conectix": "a Virtual PC disk (VHD)",
    b"<<< ": "a VirtualBox disk",
    b"WithoutFreeSpace": "a Parallels disk",
    b"WithouFreSpacExt": "a Parallels disk",
    b"QED\0": "a QED disk",
    b"LUKS\xba\xbe": "an encrypted volume",
    b"hsqs": "a squashfs",
    b"BZh": "a bzip2 file",
    b"PK\x03\x04": "a zip file",
    b"7z\xbc\xaf\x27\x1c": "a 7z file",
}
_QCOW2 = struct.Struct(">4sIQIIQIIQQIIQ")
_QCOW2_FEATURES = struct.Struct(">QQQII")
_EXTENSION = struct.Struct(">II")
_END, _BACKING_FORMAT, _DATA_FILE, _LUKS = 0, 0xE2792ACA, 0x44415441, 0x0537BE77
_CORRUPT, _EXTERNAL, _SUBCLUSTERS, _KNOWN = 1 << 1, 1 << 2, 1 << 4, 0b11111
_CLUSTER_BITS = range(9, 22)
_VERSIONS = (2, 3)
_MOST_EXTENSIONS = 64


def format_of(head: bytes) -> SourceFormat:
    """The format of a file that begins like this.

    Raises:
        InputError: IMAGE_FORMAT: none that is taken, or neither disk nor archive.
    """
    for magic, found in _MAGIC.items():
        if head.startswith(magic):
            return found
    for magic, name in _FOREIGN.items():
        if head.startswith(magic):
            raise _refused(f"this is {name}; raw, raw.gz, raw.xz, raw.zst and qcow2 are taken")
    logical_sector_bytes(head)
    return SourceFormat.RAW


def logical_sector_bytes(head: bytes) -> int:
    """Which sectors a raw image's partition table is made for: 512 or 4096.

    Raises:
        InputError: IMAGE_FORMAT: no GUID partition table, which the seed's partition needs.
    """
    found = sector_bytes_of(head)
    if found is not None:
        return found
    if head[510:512] == b"\x55\xaa":
        raise _refused("the image has an MBR and no GUID partition table, which the seed needs")
    raise _refused("the content is no disk image: it has no partition table")


def check_qcow2(head: bytes, *, most_bytes: int) -> Layout:
    """Refuse a qcow2 whose header leads outside, or claims what cannot be; answers its layout.

    Args:
        head: The file's beginning.
        most_bytes: The largest virtual size that is taken.

    Raises:
        InputError: IMAGE_CLAIMS, with all that is wrong; IMAGE_TOO_LARGE.
    """
    if len(head) < _QCOW2.size:
        raise InputError(ErrorCode.IMAGE_CLAIMS, "the qcow2 header is cut off")
    (_, version, _, _, cluster_bits, size, _, _, l1_at, *_) = _QCOW2.unpack_from(head)
    problems = tuple(_problems(head))
    if problems:
        raise InputError(ErrorCode.IMAGE_CLAIMS, f"qcow2: {'; '.join(problems)}")
    if size > most_bytes:
        brief = f"the qcow2 claims {size} bytes, {most_bytes} are the limit"
        raise InputError(ErrorCode.IMAGE_TOO_LARGE, brief)
    features = 0 if version == _VERSIONS[0] else _QCOW2_FEATURES.unpack_from(head, _QCOW2.size)[0]
    return Layout(
        size=size,
        cluster_bits=cluster_bits,
        l1_at=l1_at,
        has_subclusters=bool(features & _SUBCLUSTERS),
    )


def _problems(head: bytes) -> Iterator[str]:
    (_, version, backing_at, backing_length, cluster_bits, size, crypt, *_) = _QCOW2.unpack_from(
        head
    )
    if version not in _VERSIONS:
        yield f"version {version} is unknown"
        return
    if backing_at or backing_length:
        yield "it has a backing file"
    if crypt:
        yield "it is encrypted"
    if cluster_bits not in _CLUSTER_BITS:
        yield f"clusters of 2^{cluster_bits} bytes cannot be"
    if not size:
        yield "it is empty"
    length = _QCOW2.size
    if version == _VERSIONS[-1]:
        if len(head) < _QCOW2.size + _QCOW2_FEATURES.size:
            yield "its header is cut off"
            return
        features, _, _, _, length = _QCOW2_FEATURES.unpack_from(head, _QCOW2.size)
        yield from _feature_problems(features)
    yield from _extension_problems(head, length)


def _feature_problems(features: int) -> Iterator[str]:
    if features & _EXTERNAL:
        yield "its data lies in another file"
    if features & _CORRUPT:
        yield "it is marked corrupt"
    if features & ~_KNOWN:
        yield "it needs features that are unknown"


def _extension_problems(head: bytes, at: int) -> Iterator[str]:
    names = {
        _BACKING_FORMAT: "it names a backing file's format",
        _DATA_FILE: "it names a data file",
        _LUKS: "it has an encryption header",
    }
    for _ in range(_MOST_EXTENSIONS):
        if at + _EXTENSION.size > len(head):
            yield "its header is cut off"
            return
        kind, length = _EXTENSION.unpack_from(head, at)
        if kind == _END:
            return
        if kind in names:
            yield names[kind]
        at += _EXTENSION.size + (length + 7) // 8 * 8
    yield "its header has too many extensions"


def _refused(brief: str) -> InputError:
    return InputError(ErrorCode.IMAGE_FORMAT, brief)
