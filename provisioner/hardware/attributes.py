"""Small files of a folder, each as a value: known, unknown, malformed. Standard library only."""

import re
from dataclasses import dataclass
from typing import Final

from provisioner.hardware.tree import Tree, clean
from provisioner.hardware.unknown import MALFORMED, NOT_SAID, Complain, Unknown

MOST_DIGITS: Final = 20
MOST_SHOWN: Final = 40


@dataclass(frozen=True, slots=True)
class Attributes:
    """One folder of a tree.

    Attributes:
        place: Of the folder in the tree.
        shown: The same as the host names it; what is malformed is told with it.
    """

    tree: Tree
    place: str
    shown: str
    complain: Complain

    def text(self, name: str) -> str | Unknown:
        """As one trimmed line; "" where it is empty."""
        content = self.tree.read(f"{self.place}/{name}")
        return NOT_SAID if content is None else clean(content) or ""

    def lines(self, name: str) -> list[str] | Unknown:
        """Line by line, each trimmed."""
        content = self.tree.read(f"{self.place}/{name}")
        if content is None:
            return NOT_SAID
        return [clean(each) or "" for each in content.splitlines()]

    def number(self, name: str) -> int | Unknown:
        """A decimal number, which may be negative."""
        found = self.text(name)
        if isinstance(found, Unknown):
            return found
        if re.fullmatch(r"-?[0-9]{1,20}", found):
            return int(found)
        return self.malformed(name, "a whole number", found)

    def hexadecimal(self, name: str, *, digits: int) -> str | Unknown:
        """Exactly so many digits, in lower case and without 0x."""
        found = self.text(name)
        if isinstance(found, Unknown):
            return found
        plain = found.lower().removeprefix("0x")
        if re.fullmatch(rf"[0-9a-f]{{{digits}}}", plain):
            return plain
        return self.malformed(name, f"{digits} hexadecimal digits", found)

    def malformed(self, name: str, expected: str, found: str) -> Unknown:
        """Tell of it."""
        self.complain(f"{self.shown}/{name}", wrong(expected, found))
        return MALFORMED


def wrong(expected: str, found: str) -> str:
    """What was expected, and what stands there."""
    cut = found if len(found) <= MOST_SHOWN else f"{found[:MOST_SHOWN]}..."
    return f"{expected} expected, {cut!a} is there"
