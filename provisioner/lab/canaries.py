"""Marks on disks: made for a key, and looked for in the disks' files from outside."""

import errno
import hashlib
import os
from collections.abc import Collection, Iterator
from pathlib import Path

TAG = b"RWCANARY"
"""Every canary begins with it, so that one pass finds them all."""
CANARY_BYTES = 32
_CHUNK = 8 << 20


def canaries(key: bytes, count: int) -> tuple[bytes, ...]:
    """Different 32-byte marks; another key gives others."""
    return tuple(
        TAG + hashlib.sha256(key + number.to_bytes(4, "big")).digest()[: CANARY_BYTES - len(TAG)]
        for number in range(count)
    )


def find(files: Collection[Path], wanted: Collection[bytes]) -> dict[bytes, list[tuple[Path, int]]]:
    """Where each canary lies, at whatever offset; those that lie nowhere are left out.

    Files are opened for reading only, and holes are skipped: nothing can be in them.

    Raises:
        ValueError: A mark does not begin with the tag or has another length.
    """
    for mark in wanted:
        if not mark.startswith(TAG) or len(mark) != CANARY_BYTES:
            raise ValueError("not a canary of this scanner")
    known = frozenset(wanted)
    found: dict[bytes, list[tuple[Path, int]]] = {}
    for file in files:
        for mark, offset in _tagged(file):
            if mark in known:
                found.setdefault(mark, []).append((file, offset))
    return found


def _tagged(file: Path) -> Iterator[tuple[bytes, int]]:
    """Everything that begins with the tag, with its offset."""
    with file.open("rb", buffering=0) as disk:
        for start, end in extents(file):
            for begin in range(start, end, _CHUNK):
                stop = min(begin + _CHUNK, end)
                disk.seek(begin)
                # some bytes more: a canary may cross the edge, and belongs to where it begins
                data = disk.read(stop - begin + CANARY_BYTES - 1)
                yield from _tagged_in(data, begin, stop)


def _tagged_in(data: bytes, begin: int, stop: int) -> Iterator[tuple[bytes, int]]:
    at = data.find(TAG)
    while 0 <= at < stop - begin:
        yield data[at : at + CANARY_BYTES], begin + at
        at = data.find(TAG, at + 1)


def extents(file: Path) -> Iterator[tuple[int, int]]:
    """The parts of a sparse file that hold data, as [start, end)."""
    descriptor = os.open(file, os.O_RDONLY)
    try:
        size = os.fstat(descriptor).st_size
        end = 0
        while end < size:
            try:
                start = os.lseek(descriptor, end, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # nothing but a hole up to the end
                    return
                raise
            end = os.lseek(descriptor, start, os.SEEK_HOLE)
            yield start, end
    finally:
        os.close(descriptor)
