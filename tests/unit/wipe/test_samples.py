"""How much is read, where, and what a block may look like."""

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.wipe.blocks import canary, canary_blocks, is_allowed, is_noise, mark_digest
from provisioner.wipe.method import Leaves
from provisioner.wipe.samples import (
    BLOCK_BYTES,
    EDGE_BYTES,
    edges,
    miss_probability,
    pieces,
    sample_blocks,
    samples_needed,
)

KEY = bytes(range(32))


def test_a_tenth_of_a_percent_and_one_in_a_million_need_13809_samples():
    assert samples_needed() == 13_809
    assert (1 - 0.001) ** 13_809 <= 1e-6 < (1 - 0.001) ** 13_808


def test_the_probability_is_said_for_what_was_read():
    assert 0.99e-6 < miss_probability(13_809, 1 << 40) <= 1e-6
    assert miss_probability(100, 100) == 0.0


@given(st.integers(1, 100_000), st.integers(1, 20_000), st.integers())
def test_samples_are_different_blocks_in_rising_order(blocks, count, seed):
    chosen = sample_blocks(count, blocks, random.Random(seed))
    assert len(chosen) == min(count, blocks)
    assert chosen == sorted(set(chosen))
    assert 0 <= chosen[0] <= chosen[-1] < blocks


def test_an_unwiped_share_of_a_tenth_of_a_percent_is_seen_every_time():
    blocks = 1 << 28
    unwiped = range(77_000_000, 77_000_000 + blocks // 1000)
    for seed in range(60):
        chosen = sample_blocks(samples_needed(), blocks, random.Random(seed))
        assert any(block in unwiped for block in chosen)


def test_a_tenth_of_the_samples_would_miss_it_sometimes():
    # the check above can fail: with fewer samples it does
    blocks = 1 << 20
    unwiped = range(500_000, 500_000 + blocks // 1000)
    missed = [
        seed
        for seed in range(200)
        if not any(block in unwiped for block in sample_blocks(1_381, blocks, random.Random(seed)))
    ]
    assert 20 <= len(missed) <= 80


@pytest.mark.parametrize(
    ("size", "ends"),
    [
        (1 << 30, ((0, EDGE_BYTES), ((1 << 30) - EDGE_BYTES, 1 << 30))),
        (2 * EDGE_BYTES, ((0, 2 * EDGE_BYTES),)),
        (4096, ((0, 4096),)),
    ],
)
def test_both_ends_are_named_once(size, ends):
    assert edges(size) == ends


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.integers(1, 500))
def test_pieces_cover_a_range_without_gap(start, length, piece):
    at = start
    for offset, size in pieces(start, start + length, piece):
        assert offset == at
        assert 0 < size <= piece
        at += size
    assert at == start + length


def test_the_share_is_a_fraction_so_that_the_number_is_exact():
    assert samples_needed(Fraction(1, 2), Fraction(1, 8)) == 3


NOISE = random.Random(1).randbytes(BLOCK_BYTES)
TEXT = b"root:x:0:0:root:/root:/bin/bash\n" * 128
COUNTING = bytes(range(256)) * 16


@pytest.mark.parametrize(
    ("block", "allowed"),
    [
        (bytes(BLOCK_BYTES), {Leaves.ZERO, Leaves.BLANK, Leaves.NOISE}),
        (b"\xff" * BLOCK_BYTES, {Leaves.BLANK, Leaves.NOISE}),
        (b"\xa5" * BLOCK_BYTES, set()),
        (NOISE, {Leaves.NOISE}),
        (TEXT, set()),
        (COUNTING, set()),
        (bytes(BLOCK_BYTES - 1) + b"\x01", set()),
        (b"\xff" * (BLOCK_BYTES - 1) + b"\x00", set()),
    ],
)
def test_what_a_block_may_look_like(block, allowed):
    assert {each for each in Leaves if is_allowed(block, each)} == allowed


def test_random_blocks_are_noise():
    generator = random.Random(7)
    assert all(is_noise(generator.randbytes(BLOCK_BYTES)) for _ in range(2000))


@pytest.mark.parametrize("width", [2, 4, 8])
def test_a_table_of_numbers_is_no_noise_although_some_of_its_bytes_are_random(width):
    generator = random.Random(width)
    numbers = (generator.randrange(1 << (8 * width - 8)) for _ in range(BLOCK_BYTES // width))
    assert not is_noise(b"".join(number.to_bytes(width, "little") for number in numbers))


def test_a_block_that_is_noise_in_part_is_no_noise():
    assert not is_noise(NOISE[: BLOCK_BYTES * 3 // 4] + bytes(BLOCK_BYTES // 4))


def test_canaries_differ_by_key_disk_turn_and_number_and_are_never_stored():
    made = {
        canary(key, disk, turn, index)
        for key in (KEY, bytes(32))
        for disk in ("A", "B")
        for turn in (0, 1)
        for index in (0, 1)
    }
    assert len(made) == 16
    assert canary(KEY, "A", 0, 0) == canary(KEY, "A", 0, 0)
    assert all(is_noise(each) for each in made)


@given(st.integers(1, 10_000), st.integers(1, 100), st.integers(0, 3))
def test_canaries_lie_in_different_blocks_of_the_disk(blocks, count, turn):
    places = canary_blocks(KEY, "A", turn, count, blocks)
    assert len(set(places)) == len(places) == min(count, blocks)
    assert all(0 <= place < blocks for place in places)
    assert places == canary_blocks(KEY, "A", turn, count, blocks)


def test_a_mark_tells_nothing_without_the_key():
    assert mark_digest(TEXT, KEY) != mark_digest(TEXT, bytes(32))
    assert len(mark_digest(TEXT, KEY)) == 16
