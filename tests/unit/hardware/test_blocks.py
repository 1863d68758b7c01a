import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.blocks import BlockList

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@st.composite
def block_lists(draw):
    count, last = draw(st.integers(1, 40)), draw(st.integers(1, 64))
    numbers = sorted(draw(st.sets(st.integers(0, count - 1))))
    digests = {number: draw(DIGESTS) for number in numbers}
    return BlockList(image_bytes=(count - 1) * 64 + last, block_bytes=64, digests=digests)


@given(blocks=block_lists())
def test_the_text_gives_the_same_list(blocks):
    assert BlockList.from_text(blocks.to_text()) == blocks


@given(blocks=block_lists())
def test_holes_and_blocks_cover_the_image_once(blocks):
    covered = bytearray(blocks.image_bytes)
    for number in blocks.digests:
        at = number * blocks.block_bytes
        for byte in range(at, at + blocks.length(number)):
            covered[byte] += 1
    for offset, length in blocks.holes():
        for byte in range(offset, offset + length):
            covered[byte] += 1

    assert covered == b"\1" * blocks.image_bytes
    assert blocks.data_bytes + sum(length for _, length in blocks.holes()) == blocks.image_bytes


@given(blocks=block_lists(), other=block_lists())
def test_another_list_has_another_root(blocks, other):
    assert (blocks.root == other.root) == (blocks == other)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"image_bytes": -1},
        {"image_bytes": True},
        {"block_bytes": 0},
        {"image_bytes": 64},
        {"root": "0" * 64},
        {"blocks": None},
        {"blocks": [{"n": 1, "sha256": "ab"}]},
        {"blocks": [{"n": 0, "sha256": "0" * 64}] * 2},
        {"blocks": [{"n": 0}]},
        {"blocks": ["x"]},
    ],
)
def test_a_list_that_says_something_else_is_refused(change):
    blocks = BlockList(image_bytes=200, block_bytes=64, digests={0: "a" * 64, 3: "b" * 64})
    body = json.loads(blocks.to_text()) | change

    with pytest.raises(ValueError, match=r"."):
        BlockList.from_text(json.dumps(body))


@given(text=st.binary(max_size=200))
def test_no_bytes_break_the_reader(text):
    with pytest.raises(ValueError, match=r"."):
        BlockList.from_text(text)


@pytest.mark.parametrize("text", ["[]", "1", "null", "[" * 100_000, '{"blocks":{}}'])
def test_no_json_breaks_the_reader(text):
    with pytest.raises(ValueError, match=r"."):
        BlockList.from_text(text)
