"""Files beside an operation's rows: console, agent's journal, boot files. Bounded, private."""

import os
import shutil
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from provisioner.units import OperationId, WallSeconds

MOST_BYTES = 4 * 1024 * 1024
KEPT_BYTES = 3 * 1024 * 1024


@dataclass(slots=True)
class OperationFiles:
    """A folder an operation; names are ours, contents never trusted.

    Attributes:
        folder: Mode 0700: a console may show what a tenant typed.
    """

    folder: Path
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def append(self, operation: OperationId, name: str, content: bytes) -> None:
        """Add to a file; beyond 4 MiB its oldest quarter goes."""
        with self._turn:
            path = self._path(operation, name)
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, content[-KEPT_BYTES:])
                size = os.fstat(handle).st_size
            finally:
                os.close(handle)
            if size > MOST_BYTES:
                kept = path.read_bytes()[-KEPT_BYTES:]
                path.write_bytes(kept)

    def read(self, operation: OperationId, name: str) -> bytes:
        """All of it; b"" where there is nothing."""
        try:
            return self._path(operation, name).read_bytes()
        except FileNotFoundError:
            return b""

    def names(self, operation: OperationId) -> tuple[str, ...]:
        """What is kept of an operation."""
        folder = self.folder / operation
        return tuple(sorted(each.name for each in folder.iterdir())) if folder.is_dir() else ()

    def forget(self, before: WallSeconds, open_now: Collection[OperationId]) -> int:
        """Delete the folders in which nothing was written since; how many.

        Args:
            before: Nothing newer goes.
            open_now: Operations that may write again: theirs stay.
        """
        if not self.folder.is_dir():
            return 0
        stay = set(open_now)
        old = [
            each
            for each in self.folder.iterdir()
            if each.name not in stay and _written(each) < before
        ]
        for each in old:
            shutil.rmtree(each)
        return len(old)

    def _path(self, operation: OperationId, name: str) -> Path:
        if Path(operation).name != operation or Path(name).name != name:
            raise ValueError(f"not a plain name: {operation!r}, {name!r}")
        return self.folder / operation / name


def _written(folder: Path) -> float:
    return max(each.stat().st_mtime for each in (folder, *folder.iterdir()))
