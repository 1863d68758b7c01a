"""Network namespaces: commands and Python code inside them, and who else is there."""

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from provisioner.lab.commands import attempt, run

_FOLDER = Path("/run/netns")
_CLONE_NEWNET = 0x40000000
"""Source: linux/sched.h."""
_T = TypeVar("_T")


def argv_inside(namespace: str, argv: Sequence[str]) -> list[str]:
    """The same command inside; not `ip netns exec`, which hides the control groups."""
    return ["nsenter", f"--net={_FOLDER / namespace}", *argv]


def exists(namespace: str) -> bool:
    """Whether there is one of this name."""
    return (_FOLDER / namespace).exists()


def make(namespace: str) -> None:
    """Make it, with its loopback up; safe to repeat."""
    if not exists(namespace):
        run(["ip", "netns", "add", namespace])
    run(["ip", "-n", namespace, "link", "set", "lo", "up"])


def remove(namespace: str) -> None:
    """Remove the name; the namespace itself goes with its last process. Safe to repeat."""
    if exists(namespace):
        attempt(["ip", "netns", "del", namespace])


def inside(namespace: str, work: Callable[[], _T]) -> _T:
    """Do something inside: sockets made there stay there, whoever uses them later.

    A thread of its own enters and ends, so nothing else of this process is moved.
    """

    def enter_and_work() -> _T:
        with (_FOLDER / namespace).open("rb") as there:
            _enter(there.fileno())
        return work()

    with ThreadPoolExecutor(max_workers=1) as pool:
        return pool.submit(enter_and_work).result()


def _enter(descriptor: int) -> None:
    """setns(2): Python has it from 3.12 on only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, _CLONE_NEWNET):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def dwellers(namespace: str) -> tuple[int, ...]:
    """The processes whose network it is; they are ours, since the namespace is."""
    try:
        there = (_FOLDER / namespace).stat()
    except FileNotFoundError:
        return ()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            net = (entry / "ns" / "net").stat()
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        if (net.st_dev, net.st_ino) == (there.st_dev, there.st_ino):
            found.append(int(entry.name))
    return tuple(sorted(found))
