"""A disk as bytes, read and written past the page cache.

What the cache remembers says nothing about a disk; every read and write here is direct, with
aligned buffers. A regular file is a disk like any other: size and sectors are asked for by the
same calls, and where a block device has more to say, it is asked.
"""

import errno
import fcntl
import mmap
import os
import stat
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from provisioner.wipe.samples import pieces

BLKFLSBUF = 0x1261
BLKSSZGET = 0x1268
"""Source: linux/fs.h."""
PIECE_BYTES = 1 << 20
SMALLEST_SECTOR = 512


class Medium:
    """One open disk. Reads and writes may come from several threads."""

    def __init__(self, descriptor: int) -> None:
        """Take over an open descriptor; use `open`."""
        self._descriptor = descriptor
        self._is_block = stat.S_ISBLK(os.fstat(descriptor).st_mode)
        self.bytes = os.lseek(descriptor, 0, os.SEEK_END)
        self.sector_bytes = self._sector_bytes()

    @classmethod
    @contextmanager
    def open(cls, path: str, *, write: bool = False) -> Iterator[Self]:
        """Open for the time of a block; exclusively for writing.

        Raises:
            OSError: No such disk, or EBUSY: a file system, RAID or mapping of ours uses it.
        """
        # O_EXCL without O_CREAT: a block device that is in use is refused
        flags = os.O_RDWR | os.O_EXCL if write else os.O_RDONLY
        descriptor = os.open(path, flags | os.O_DIRECT | os.O_CLOEXEC)
        try:
            yield cls(descriptor)
        finally:
            os.close(descriptor)

    def read(self, offset: int, length: int) -> bytes:
        """All of these bytes; offset and length are multiples of a sector.

        Raises:
            OSError: EIO also where the disk gave fewer bytes; NVMe says ENODATA.
        """
        return self.reader(length)(offset)

    def reader(self, length: int) -> Callable[[int], bytes]:
        """`read` with one length and a buffer of its own: for many reads by one thread."""
        buffer, descriptor = mmap.mmap(-1, length), self._descriptor
        place = [buffer]

        def read(offset: int) -> bytes:
            got = os.preadv(descriptor, place, offset)
            if got != length:
                raise OSError(errno.EIO, f"{got} of {length} bytes read at byte {offset}")
            return buffer[:]

        return read

    def write(self, offset: int, content: bytes) -> None:
        """Write all of it; `settle` makes sure that it reached the disk.

        Raises:
            OSError: The disk refused.
        """
        with mmap.mmap(-1, len(content)) as buffer:
            buffer[:] = content
            self._put(buffer, offset)

    def write_zeros(self, start: int, end: int, block_bytes: int) -> Iterator[int]:
        """Write zeros over a range; gives the bytes written so far after each block.

        Raises:
            OSError: With the place where the disk refused.
        """
        with mmap.mmap(-1, block_bytes) as zeros, memoryview(zeros) as view:
            for offset, length in pieces(start, end, block_bytes):
                with view[:length] as part:
                    self._put(part, offset)
                yield offset + length - start

    def settle(self) -> None:
        """Everything written is on the disk, and nothing of it in a cache of ours.

        Raises:
            OSError: The disk could not be flushed.
        """
        os.fsync(self._descriptor)
        os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        if self._is_block:
            fcntl.ioctl(self._descriptor, BLKFLSBUF, 0)

    def _put(self, content: mmap.mmap | memoryview, offset: int) -> None:
        got = os.pwritev(self._descriptor, [content], offset)
        if got != len(content):
            raise OSError(errno.EIO, f"{got} of {len(content)} bytes written at byte {offset}")

    def _sector_bytes(self) -> int:
        if not self._is_block:
            return SMALLEST_SECTOR
        answer = fcntl.ioctl(self._descriptor, BLKSSZGET, struct.pack("i", 0))
        return int(struct.unpack("i", answer)[0])
