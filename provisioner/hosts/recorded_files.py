"""A host's recorded files and links as the tree that they were: hardware.tree.Tree over values."""

import posixpath
from collections.abc import Mapping
from typing import Final

MOST_LINKS: Final = 40
"""As the kernel allows on one way."""


class RecordedFiles:
    """Files and links by their absolute paths; folders are where something lies.

    Paths are asked for below a root, so that /sys can be read as a tree of its own.
    """

    def __init__(self, files: Mapping[str, bytes], links: Mapping[str, str]) -> None:
        """Take both.

        Args:
            files: Absolute path, through links or not -> content.
            links: Absolute path -> target as the link has it, relative or absolute.
        """
        self._links: dict[str, str] = {}
        self._names: dict[str, set[str]] = {}
        self._places: dict[str, str | None] = {}
        # a link may lie behind another one, which is nearer to the root
        for path, target in sorted(links.items(), key=lambda each: each[0].count("/")):
            place = self._through(path)
            if place is not None:
                led = posixpath.normpath(posixpath.join("/", posixpath.dirname(place), target))
                self._links[place] = f"/{led.lstrip('/')}"
        self._files: dict[str, bytes] = {}
        folders: dict[str, str | None] = {}
        for path, content in files.items():
            folder, name = posixpath.split(path)
            if folder not in folders:
                folders[folder] = self._through(f"{folder}/.")
            if folders[folder] is not None:
                self._files[f"{folders[folder]}/{name}"] = content
        for place in (*self._files, *self._links, *self._links.values()):
            self._note(place)

    def read(self, path: str) -> bytes | None:
        """A file's content, by its absolute path."""
        place = self.place(path)
        return None if place is None else self._files.get(place)

    def names(self, path: str) -> tuple[str, ...]:
        """What lies in a folder, sorted."""
        place = self.place(path)
        return () if place is None else tuple(sorted(self._names.get(place, ())))

    def place(self, path: str) -> str | None:
        """With all links resolved; None where nothing is."""
        if path not in self._places:
            self._places[path] = self._resolved(path)
        return self._places[path]

    def below(self, root: str) -> "Below":
        """The tree that begins at this folder."""
        return Below(self, root)

    def _resolved(self, path: str) -> str | None:
        parts, done = path.strip("/").split("/"), ""
        for _ in range(MOST_LINKS):
            while parts:
                done = f"{done}/{parts.pop(0)}"
                if done in self._links:
                    parts = [*self._links[done].strip("/").split("/"), *parts]
                    done = ""
                    break
            else:
                return done if done in self._files or done in self._names else None
        return None

    def _through(self, path: str) -> str | None:
        """The path with the links of its folder resolved, whether anything lies there or not."""
        folder, name = posixpath.split(f"/{path.lstrip('/')}")
        parts, done = folder.strip("/").split("/"), ""
        for _ in range(MOST_LINKS):
            while parts:
                part = parts.pop(0)
                done = f"{done}/{part}" if part else done
                if done in self._links:
                    parts = [*self._links[done].strip("/").split("/"), *parts]
                    done = ""
                    break
            else:
                return done if name == "." else f"{done}/{name}"
        return None

    def _note(self, place: str) -> None:
        """A place, and the folders that it makes."""
        self._names.setdefault(place, set())
        while place not in {"", "/"}:
            folder, _, name = place.rpartition("/")
            names = self._names.setdefault(folder, set())
            if name in names:
                return
            names.add(name)
            place = folder


class Below:
    """hardware.tree.Tree: the same, with paths relative to a folder."""

    def __init__(self, files: RecordedFiles, root: str) -> None:
        self._files, self._root = files, root

    def read(self, path: str) -> bytes | None:
        """A file's content."""
        return self._files.read(f"{self._root}/{path}")

    def names(self, path: str) -> tuple[str, ...]:
        """What lies in a folder, sorted."""
        return self._files.names(f"{self._root}/{path}")

    def place(self, path: str) -> str | None:
        """With all links resolved, relative to the root where it lies below it."""
        found = self._files.place(f"{self._root}/{path}")
        return None if found is None else found.removeprefix(f"{self._root}/")
