"""The archive form that the kernel unpacks into its first file system ("newc").

Source: Documentation/driver-api/early-userspace/buffer-format.rst of the kernel. Written here
since it is forty lines, and then needs neither a tool nor files on disk for the small second
archive that the service makes.
"""

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"070701"
_TRAILER = "TRAILER!!!"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file, folder or link; all belong to root.

    Attributes:
        path: Below /, without a leading slash.
        mode: Type and permissions.
        content: A file's bytes, or a link's target.
    """

    path: str
    mode: int
    content: bytes = b""


def file_entry(path: str, content: bytes, *, permissions: int = 0o644) -> Entry:
    """A regular file."""
    return Entry(path=path, mode=stat.S_IFREG | permissions, content=content)


def folder_entry(path: str) -> Entry:
    """A folder."""
    return Entry(path=path, mode=stat.S_IFDIR | 0o755)


def entries_of(folder: Path) -> Iterator[Entry]:
    """Everything below a folder in the order of names, permissions made equal."""
    for path in sorted(folder.rglob("*"), key=lambda each: each.relative_to(folder).parts):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            target = str(path.readlink()).encode()
            yield Entry(path=name, mode=stat.S_IFLNK | 0o777, content=target)
        elif path.is_dir():
            yield folder_entry(name)
        else:
            executable = path.stat().st_mode & stat.S_IXUSR
            permissions = 0o755 if executable else 0o644
            yield file_entry(name, path.read_bytes(), permissions=permissions)


def archive(entries: Iterable[Entry], *, date: int) -> Iterator[bytes]:
    """The archive in pieces; the same entries and date give the same bytes.

    Args:
        entries: Folders before what is in them.
        date: Seconds since 1970, given to every entry.
    """
    for number, entry in enumerate(entries, 1):
        yield _header(entry, number, date)
        yield _padded(entry.content)
    yield _header(Entry(path=_TRAILER, mode=0), 0, 0)


def _header(entry: Entry, inode: int, date: int) -> bytes:
    name = entry.path.encode() + b"\0"
    fields = (
        inode,
        entry.mode,
        0,  # user
        0,  # group
        1,  # links
        date,
        len(entry.content),
        0,  # device, four numbers
        0,
        0,
        0,
        len(name),
        0,  # checksum, of another format
    )
    head = _MAGIC + b"".join(b"%08X" % each for each in fields)
    return head + name + b"\0" * (-(len(head) + len(name)) % 4)


def _padded(content: bytes) -> bytes:
    return content + b"\0" * (-len(content) % 4)
