"""The order `mark`: what each disk can do, and where the old owner's data lies. Reads only."""

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

from provisioner.agent.medium import Medium
from provisioner.agent.order import Link, OrderFailedError
from provisioner.agent.survey import read_capabilities, read_device_log
from provisioner.agent.targets import Target, find_targets
from provisioner.agent.tool import RunTool, run_tool
from provisioner.wipe.blocks import is_allowed, mark_digest
from provisioner.wipe.device_log import DeviceLog
from provisioner.wipe.method import Leaves
from provisioner.wipe.orders import Mark, MarkOrder, SurveyedDisk, Surveys
from provisioner.wipe.samples import (
    BLOCK_BYTES,
    block_count,
    edges,
    sample_blocks,
)

SEARCH_S = 30.0
PROBES = 4096
EDGE_PROBES = 256
NEIGHBOURS = 8
"""Data lies together: around each hit so many blocks are looked at on both sides."""


def mark(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Survey all disks of the order side by side; the result is `Surveys`.

    Raises:
        OrderFailedError: A disk is not there, or the order is malformed.
    """
    try:
        order = MarkOrder.from_json(parameters)
        key = bytes.fromhex(order.key)
    except ValueError as error:
        raise OrderFailedError("ORDER_MALFORMED", f"order mark: {error}") from None
    targets = find_targets(order.disks)
    link.journal(f"marking blocks on {len(targets)} disks")
    return survey_targets(targets, key, order.marks, run_tool).to_json()


def survey_targets(targets: Sequence[Target], key: bytes, most: int, run: RunTool) -> Surveys:
    """All disks at once, each in a thread."""
    with ThreadPoolExecutor(max(1, len(targets))) as pool:
        found = pool.map(lambda target: survey_target(target, key, most, run), targets)
        return Surveys(disks=tuple(found))


def survey_target(target: Target, key: bytes, most: int, run: RunTool) -> SurveyedDisk:
    """One disk: capabilities, log, and up to `most` marks; a read error ends the search."""
    marks: dict[int, str] = {}
    looked_at, error = 0, ""
    try:
        with Medium.open(target.path) as medium:
            until = time.monotonic() + SEARCH_S
            for block in _places(medium, marks):
                if len(marks) >= most or time.monotonic() > until:
                    break
                content = medium.read(block * BLOCK_BYTES, BLOCK_BYTES)
                looked_at += 1
                if not is_allowed(content, Leaves.BLANK):
                    marks[block] = mark_digest(content, key)
    except OSError as failure:
        error = str(failure)
    return SurveyedDisk(
        disk=target.reference,
        path=target.path,
        capabilities=read_capabilities(target.path, run),
        log=DeviceLog() if error else read_device_log(target.path, run),
        marks=tuple(Mark(offset=block * BLOCK_BYTES, digest=marks[block]) for block in marks),
        looked_at=looked_at,
        error=error,
    )


def _places(medium: Medium, found: Mapping[int, str]) -> Iterator[int]:
    """Where to look, each block once: the whole disk, its two ends, then around what was found.

    Random order, so that marks lie all over the disk also when the search ends early.
    """
    generator = random.SystemRandom()
    blocks = block_count(medium.bytes)
    seen: set[int] = set()
    wide = sample_blocks(PROBES, blocks, generator)
    generator.shuffle(wide)
    ends = [
        start // BLOCK_BYTES + block
        for start, end in edges(medium.bytes)
        for block in sample_blocks(EDGE_PROBES, (end - start) // BLOCK_BYTES, generator)
    ]
    for block in chain(wide, ends, _around(found, blocks)):
        if block not in seen:
            seen.add(block)
            yield block


def _around(found: Mapping[int, str], blocks: int) -> Iterator[int]:
    """Neighbours of the hits, of the hits among them too; begun when all else was looked at."""
    asked: set[int] = set()
    while hits := [block for block in found if block not in asked]:
        for hit in hits:
            asked.add(hit)
            yield from range(max(0, hit - NEIGHBOURS), min(blocks, hit + NEIGHBOURS + 1))
