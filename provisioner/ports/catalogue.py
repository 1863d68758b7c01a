"""Pools and images."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from provisioner.servers.model import Pool
from provisioner.units import ImageName, PoolName, WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """An imported image.

    Attributes:
        root: SHA-256 over the list of block digests: what "the same image" means.
        data_bytes: What is streamed: the blocks with data.
        logical_sector_bytes: What its partition table was made for: 512 or 4096.
        folder: Holds image.raw and blocks.json; nginx serves it.
    """

    name: ImageName
    root: str
    image_bytes: int
    data_bytes: int
    block_bytes: int
    logical_sector_bytes: int
    source_format: str
    imported_at: WallSeconds
    folder: Path


class Catalogue(Protocol):
    """Pools and images."""

    def pool(self, name: PoolName) -> Pool | None:
        """None where there is none."""
        ...

    def pools(self) -> tuple[Pool, ...]:
        """All, by name."""
        ...

    def put_pool(self, pool: Pool) -> None:
        """Make or replace."""
        ...

    def image(self, name: ImageName) -> ImageRecord | None:
        """None where there is none."""
        ...

    def images(self) -> tuple[ImageRecord, ...]:
        """All, by name."""
        ...

    def put_image(self, image: ImageRecord) -> None:
        """Remember an imported image; a name is never given to other bytes."""
        ...

    def remove_image(self, name: ImageName) -> ImageRecord:
        """Out of use, with its name kept for its bytes; the record as it was.

        Raises:
            InputError: IMAGE_UNKNOWN.
            ConflictError: IN_USE: a pool's map or an open operation names it.
        """
        ...
