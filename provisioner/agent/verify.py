"""The order `verify`: read back, past every cache, what must be gone and what may be there."""

import random
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from provisioner.agent.canaries import Canaries
from provisioner.agent.medium import PIECE_BYTES, Medium
from provisioner.agent.order import Link, OrderFailedError
from provisioner.agent.survey import read_device_log
from provisioner.agent.tally import Tally
from provisioner.agent.targets import Target, find_targets
from provisioner.agent.tool import RunTool, run_tool
from provisioner.wipe.blocks import ZEROS, is_allowed, mark_digest
from provisioner.wipe.orders import DiskToVerify, Mark, Verifications, VerifiedDisk, VerifyOrder
from provisioner.wipe.samples import (
    BLOCK_BYTES,
    block_count,
    edges,
    pieces,
    sample_blocks,
)

READERS = 4
"""Threads a disk: enough to keep a disk's own queue busy."""
MOST_ERRORS = 16
"""Each failed read may cost half a minute; a disk with so many is bad enough."""
NOTE_EVERY = 256


def verify(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Read back every disk of the order; the result is `Verifications`.

    Raises:
        OrderFailedError: A disk is not there any more, or the order is malformed.
    """
    try:
        order = VerifyOrder.from_json(parameters)
        bytes.fromhex(order.key)
    except ValueError as error:
        raise OrderFailedError("ORDER_MALFORMED", f"order verify: {error}") from None
    targets = find_targets([each.disk for each in order.disks])
    link.journal(f"reading back {len(targets)} disks")
    return verify_targets(order, targets, link, run_tool).to_json()


def verify_targets(
    order: VerifyOrder,
    targets: Sequence[Target],
    link: Link,
    run: RunTool,
    generator: random.Random | None = None,
) -> Verifications:
    """All disks at once.

    Args:
        order: What must hold.
        targets: Its disks, in its order.
        link: For progress.
        run: For the disks' own logs.
        generator: Chooses the samples; the system's random source where None.
    """
    chosen = generator or random.SystemRandom()
    tally = Tally(link, _bytes_to_read(order))
    readings = [
        DiskReading(target, disk, order, tally, chosen)
        for target, disk in zip(targets, order.disks, strict=True)
    ]
    with ThreadPoolExecutor(max(1, len(readings))) as pool:
        return Verifications(disks=tuple(pool.map(lambda each: each.verify(run), readings)))


def _bytes_to_read(order: VerifyOrder) -> int:
    return sum(
        min(order.samples, block_count(each.disk.bytes)) * BLOCK_BYTES
        + sum(end - start for start, end in edges(each.disk.bytes, order.edges_bytes))
        for each in order.disks
    )


@dataclass(slots=True, kw_only=True)
class Count:
    """What one reader saw."""

    read: int = 0
    zeros: int = 0
    unwiped: int = 0
    errors: int = 0
    first: int | None = None

    def add(self, other: "Count") -> None:
        """Take another reader's count in."""
        self.read += other.read
        self.zeros += other.zeros
        self.unwiped += other.unwiped
        self.errors += other.errors
        self.note(other.first)

    def note(self, offset: int | None) -> None:
        """Keep the first place that should not be there."""
        if offset is not None:
            self.first = offset if self.first is None else min(self.first, offset)


class DiskReading:
    """Reads back one disk."""

    def __init__(
        self,
        target: Target,
        disk: DiskToVerify,
        order: VerifyOrder,
        tally: Tally,
        generator: random.Random,
    ) -> None:
        """Nothing is read yet."""
        self._target = target
        self._disk = disk
        self._order = order
        self._tally = tally
        self._generator = generator
        self._key = bytes.fromhex(order.key)

    def verify(self, run: RunTool) -> VerifiedDisk:
        """Marks, canaries, samples, ends, and the disk's own log."""
        begun = time.monotonic()
        try:
            with Medium.open(self._target.path) as medium:
                medium.settle()
                return self._read(medium, run, begun)
        except OSError as failure:
            return self._result(begun, run, Count(), Count(), error=str(failure))

    def _read(self, medium: Medium, run: RunTool, begun: float) -> VerifiedDisk:
        if medium.bytes != self._target.reference.bytes:
            text = f"{medium.bytes} bytes now, {self._target.reference.bytes} expected"
            return self._result(begun, run, Count(), Count(), error=text)
        marks_left = sum(self._is_left(medium, mark) for mark in self._disk.marks)
        canaries_checked, canaries_left = self._find_canaries(medium)
        samples = self._read_samples(medium)
        ends = self._read_ends(medium)
        return self._result(
            begun,
            run,
            samples,
            ends,
            marks=(len(self._disk.marks), marks_left),
            canaries=(canaries_checked, canaries_left),
        )

    def _is_left(self, medium: Medium, mark: Mark) -> bool:
        content = medium.read(mark.offset, BLOCK_BYTES)
        return mark_digest(content, self._key) == mark.digest

    def _find_canaries(self, medium: Medium) -> tuple[int, int]:
        """(looked for, still there) over all turns."""
        label = self._target.reference.label()
        canaries = Canaries(key=self._key, disk=label, count=self._order.canaries)
        turns = range(self._disk.turns)
        checked = sum(len(canaries.places(medium, turn)) for turn in turns)
        return checked, sum(canaries.find(medium, turn) for turn in turns)

    def _read_samples(self, medium: Medium) -> Count:
        blocks = sample_blocks(self._order.samples, block_count(medium.bytes), self._generator)
        shares = [blocks[reader::READERS] for reader in range(READERS)]
        total = Count()
        with ThreadPoolExecutor(READERS) as pool:
            for count in pool.map(lambda share: self._read_blocks(medium, share), shares):
                total.add(count)
        return total

    def _read_blocks(self, medium: Medium, blocks: Sequence[int]) -> Count:
        count, read = Count(), medium.reader(BLOCK_BYTES)
        for number, block in enumerate(blocks, start=1):
            try:
                content = read(block * BLOCK_BYTES)
            except OSError:
                count.errors += 1
                if count.errors >= MOST_ERRORS:
                    break
                continue
            count.read += 1
            # nearly every block of a wiped disk ends here
            if content == ZEROS:
                count.zeros += 1
            elif not is_allowed(content, self._disk.leaves):
                count.unwiped += 1
                count.note(block * BLOCK_BYTES)
            if number % NOTE_EVERY == 0:
                # one reader speaks for all: they advance alike
                self._reach(number * READERS * BLOCK_BYTES)
        return count

    def _read_ends(self, medium: Medium) -> Count:
        count = Count()
        for start, end in edges(medium.bytes, self._order.edges_bytes):
            for offset, length in pieces(start, end, PIECE_BYTES):
                if count.errors >= MOST_ERRORS:
                    return count
                _look_at_end(medium, offset, length, count)
                self._reach(self._order.samples * BLOCK_BYTES + count.read)
        return count

    def _reach(self, done_bytes: int) -> None:
        self._tally.reach(self._target.path, done_bytes, "reading back")

    def _result(
        self,
        begun: float,
        run: RunTool,
        samples: Count,
        ends: Count,
        *,
        marks: tuple[int, int] = (0, 0),
        canaries: tuple[int, int] = (0, 0),
        error: str = "",
    ) -> VerifiedDisk:
        samples_first = Count()
        samples_first.note(samples.first)
        samples_first.note(ends.first)
        return VerifiedDisk(
            disk=self._target.reference,
            path=self._target.path,
            blocks=block_count(self._target.reference.bytes),
            samples=samples.read,
            unwiped=samples.unwiped,
            zeros=samples.zeros,
            edges_bytes=ends.read,
            edges_unwiped=ends.unwiped,
            marks_checked=marks[0],
            marks_left=marks[1],
            canaries_checked=canaries[0],
            canaries_left=canaries[1],
            read_errors=samples.errors + ends.errors,
            first_unwiped=samples_first.first,
            ms=round((time.monotonic() - begun) * 1000),
            log=read_device_log(self._target.path, run),
            error=error,
        )


def _look_at_end(medium: Medium, offset: int, length: int, count: Count) -> None:
    """Count bytes read, and blocks in which any byte is not zero."""
    try:
        content = medium.read(offset, length)
    except OSError:
        count.errors += 1
        return
    count.read += length
    if not content.strip(b"\0"):
        return
    for at in range(0, length, BLOCK_BYTES):
        if content[at : at + BLOCK_BYTES].strip(b"\0"):
            count.unwiped += 1
            count.note(offset + at)
