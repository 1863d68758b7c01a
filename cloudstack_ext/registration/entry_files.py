"""What lies on a management server for the entry: which files, and what differs. Pure."""

import hashlib
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from cloudstack_ext.registration.wanted import ServerWanted, Wanted

EXTENSIONS: Final = PurePosixPath("/usr/share/cloudstack-management/extensions")
SETTINGS: Final = PurePosixPath("/etc/rackwright")
CONFIGURATION: Final = "entry.conf"
HTTPS_MODULE: Final = "rackwright_https.py"
BY_SOCKET: Final = b"socket = /run/rackwright/extension.sock\n"
PUBLIC: Final = frozenset({"ca.pem", "entry.pem"})
"""Of the files that `rackwright init entry` makes; the others are for their owner alone."""
ROOT: Final = "root"


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFile:
    """One file as it should lie there.

    Attributes:
        owner: A user of that server.
    """

    path: PurePosixPath
    content: bytes
    mode: int
    owner: str

    def digest(self) -> str:
        """SHA-256 in hex."""
        return hashlib.sha256(self.content).hexdigest()


def entry_files(
    wanted: Wanted,
    server: ServerWanted,
    *,
    programs: Mapping[str, bytes],
    private: Mapping[str, bytes],
) -> tuple[EntryFile, ...]:
    """In the order of placing: the entry last, so that it never runs without the others.

    Args:
        wanted: The registration file.
        server: One of it.
        programs: The entry and what lies beside it, by file name; the entry under "".
        private: Of `server.entry_files`, by file name; empty: through the socket.
    """
    extension = EXTENSIONS / wanted.extension.name
    settings = dict(private) or {CONFIGURATION: BY_SOCKET}
    # the configuration names the others: they come first
    names = sorted(settings, key=lambda name: (name == CONFIGURATION, name))
    return (
        *(
            EntryFile(
                path=SETTINGS / name,
                content=settings[name],
                mode=0o644 if name in PUBLIC else 0o600,
                owner=server.owner,
            )
            for name in names
        ),
        *(
            EntryFile(path=extension / name, content=content, mode=0o644, owner=ROOT)
            for name, content in sorted(programs.items())
            if name
        ),
        EntryFile(
            path=extension / wanted.extension.path, content=programs[""], mode=0o755, owner=ROOT
        ),
    )


def difference(
    file: EntryFile, content: bytes | None, *, owner: int | None, mode: int | None, wants: int
) -> str:
    """In words; "" where there is none.

    Args:
        file: As it should be.
        content: As it is; None: it is not there.
        owner: Its uid.
        mode: Its permission bits.
        wants: The uid of the owner that it should have.
    """
    if content is None or owner is None or mode is None:
        return "is not there"
    found = []
    if content != file.content:
        found.append(f"has other content (sha256 {hashlib.sha256(content).hexdigest()[:16]}…)")
    if mode != file.mode:
        found.append(f"has mode {mode:04o}, not {file.mode:04o}")
    if owner != wants:
        found.append(f"belongs to uid {owner}, not to {file.owner}")
    return ", ".join(found)


def by_hand(files: tuple[EntryFile, ...], sources: Mapping[PurePosixPath, str]) -> Iterator[str]:
    """The commands that place them, for a root shell on the server.

    Args:
        files: In order.
        sources: Where each lies on this machine, to be copied over first.
    """
    for folder in dict.fromkeys(file.path.parent for file in files):
        yield shlex.join(["install", "-d", "-m", "0755", str(folder)])
    for file in files:
        given = ["install", "-o", file.owner, "-g", file.owner, "-m", f"{file.mode:04o}"]
        yield shlex.join([*given, sources[file.path], str(file.path)])
