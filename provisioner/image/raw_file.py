"""A raw image's file, block by block: copied sparsely, and digested in the same pass."""

import errno
import hashlib
import os
from collections.abc import Callable
from threading import Event

from provisioner.hardware.blocks import BLOCK_BYTES, BlockList

Done = Callable[[int], None]
"""Takes the bytes that are behind us; called from the working thread."""

_ZEROS = bytes(BLOCK_BYTES)


class StoppedError(Exception):
    """Whoever waited for the pass does not want it any more."""


def take_blocks(
    source: int, length: int, *, into: int | None, done: Done, stop: Event
) -> BlockList:
    """Digest every block that is not zero; with `into`, copy it there too.

    Args:
        source: Descriptor of a regular file; read from its beginning.
        length: Of the image; bytes that the file lacks read as zeros.
        into: Descriptor of an empty file that gets this length, and holes where zeros are.
        done: Hears of progress.
        stop: Ends the pass at the next block.

    Raises:
        StoppedError: `stop` was set.
        OSError: Reading or writing failed.
    """
    digests: dict[int, str] = {}
    if into is not None:
        os.ftruncate(into, length)
    at = 0
    while (at := _next_data(source, at, length)) < length:
        if stop.is_set():
            raise StoppedError
        block = os.pread(source, min(BLOCK_BYTES, length - at), at)
        block = block.ljust(min(BLOCK_BYTES, length - at), b"\0")
        if block != _ZEROS[: len(block)]:
            digests[at // BLOCK_BYTES] = hashlib.sha256(block).hexdigest()
            if into is not None:
                _write(into, block, at)
        at += len(block)
        done(at)
    return BlockList(image_bytes=length, block_bytes=BLOCK_BYTES, digests=digests)


def _next_data(source: int, at: int, length: int) -> int:
    """The first block from here on that is not all hole, by the file system's own knowledge."""
    try:
        data = os.lseek(source, at, os.SEEK_DATA)
    except OSError as error:
        if error.errno == errno.ENXIO:  # nothing but a hole up to the end
            return length
        raise
    return max(at, data // BLOCK_BYTES * BLOCK_BYTES)


def _write(into: int, block: bytes, at: int) -> None:
    view = memoryview(block)
    while view:
        count = os.pwrite(into, view, at)
        view, at = view[count:], at + count
