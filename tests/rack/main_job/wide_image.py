"""The tiny image made wider: with holes, and with enough data that writing it takes time."""

import random

MIB = 1 << 20
HOLE, DATA = 12 * MIB, 24 * MIB
"""Each hole is wide enough to hold whole blocks of 4 MiB."""


def make(tiny, wide):
    """Tiny's bytes, a hole, data, a hole; it boots as tiny does."""
    content = tiny.read_bytes()
    with wide.open("wb") as image:
        image.write(content)
        image.seek(HOLE, 1)
        image.write(random.Random(5).randbytes(DATA))
        image.truncate(image.tell() + HOLE + 512)
    assert wide.stat().st_size % (4 * MIB), "its last block is a part of one"
