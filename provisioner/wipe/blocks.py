"""What a block read back may look like, and the two kinds of block that must be gone.

A mark is a block of the old owner's data, remembered by a digest. A canary is a block that the
wipe itself wrote before a method ran; it is made from a key, so nothing about it is stored.
"""

import hashlib
import random
from collections import Counter

from provisioner.wipe.method import Leaves
from provisioner.wipe.samples import BLOCK_BYTES

ZEROS = bytes(BLOCK_BYTES)
MARK_DIGEST_BYTES = 8
_STRIDE = 5
"""A fifth of a block tells as much; no power of two, or the bytes of numbers would line up."""
_LEAST_SPREAD, _MOST_SPREAD = 120.0, 480.0
"""Chi-square of 256 byte values over random bytes: mean 255, deviation 22.6. Outside of about
six and ten deviations a block has structure: text, tables, code, counting patterns."""


def is_allowed(block: bytes, leaves: Leaves) -> bool:
    """A block may read like this after a method that leaves that."""
    if not block.strip(b"\0"):
        return True
    if leaves is Leaves.ZERO:
        return False
    if not block.strip(b"\xff"):
        return True
    return leaves is Leaves.NOISE and is_noise(block)


def is_noise(block: bytes) -> bool:
    """Its bytes are spread as random ones are; compressed and encrypted data are, too."""
    looked_at = block[::_STRIDE]
    expected = len(looked_at) / 256
    counts = Counter(looked_at)
    seen = sum((count - expected) ** 2 for count in counts.values())
    spread = (seen + (256 - len(counts)) * expected**2) / expected
    return _LEAST_SPREAD < spread < _MOST_SPREAD


def mark_digest(block: bytes, key: bytes) -> str:
    """Of a block of the old owner; keyed and short, so that it tells nobody what was there."""
    return hashlib.blake2b(block, key=key, digest_size=MARK_DIGEST_BYTES).hexdigest()


def canary(key: bytes, disk: str, turn: int, index: int) -> bytes:
    """The content of one canary: noise that no data is equal to.

    Args:
        key: Of this wipe, from the order.
        disk: What the disk is called in the order; two disks never share a canary.
        turn: Which method of the disk, counted from 0.
        index: Which canary of that turn.
    """
    return hashlib.shake_256(_seed(key, disk, turn, str(index))).digest(BLOCK_BYTES)


def canary_blocks(key: bytes, disk: str, turn: int, count: int, blocks: int) -> list[int]:
    """The block numbers of one turn's canaries; canary n lies in the n-th."""
    seed = int.from_bytes(hashlib.sha256(_seed(key, disk, turn, "places")).digest())
    generator = random.Random(seed)  # noqa: S311 places, no secret: the key is the secret
    return generator.sample(range(blocks), min(count, blocks))


def _seed(key: bytes, disk: str, turn: int, what: str) -> bytes:
    return b"\0".join((key, disk.encode(), str(turn).encode(), what.encode()))
