"""The order write_image: blocks with data from the blob store, zeros elsewhere, then read back.

After it every byte of the image's range reads as in the image, and both ends of the rest hold
no old partition table or signature. Each block is compared with its digest before it is written
and again as the disk gives it back; zeroed ranges are sampled, in every block of theirs.
"""

import contextlib
import random
import time
from collections.abc import Mapping
from typing import Any

from provisioner.agent.blob_reader import BlobReader
from provisioner.agent.block_copy import BlockCopy
from provisioner.agent.image_disk import ImageDisk, opened
from provisioner.agent.image_orders import ImageOrder, ImageWritten
from provisioner.agent.order import Link, OrderFailedError
from provisioner.agent.targets import find_targets
from provisioner.hardware.blocks import BlockList

EDGE_BYTES = 16 << 20
"""Cleared at both ends of the rest: no table, array or file system signature lies deeper."""


def write_image(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Put the image on its disk; the result is `ImageWritten`.

    Raises:
        OrderFailedError: DISK_NOT_FOUND, DISK_AMBIGUOUS, DISK_FABRIC, DISK_TOO_SMALL,
            DISK_SECTOR_SIZE, DISK_FAILED, BLOBS_UNREACHABLE, IMAGE_DIGEST, IMAGE_READ_BACK,
            ORDER_MALFORMED.
    """
    try:
        order = ImageOrder.from_json(parameters)
    except ValueError as error:
        raise OrderFailedError("ORDER_MALFORMED", f"order write_image: {error}") from None
    (target,) = find_targets([order.disk])
    return write_to(target.path, order, link).to_json()


def write_to(path: str, order: ImageOrder, link: Link) -> ImageWritten:
    """Write an order's image to this device.

    Raises:
        OrderFailedError: As write_image, but for finding the disk.
    """
    began = time.monotonic()
    blocks = _fetch_blocks(order, link)
    with opened(path) as disk:
        _check_fit(disk, path, order)
        empty = [*blocks.holes(), *_edges(disk.bytes, order.image_bytes)]
        zeroed = sum(length for _, length in empty)
        progress = _Progress(link, path, zeroed + 2 * blocks.data_bytes)
        progress.note = "zeros"
        for offset, length in empty:
            done = 0
            for so_far in disk.zero(offset, length):
                progress.add(so_far - done)
                done = so_far
        progress.note = "write"
        copy = BlockCopy(blocks, disk, path)
        source = BlobReader(order.url, waiting=lambda: progress.add(0))
        with contextlib.closing(source):
            copy.write(source, progress.add)
        disk.settle()
        progress.note = "read back"
        copy.read_back(progress.add)
        check_zeros(disk, path, empty, order.block_bytes)
        disk.reread_partitions()
    return ImageWritten(
        image_bytes=order.image_bytes,
        written_bytes=blocks.data_bytes,
        zeroed_bytes=zeroed,
        blocks=len(blocks.digests),
        seconds=round(time.monotonic() - began, 3),
    )


class _Progress:
    """Bytes done so far, as the link reports them. Called from one thread."""

    def __init__(self, link: Link, path: str, total: int) -> None:
        self._link, self._path, self._total, self._done = link, path, total, 0
        self.note = ""

    def add(self, count: int) -> None:
        self._done += count
        self._link.progress(self._done, self._total, disk=self._path, note=self.note)


def _fetch_blocks(order: ImageOrder, link: Link) -> BlockList:
    text = link.fetch(order.blocks_url)
    try:
        blocks = BlockList.from_text(text)
    except ValueError as error:
        raise OrderFailedError("IMAGE_DIGEST", f"{order.blocks_url}: {error}") from error
    wanted = (order.root, order.image_bytes, order.block_bytes)
    if (blocks.root, blocks.image_bytes, blocks.block_bytes) != wanted:
        text_of = f"{order.blocks_url}: root {blocks.root}, the order says {order.root}"
        raise OrderFailedError("IMAGE_DIGEST", text_of)
    return blocks


def _check_fit(disk: ImageDisk, path: str, order: ImageOrder) -> None:
    if disk.sector_bytes != order.logical_sector_bytes:
        text = f"{path} has sectors of {disk.sector_bytes} bytes, the image is made for"
        raise OrderFailedError("DISK_SECTOR_SIZE", f"{text} {order.logical_sector_bytes}")
    if disk.bytes < order.image_bytes:
        text = f"{path} has {disk.bytes} bytes, the image {order.image_bytes}"
        raise OrderFailedError("DISK_TOO_SMALL", text)


def _edges(disk_bytes: int, image_bytes: int) -> list[tuple[int, int]]:
    """Both ends of what lies behind the image, as (offset, length)."""
    rest = disk_bytes - image_bytes
    if rest <= 2 * EDGE_BYTES:
        return [(image_bytes, rest)] if rest else []
    return [(image_bytes, EDGE_BYTES), (disk_bytes - EDGE_BYTES, EDGE_BYTES)]


def check_zeros(disk: ImageDisk, path: str, empty: list[tuple[int, int]], block_bytes: int) -> None:
    """Read a random piece of every block that was zeroed, and both ends of each range.

    A disk that ignores the command is found out by any of them; reading every zero would cost
    more than writing the image.

    Raises:
        OrderFailedError: IMAGE_READ_BACK, with the first byte that is no zero.
    """
    generator = random.Random()  # noqa: S311 a sample, no secret
    for offset, length in empty:
        places = {offset, offset + length - disk.sector_bytes}
        for at in range(offset, offset + length, block_bytes):
            sectors = min(block_bytes, offset + length - at) // disk.sector_bytes
            places.add(at + generator.randrange(sectors) * disk.sector_bytes)
        for place in sorted(places):
            if disk.read(place, disk.sector_bytes).strip(b"\0"):
                text = f"{path}: byte {place} was zeroed and does not read as zero"
                raise OrderFailedError("IMAGE_READ_BACK", text)
