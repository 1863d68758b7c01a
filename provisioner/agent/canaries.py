"""Blocks that the wipe writes before a method and must not find after it."""

from dataclasses import dataclass

from provisioner.agent.medium import Medium
from provisioner.wipe.blocks import canary, canary_blocks
from provisioner.wipe.samples import BLOCK_BYTES, block_count


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """All canaries of one disk, made from the order's key."""

    key: bytes
    disk: str
    count: int

    def places(self, medium: Medium, turn: int) -> list[int]:
        """Byte offsets of one turn's canaries."""
        blocks = block_count(medium.bytes)
        chosen = canary_blocks(self.key, self.disk, turn, self.count, blocks)
        return [block * BLOCK_BYTES for block in chosen]

    def write(self, medium: Medium, turn: int) -> int:
        """Write one turn's canaries; answers how many.

        Raises:
            OSError: The disk refused.
        """
        places = self.places(medium, turn)
        for index, offset in enumerate(places):
            medium.write(offset, canary(self.key, self.disk, turn, index))
        medium.settle()
        return len(places)

    def find(self, medium: Medium, turn: int) -> int:
        """How many of one turn's canaries read back now.

        Raises:
            OSError: The disk cannot be read there.
        """
        return sum(
            medium.read(offset, BLOCK_BYTES) == canary(self.key, self.disk, turn, index)
            for index, offset in enumerate(self.places(medium, turn))
        )
