"""The order write_seed: a partition `cidata` at the disk's end, and the tenant's seed in it.

Changes nothing but partition table headers and entries, the protective entry of sector 0, and
its own partition.
"""

import hashlib
import uuid
from collections.abc import Mapping
from typing import Any

from provisioner.agent.image_disk import ImageDisk, opened
from provisioner.agent.image_orders import SeedOrder, SeedWritten
from provisioner.agent.order import Link, OrderFailedError
from provisioner.agent.targets import find_targets
from provisioner.hardware.gpt import BASIC_DATA, Partition, Table, TableError, read_table

PARTITION_NAME = "cidata"
_HEAD_BYTES = 256 << 10


def write_seed(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Fetch the seed and put it on the disk; the result is `SeedWritten`.

    Raises:
        OrderFailedError: DISK_NOT_FOUND, DISK_AMBIGUOUS, DISK_FABRIC, BLOBS_UNREACHABLE,
            IMAGE_DIGEST (of the seed), IMAGE_FORMAT (no GUID partition table), DISK_TOO_SMALL,
            DISK_FAILED, IMAGE_READ_BACK, ORDER_MALFORMED.
    """
    try:
        order = SeedOrder.from_json(parameters)
    except ValueError as error:
        raise OrderFailedError("ORDER_MALFORMED", f"order write_seed: {error}") from None
    (target,) = find_targets([order.disk])
    seed = link.fetch(order.url, length=order.bytes)
    if len(seed) != order.bytes or hashlib.sha256(seed).hexdigest() != order.sha256:
        raise OrderFailedError("IMAGE_DIGEST", "the seed is not the one that was announced")
    written = place_seed(target.path, seed)
    link.progress(len(seed), len(seed), disk=target.path, note="seed")
    link.journal(f"seed in {written.partition}")
    return written.to_json()


def place_seed(path: str, seed: bytes) -> SeedWritten:
    """Add the partition and write the seed; doing it again replaces both.

    Raises:
        OrderFailedError: IMAGE_FORMAT, DISK_TOO_SMALL, DISK_FAILED, IMAGE_READ_BACK.
    """
    with opened(path) as disk:
        table = _read_table(disk, path)
        try:
            grown = table.grown(disk.bytes)
            number, first, last = grown.slot_at_end(PARTITION_NAME, len(seed))
        except TableError as error:
            raise OrderFailedError("DISK_TOO_SMALL", f"{path}: {error}") from error
        mine = Partition(
            number=number,
            kind=BASIC_DATA,
            guid=uuid.uuid4(),
            first=first,
            last=last,
            name=PARTITION_NAME,
        )
        start = first * table.sector_bytes
        content = seed.ljust((last - first + 1) * table.sector_bytes, b"\0")
        _write_and_read_back(disk, path, grown.added(mine), (start, content))
        disk.reread_partitions()
    joint = "p" if path[-1].isdigit() else ""
    return SeedWritten(partition=f"{path}{joint}{number}", start_bytes=start, bytes=len(seed))


def _write_and_read_back(
    disk: ImageDisk, path: str, table: Table, content: tuple[int, bytes]
) -> None:
    # the primary table last: until it stands, the disk starts as it did
    pieces = (content, *table.backup(), *table.primary())
    for offset, piece in pieces:
        disk.write(offset, piece)
        disk.settle()
    for offset, piece in pieces:
        if disk.read(offset, len(piece)) != piece:
            raise OrderFailedError("IMAGE_READ_BACK", f"{path}: byte {offset} was not kept")


def _read_table(disk: ImageDisk, path: str) -> Table:
    try:
        head = disk.read(0, min(_HEAD_BYTES, disk.bytes))
        return read_table(head, sector_bytes=disk.sector_bytes)
    except TableError as error:
        raise OrderFailedError("IMAGE_FORMAT", f"{path}: {error}") from error
