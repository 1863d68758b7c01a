"""Moves an image's blocks: fetched in order by one thread, hashed and written by others.

SHA-256 and disk transfers both let other threads run, so network, processor and disk work at
the same time; a handful of buffers keeps memory small.
"""

import hashlib
import os
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from provisioner.agent.blob_reader import BlobReader
from provisioner.agent.image_disk import ImageDisk, aligned_buffer
from provisioner.agent.order import OrderFailedError
from provisioner.hardware.blocks import BlockList

WORKERS = max(2, min(4, os.cpu_count() or 1))
_BUFFERS = WORKERS + 2
_AHEAD_BYTES = 256 << 20
"""The longest range of one request, within a block."""

Done = Callable[[int], None]
"""Takes bytes that are done, in the caller's thread."""


class BlockCopy:
    """The blocks with data of one image, on their way to one disk and back.

    Args:
        blocks: Which, and their digests.
        disk: Open for writing.
        path: Its name in errors.
    """

    def __init__(self, blocks: BlockList, disk: ImageDisk, path: str) -> None:
        self._blocks, self._disk, self._path = blocks, disk, path
        self._free: queue.SimpleQueue[memoryview] = queue.SimpleQueue()
        for _ in range(_BUFFERS):
            self._free.put(aligned_buffer(blocks.block_bytes))

    def write(self, source: BlobReader, done: Done) -> None:
        """Fetch, compare, write. A block that came wrong is fetched once more.

        Raises:
            OrderFailedError: BLOBS_UNREACHABLE, IMAGE_DIGEST.
            OSError: The disk's.
        """
        wrong: Iterable[int] = self._blocks.digests
        for _ in range(2):
            wrong = self._in_threads(self._fetched(source, sorted(wrong)), self._put, done)
            source.close()
            if not wrong:
                return
        text = f"block {min(wrong)} came twice with a digest that is not the image's"
        raise OrderFailedError("IMAGE_DIGEST", text)

    def read_back(self, done: Done) -> None:
        """Compare every block with what the disk gives now.

        Raises:
            OrderFailedError: IMAGE_READ_BACK, with the first wrong block.
            OSError: The disk's.
        """
        empty = ((number, self._free.get()) for number in self._blocks.digests)
        wrong = self._in_threads(empty, self._read, done)
        if wrong:
            text = f"{self._path}: block {min(wrong)} does not read as it was written"
            raise OrderFailedError("IMAGE_READ_BACK", text)

    def _put(self, number: int, part: memoryview) -> bool:
        right = self._is_right(number, part)
        if right:
            self._disk.put(part, number * self._blocks.block_bytes)
        return right

    def _read(self, number: int, part: memoryview) -> bool:
        self._disk.fill(part, number * self._blocks.block_bytes)
        return self._is_right(number, part)

    def _is_right(self, number: int, part: memoryview) -> bool:
        return hashlib.sha256(part).hexdigest() == self._blocks.digests[number]

    def _fetched(
        self, source: BlobReader, numbers: Sequence[int]
    ) -> Iterator[tuple[int, memoryview]]:
        """Blocks in their order, each in a buffer."""
        ahead = dict(self._ahead(numbers))
        for number in numbers:
            view = self._free.get()
            part = view[: self._blocks.length(number)]
            source.fill(part, number * self._blocks.block_bytes, ahead=ahead[number])
            yield number, view

    def _ahead(self, numbers: Sequence[int]) -> Iterator[tuple[int, int]]:
        """How many bytes from each block on belong to one request."""
        following, ahead = -1, 0
        for number in reversed(numbers):
            joins = following == number + 1 and ahead < _AHEAD_BYTES
            ahead = self._blocks.length(number) + (ahead if joins else 0)
            following = number
            yield number, ahead

    def _in_threads(
        self,
        items: Iterable[tuple[int, memoryview]],
        act: Callable[[int, memoryview], bool],
        done: Done,
    ) -> set[int]:
        """Act on each block; answers the numbers whose digest was wrong."""
        wrong: set[int] = set()
        pending: set[Future[tuple[int, bool]]] = set()

        def work(number: int, view: memoryview) -> tuple[int, bool]:
            try:
                return number, act(number, view[: self._blocks.length(number)])
            finally:
                self._free.put(view)

        def collect(ended: set[Future[tuple[int, bool]]]) -> None:
            for number, right in (each.result() for each in ended):
                if right:
                    done(self._blocks.length(number))
                else:
                    wrong.add(number)

        with ThreadPoolExecutor(WORKERS) as pool:
            for number, view in items:
                pending.add(pool.submit(work, number, view))
                ended = {each for each in pending if each.done()}
                pending -= ended
                collect(ended)
            while pending:
                ended, pending = wait(pending, return_when=FIRST_COMPLETED)
                collect(ended)
        return wrong
