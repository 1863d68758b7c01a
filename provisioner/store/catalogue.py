"""Port `Catalogue`: pools and images."""

from typing import Any

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode
from provisioner.ports.catalogue import ImageRecord
from provisioner.servers.model import Pool
from provisioner.store.codec import fill, plain
from provisioner.store.rows import Row
from provisioner.store.tables import IMAGE, POOL
from provisioner.store.transactions import Transactions
from provisioner.units import ImageName, PoolName


class SqlCatalogue:
    """Implements ports.Catalogue."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def pool(self, name: PoolName) -> Pool | None:
        """None where there is none."""
        found = self._pools(POOL.c.name == name)
        return found[0] if found else None

    def pools(self) -> tuple[Pool, ...]:
        """All, by name."""
        return self._pools(sa.true())

    def _pools(self, where: sa.ColumnElement[bool]) -> tuple[Pool, ...]:
        query = sa.select(POOL).where(where).order_by(POOL.c.name)
        with self._transactions.read() as connection:
            return tuple(_pool(row) for row in connection.execute(query).mappings())

    def put_pool(self, pool: Pool) -> None:
        """Make or replace."""
        columns: dict[str, Any] = plain(pool)
        columns |= columns.pop("requirements")
        with self._transactions.write() as connection:
            connection.execute(sa.delete(POOL).where(POOL.c.name == pool.name))
            connection.execute(sa.insert(POOL).values(**columns))

    def image(self, name: ImageName) -> ImageRecord | None:
        """None where there is none."""
        found = self._images(IMAGE.c.name == name)
        return found[0] if found else None

    def images(self) -> tuple[ImageRecord, ...]:
        """All, by name."""
        return self._images(sa.true())

    def _images(self, where: sa.ColumnElement[bool]) -> tuple[ImageRecord, ...]:
        query = sa.select(IMAGE).where(where).order_by(IMAGE.c.name)
        with self._transactions.read() as connection:
            found = connection.execute(query).mappings()
            return tuple(fill(ImageRecord, {**row}) for row in found)

    def put_image(self, image: ImageRecord) -> None:
        """Remember an imported image; the same bytes again may say where they lie now.

        Raises:
            ConflictError: IMAGE_EXISTS: the name stands for other bytes.
        """
        with self._transactions.write() as connection:
            known = connection.scalar(sa.select(IMAGE.c.root).where(IMAGE.c.name == image.name))
            if known is None:
                connection.execute(sa.insert(IMAGE).values(**plain(image)))
            elif known != image.root:
                raise ConflictError(
                    ErrorCode.IMAGE_EXISTS, f"image {image.name} stands for other bytes"
                )
            else:
                here = sa.update(IMAGE).where(IMAGE.c.name == image.name)
                connection.execute(here.values(folder=str(image.folder)))


def _pool(row: Row) -> Pool:
    return fill(Pool, {**row, "requirements": {**row}})
