"""How much must be read, and where, to know that nothing is left."""

import math
import random
from collections.abc import Iterator
from fractions import Fraction

BLOCK_BYTES = 4096
"""One sample. Smaller than any erase or mapping unit of a disk, larger than any sector."""
EDGE_BYTES = 16 << 20
"""Both ends are read whole: partition tables, boot loaders and RAID signatures lie there."""
UNWIPED_SHARE = Fraction(1, 1000)
MISS_PROBABILITY = Fraction(1, 1_000_000)


def samples_needed(share: Fraction = UNWIPED_SHARE, miss: Fraction = MISS_PROBABILITY) -> int:
    """How many random blocks, so that an unwiped share is missed at most this probably.

    All n reads miss with probability (1 - share)^n, so n = log(miss) / log(1 - share), rounded
    up: 13,809 for 0.1 % and one in a million. Drawing without replacement misses less still.
    """
    return math.ceil(math.log(miss) / math.log1p(-share))


def miss_probability(samples: int, blocks: int, share: Fraction = UNWIPED_SHARE) -> float:
    """At most this probably a disk with that unwiped share passed; 0.0 when all was read."""
    return 0.0 if samples >= blocks else math.exp(samples * math.log1p(-share))


def block_count(disk_bytes: int) -> int:
    """Whole blocks; a shorter rest at the end belongs to the last edge."""
    return disk_bytes // BLOCK_BYTES


def sample_blocks(count: int, blocks: int, generator: random.Random) -> list[int]:
    """Different block numbers, in rising order (a disk with heads reads them in one sweep).

    Args:
        count: How many; all blocks where the disk has fewer.
        blocks: Of the disk.
        generator: The system's random source, so that nobody knows before what is looked at.
    """
    if count >= blocks:
        return list(range(blocks))
    return sorted(generator.sample(range(blocks), count))


def edges(disk_bytes: int, edge_bytes: int = EDGE_BYTES) -> tuple[tuple[int, int], ...]:
    """The two ends as (start, end) in bytes; one where they meet."""
    if disk_bytes <= 2 * edge_bytes:
        return ((0, disk_bytes),)
    return ((0, edge_bytes), (disk_bytes - edge_bytes, disk_bytes))


def pieces(start: int, end: int, piece_bytes: int) -> Iterator[tuple[int, int]]:
    """(offset, length) of consecutive pieces; the last may be shorter."""
    for offset in range(start, end, piece_bytes):
        yield offset, min(piece_bytes, end - offset)
