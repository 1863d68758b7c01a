"""The kernel's description of the hardware (/sys), as parsers see it. Standard library only."""

from typing import Protocol


class Tree(Protocol):
    """A tree of small files and links; paths are relative to its root, links are followed."""

    def read(self, path: str) -> bytes | None:
        """A file's content; None where there is none, or it cannot be read."""
        ...

    def names(self, path: str) -> tuple[str, ...]:
        """What lies in a folder, sorted; empty where there is none."""
        ...

    def place(self, path: str) -> str | None:
        """The path with all links resolved; None where there is nothing."""
        ...


def text(tree: Tree, path: str) -> str | None:
    """A file as one trimmed line; None where it is missing or says nothing."""
    content = tree.read(path)
    return clean(content) if content is not None else None


def clean(content: bytes) -> str | None:
    """Printable ASCII with blanks collapsed: devices pad with spaces, zeros and worse."""
    line = content.decode("ascii", "replace")
    printable = "".join(each if each.isascii() and each.isprintable() else " " for each in line)
    return " ".join(printable.split()) or None


def number(tree: Tree, path: str, otherwise: int = 0) -> int:
    """A file with a decimal number."""
    found = text(tree, path)
    return int(found) if found is not None and found.isdecimal() else otherwise


def last_part(path: str | None) -> str | None:
    """A path's last name."""
    return path.rpartition("/")[2] if path else None
