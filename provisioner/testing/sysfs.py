"""A recorded /sys: hardware.tree.Tree over values."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Self

_MOST_LINKS = 40
"""As the kernel allows."""


class RecordedTree:
    """Files and links by path; folders are where something lies."""

    def __init__(self, files: Mapping[str, bytes], links: Mapping[str, str]) -> None:
        """Take both.

        Args:
            files: Content by path, links resolved.
            links: Path of a link -> path it leads to, both relative to the root.
        """
        self._files = dict(files)
        self._links = dict(links)
        places = [*self._files, *self._links, *self._links.values()]
        self._folders = {"/".join(each.split("/")[:n]) for each in places for n in range(1, 99)}

    @classmethod
    def load(cls, path: Path) -> Self:
        """What tests/record_tree.py wrote."""
        body = json.loads(path.read_text(encoding="utf-8"))
        files = {name: bytes.fromhex(content) for name, content in body["files"].items()}
        return cls(files, body["links"])

    def read(self, path: str) -> bytes | None:
        """hardware.tree.Tree."""
        place = self.place(path)
        return None if place is None else self._files.get(place)

    def names(self, path: str) -> tuple[str, ...]:
        """hardware.tree.Tree."""
        place = self.place(path)
        if place is None:
            return ()
        below = (each for each in self._folders if each.startswith(f"{place}/"))
        return tuple(sorted({each.removeprefix(f"{place}/").partition("/")[0] for each in below}))

    def place(self, path: str) -> str | None:
        """hardware.tree.Tree."""
        done = ""
        parts = path.split("/")
        for _ in range(_MOST_LINKS):
            while parts:
                done = f"{done}/{parts.pop(0)}".lstrip("/")
                if done in self._links:
                    parts = self._links[done].split("/") + parts
                    done = ""
                    break
            else:
                return done if done in self._folders else None
        return None
