"""Run as a program: a command with a view of the file system of its own.

usage: enclosure.py [bind SOURCE TARGET]... [keep PATH]... run COMMAND...

Started below `unshare --mount`. `bind` puts a folder in another one's place, so that a second
libvirt finds its own folders and the machine's libvirt is left alone. `keep` makes a path
reachable for a user who is not root although a folder above it is closed (a home usually is):
such a folder becomes an empty one in which only the kept paths are left. Nothing of this is
seen from outside. Standard library only.
"""

import ctypes
import os
import stat
import sys
from pathlib import Path

_BIND = 4096
_RECURSIVE = 16384
"""Source: linux/mount.h."""
_OPERANDS = {"bind": 2, "keep": 1}


def main(words: list[str]) -> None:
    """Do as the words say, then become the command."""
    kept: list[Path] = []
    while words[0] != "run":
        count = _OPERANDS[words[0]]
        operands = words[1 : 1 + count]
        if words[0] == "bind":
            bind(Path(operands[0]), Path(operands[1]))
        else:
            kept.append(Path(operands[0]))
        words = words[1 + count :]
    keep(kept)
    os.execvp(words[1], words[1:])  # noqa: S606 that is what this program is for


def bind(source: Path, target: Path) -> None:
    """Put `source` in the place of `target`, made as a folder where it is missing."""
    if not target.exists():
        target.mkdir(parents=True)
    _mount(str(source), target, None, _BIND | _RECURSIVE)


def keep(paths: list[Path]) -> None:
    """Make the paths reachable for everybody; what else is in a closed folder is not there."""
    handles = [(path, os.open(path, os.O_PATH)) for path in sorted(paths)]
    for folder in sorted({closed for path in paths if (closed := closed_above(path))}):
        _mount("tmpfs", folder, "tmpfs", 0)
        folder.chmod(0o755)
    for path, handle in handles:
        if not path.exists():
            path.mkdir(parents=True)
            _mount(f"/proc/self/fd/{handle}", path, None, _BIND | _RECURSIVE)
        os.close(handle)


def closed_above(path: Path) -> Path | None:
    """The topmost folder above the path that others may not pass through."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & stat.S_IXOTH:
            return folder
    return None


def _mount(source: str, target: Path, kind: str | None, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    kind_bytes = kind.encode() if kind else None
    if libc.mount(source.encode(), bytes(target), kind_bytes, ctypes.c_ulong(flags), None):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))


if __name__ == "__main__":
    main(sys.argv[1:])
