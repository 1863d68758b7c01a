"""The two orders that put a tenant's system on a disk, and their results, as they travel."""

from dataclasses import dataclass

from provisioner.wipe.orders import DiskReference, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageOrder(Message):
    """Write an image.

    Attributes:
        url: The raw image, over plain HTTP with ranges; trusted as far as the digests go.
        blocks_url: Its list of blocks, trusted if its root is the one here.
        root: SHA-256 in hex; came over TLS with the order.
    """

    disk: DiskReference
    url: str
    image_bytes: int
    block_bytes: int
    blocks_url: str
    root: str
    logical_sector_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageWritten(Message):
    """What was done.

    Attributes:
        written_bytes: Of blocks with data, each read back.
        zeroed_bytes: Holes of the image, and both ends of the rest of the disk.
        blocks: With data.
    """

    image_bytes: int
    written_bytes: int
    zeroed_bytes: int
    blocks: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedOrder(Message):
    """Write a seed: `bytes` of a file system, over TLS with the boot's token."""

    disk: DiskReference
    url: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedWritten(Message):
    """Where it is."""

    partition: str
    start_bytes: int
    bytes: int
