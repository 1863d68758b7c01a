import random

import pytest

from provisioner.lab import canaries
from provisioner.lab.canaries import CANARY_BYTES, TAG, extents, find

MIB = 1 << 20


@pytest.fixture
def disk(tmp_path):
    path = tmp_path / "disk.raw"
    with path.open("xb") as file:
        file.truncate(64 * MIB)
    return path


def put(disk, offset, data):
    with disk.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def test_two_thousand_are_found_where_they_were_put_and_nothing_else(disk):
    marks = canaries.canaries(b"run 1", 2000)
    chosen = random.Random(7).sample(range(64 * MIB // 512), 2000)
    places = {mark: number * 512 + 7 for mark, number in zip(marks, chosen, strict=True)}
    for mark, offset in places.items():
        put(disk, offset, mark)

    found = find([disk], marks)

    assert {mark: spots for mark, spots in found.items() if spots != [(disk, places[mark])]} == {}
    assert len(found) == 2000
    assert find([disk], canaries.canaries(b"run 2", 2000)) == {}


@pytest.mark.parametrize("offset", [0, 8 * MIB - 1, 8 * MIB - 31, 8 * MIB, 64 * MIB - 32])
def test_edges_of_chunks_extents_and_the_disk_hide_nothing(disk, offset):
    (mark,) = canaries.canaries(b"k", 1)
    put(disk, 8 * MIB - 4096, b"x" * 8192)
    put(disk, offset, mark)

    assert find([disk], [mark]) == {mark: [(disk, offset)]}


def test_the_same_mark_twice_is_found_twice_and_half_a_mark_is_none(disk):
    first, second = canaries.canaries(b"k", 2)
    put(disk, 100, first + first)
    put(disk, 5000, second[:-1])

    assert find([disk], [first, second]) == {first: [(disk, 100), (disk, 100 + CANARY_BYTES)]}


def test_holes_are_skipped_and_the_file_is_only_read(disk):
    put(disk, 10 * MIB, b"data")
    before = disk.stat()

    assert sum(end - start for start, end in extents(disk)) <= MIB
    find([disk], canaries.canaries(b"k", 1))

    assert disk.stat().st_mtime_ns == before.st_mtime_ns
    assert disk.stat().st_blocks == before.st_blocks


def test_an_empty_disk_has_no_extents(disk):
    assert list(extents(disk)) == []


@pytest.mark.parametrize("mark", [b"x" * CANARY_BYTES, TAG, TAG + bytes(100)])
def test_a_mark_that_the_scanner_could_miss_is_refused(disk, mark):
    with pytest.raises(ValueError, match="canary"):
        find([disk], [mark])
