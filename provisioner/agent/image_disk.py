"""A disk that gets an image: what Medium does, and large transfers without a copy between."""

import contextlib
import errno
import fcntl
import mmap
import os
import struct
from collections.abc import Iterator

from provisioner.agent.medium import Medium
from provisioner.agent.order import OrderFailedError

_BLKRRPART = 0x125F
_BLKZEROOUT = 0x127F
"""Source: linux/fs.h."""
_ZERO_STEP = 256 << 20
_WRITE_STEP = 4 << 20


def aligned_buffer(length: int) -> memoryview:
    """Memory that direct input and output takes: it begins at a page."""
    return memoryview(mmap.mmap(-1, length))


class ImageDisk(Medium):
    """Offsets and lengths are multiples of a sector. Thread-safe; raises OSError as it comes."""

    def fill(self, view: memoryview, offset: int) -> None:
        """Read into an aligned buffer until it is full."""
        got = os.preadv(self._descriptor, [view], offset)
        if got != len(view):
            raise OSError(errno.EIO, f"{got} of {len(view)} bytes read at byte {offset}")

    def put(self, view: memoryview, offset: int) -> None:
        """Write an aligned buffer."""
        self._put(view, offset)

    def zero(self, offset: int, length: int) -> Iterator[int]:
        """Make a range read as zeros, by the disk's own command where it has one.

        Gives the bytes done after each step.
        """
        for at in range(offset, offset + length, _ZERO_STEP):
            step = min(_ZERO_STEP, offset + length - at)
            try:
                fcntl.ioctl(self._descriptor, _BLKZEROOUT, struct.pack("QQ", at, step))
            except OSError:
                # the kernel writes zeros itself where a disk cannot; a driver may fail at both
                for _ in self.write_zeros(at, at + step, _WRITE_STEP):
                    pass
            yield at + step - offset

    def reread_partitions(self) -> None:
        """Let the kernel see a new table; where it cannot now, the next start will."""
        with contextlib.suppress(OSError):
            fcntl.ioctl(self._descriptor, _BLKRRPART)


@contextlib.contextmanager
def opened(path: str) -> Iterator[ImageDisk]:
    """The disk for this process alone.

    Raises:
        OrderFailedError: DISK_FAILED: it is in use, or reports an error in here.
    """
    try:
        with ImageDisk.open(path, write=True) as disk:
            yield disk
    except OSError as error:
        raise OrderFailedError("DISK_FAILED", f"{path}: {error.strerror or error}") from error
