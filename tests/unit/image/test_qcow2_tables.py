"""Small files made of a first table at 0 and one second table at 64 KiB."""

import struct

import pytest

from provisioner.errors import ErrorCode, InputError
from provisioner.image.qcow2_tables import Layout, check_whole

CLUSTER = 64 << 10
COVERED = CLUSTER // 8 * CLUSTER
COPIED, COMPRESSED, ZERO = 1 << 63, 1 << 62, 1


def _file(tmp_path, second, *, length, first=(CLUSTER | COPIED,)):
    path = tmp_path / "tables"
    content = struct.pack(f">{len(first)}Q", *first).ljust(CLUSTER, b"\0")
    content += struct.pack(f">{len(second)}Q", *second).ljust(CLUSTER, b"\0")
    path.write_bytes(content.ljust(length, b"\0")[:length])
    return path


def _check(path, *, size=CLUSTER * 4, bits=16, parts=False):
    layout = Layout(size=size, cluster_bits=bits, l1_at=0, has_subclusters=parts)
    with path.open("rb") as file:
        check_whole(file.fileno(), layout)


def _compressed(at, more_sectors):
    return COMPRESSED | more_sectors << 54 | at


THREE = 3 * CLUSTER


@pytest.mark.parametrize(
    ("second", "size", "parts", "length"),
    [
        ((), CLUSTER, False, 2 * CLUSTER),
        ((2 * CLUSTER | COPIED,), CLUSTER, False, THREE),
        ((2 * CLUSTER,), 5000, False, 2 * CLUSTER + 5000),
        ((0, 2 * CLUSTER), CLUSTER + 5000, False, 2 * CLUSTER + 5000),
        ((9 * CLUSTER | ZERO, 2 * CLUSTER), 2 * CLUSTER, False, THREE),
        ((_compressed(2 * CLUSTER + 700, 3),), CLUSTER, False, 2 * CLUSTER + 512 + 4 * 512),
        ((2 * CLUSTER, 0b111), CLUSTER, True, 2 * CLUSTER + 3 * 2048),
        ((2 * CLUSTER, 0b111 << 32), CLUSTER, True, 2 * CLUSTER),
    ],
)
def test_a_file_that_has_what_is_needed_passes_and_one_byte_less_does_not(
    tmp_path, second, size, parts, length
):
    _check(_file(tmp_path, second, length=length), size=size, parts=parts)
    with pytest.raises(InputError, match=f"has {length - 1} bytes, .* up to {length}") as caught:
        _check(_file(tmp_path, second, length=length - 1), size=size, parts=parts)
    assert caught.value.code is ErrorCode.IMAGE_CLAIMS


def test_behind_the_disks_end_nothing_is_needed(tmp_path):
    _check(_file(tmp_path, (0, 9 * CLUSTER), length=2 * CLUSTER), size=CLUSTER)


@pytest.mark.parametrize("at", [9 * CLUSTER, 1 << 55])
def test_a_table_behind_the_files_end_is_missing(tmp_path, at):
    with pytest.raises(InputError, match="cut off"):
        _check(_file(tmp_path, (), length=2 * CLUSTER, first=(at,)))


@pytest.mark.parametrize(
    ("size", "bits"), [(1 << 40, 9), (COVERED * 8193, 16)], ids=["first level", "second level"]
)
def test_more_tables_than_can_be_looked_through_are_refused(tmp_path, size, bits):
    path = _file(tmp_path, (), length=2 * CLUSTER, first=(CLUSTER,) * 8193)
    with pytest.raises(InputError, match="too many tables"):
        _check(path, size=size, bits=bits)
