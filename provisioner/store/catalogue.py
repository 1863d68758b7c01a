"""Port `Catalogue`: pools and images."""

from typing import Any

import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode, InputError
from provisioner.ports.catalogue import ImageRecord
from provisioner.servers.model import Pool
from provisioner.servers.operation import Status
from provisioner.store.codec import fill, plain
from provisioner.store.rows import Row
from provisioner.store.tables.catalogue import IMAGE, POOL
from provisioner.store.tables.operations import OPERATION
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
        with self._transactions.read() as connection:
            return _images(connection, where)

    def remove_image(self, name: ImageName) -> ImageRecord:
        """Out of use; the row stays, so that the name is never given to other bytes.

        Raises:
            InputError: IMAGE_UNKNOWN.
            ConflictError: IN_USE: a pool's map or an open operation names it.
        """
        with self._transactions.write() as connection:
            found = _images(connection, IMAGE.c.name == name)
            if not found:
                raise InputError(ErrorCode.IMAGE_UNKNOWN, f"there is no image {name!r}")
            if user := _user_of(connection, name):
                raise ConflictError(ErrorCode.IN_USE, f"image {name} is used by {user}")
            here = sa.update(IMAGE).where(IMAGE.c.name == name)
            connection.execute(here.values(folder=NOWHERE))
        return found[0]

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


NOWHERE = ""
"""The folder of an image that was removed."""


def _images(connection: sa.Connection, where: sa.ColumnElement[bool]) -> tuple[ImageRecord, ...]:
    query = sa.select(IMAGE).where(where, IMAGE.c.folder != NOWHERE).order_by(IMAGE.c.name)
    return tuple(fill(ImageRecord, {**row}) for row in connection.execute(query).mappings())


def _user_of(connection: sa.Connection, name: ImageName) -> str:
    """Who needs this image now; "" is nobody."""
    for row in connection.execute(sa.select(POOL.c.name, POOL.c.images).order_by(POOL.c.name)):
        if name in row.images.values():
            return f"pool {row.name}"
    running = sa.select(OPERATION.c.id, OPERATION.c.parameters)
    for row in connection.execute(running.where(OPERATION.c.status == Status.OPEN.value)):
        if row.parameters.get("image") == name:
            return f"operation {row.id}"
    return ""


def _pool(row: Row) -> Pool:
    return fill(Pool, {**row, "requirements": {**row}})
