"""What this server is made of, read from its kernel.

Standard library only.

Without pathlib: it is imported before the agent's hello, and costs a tenth of a second there.
"""

import contextlib
import errno
import os
import time

from provisioner.hardware.disks import Edges, read_disks
from provisioner.hardware.inventory import Inventory
from provisioner.hardware.machine import (
    parse_cpus,
    parse_memory,
    read_cards,
    read_firmware,
    read_pci,
    read_system,
    waiting_for_media,
)
from provisioner.hardware.signatures import EDGE_BYTES

_MOST_BYTES = 64 << 10
"""Of one file in /sys."""
_MEDIA_WITHIN_S = 10.0
_LOOK_AGAIN_S = 0.25


def read_text(path: str) -> str:
    """A small text file, whatever bytes are in it."""
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123
        return file.read()


class KernelTree:
    """hardware.tree.Tree over /sys."""

    def __init__(self, root: str = "/sys") -> None:
        """Take the root."""
        self._root = root

    def read(self, path: str) -> bytes | None:
        """The first 64 KiB; drivers answer some files with errors, which is "nothing" too."""
        try:
            with open(f"{self._root}/{path}", "rb", buffering=0) as file:  # noqa: PTH123
                return file.read(_MOST_BYTES)
        except OSError:
            return None

    def names(self, path: str) -> tuple[str, ...]:
        """Sorted."""
        try:
            return tuple(sorted(os.listdir(f"{self._root}/{path}")))  # noqa: PTH208 names only
        except OSError:
            return ()

    def place(self, path: str) -> str | None:
        """Below the root, without a leading slash."""
        full = os.path.realpath(f"{self._root}/{path}")
        return full.removeprefix(f"{self._root}/") if os.path.exists(full) else None  # noqa: PTH110


def read_facts() -> Inventory:
    """Everything, as it is now; waits for USB storage that is plugged in but not yet there."""
    tree = KernelTree()
    until = time.monotonic() + _MEDIA_WITHIN_S
    while waiting_for_media(tree) and time.monotonic() < until:
        time.sleep(_LOOK_AGAIN_S)
    return Inventory(
        system=read_system(tree),
        firmware=read_firmware(tree),
        cpu=parse_cpus(read_text("/proc/cpuinfo")),
        memory_bytes=parse_memory(read_text("/proc/meminfo")),
        disks=read_disks(tree, read_edges),
        nics=read_cards(tree),
        pci=read_pci(tree),
    )


def read_edges(name: str) -> Edges | None:
    """Both ends of a device; None when the drive is empty."""
    try:
        # not O_NONBLOCK: that opens an empty drive too
        file = os.open(f"/dev/{name}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return None if error.errno == errno.ENOMEDIUM else Edges(head=None, tail=None)
    try:
        return _read_both(file)
    finally:
        os.close(file)


def _read_both(file: int) -> Edges | None:
    head = tail = None
    with contextlib.suppress(OSError):
        size = os.lseek(file, 0, os.SEEK_END)
        # the device's node forgets its cached content when the last one closes it: these are new
        head = os.pread(file, EDGE_BYTES, 0)
        tail = os.pread(file, EDGE_BYTES, max(0, size - EDGE_BYTES))
    return Edges(head=head, tail=tail)
