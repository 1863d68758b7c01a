"""The two kinds of transaction that every part of the store uses."""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from provisioner.store.engine import READING, translated
from provisioner.store.generation import Generation
from provisioner.store.tables.sites import SITE_STATE

_GENERATION = sa.select(SITE_STATE.c.generation)


class Transactions:
    """Reading and writing, with the marker of invariant 16 behind each commit."""

    def __init__(self, engine: sa.Engine, generation: Generation) -> None:
        self._writer = engine
        self._reader = engine.execution_options(**{READING: True})
        self._generation = generation

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """One consistent view; no write lock is taken."""
        with translated(), self._reader.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, hands_out: bool = False) -> Iterator[sa.Connection]:
        """All or nothing, one writer at a time; no hardware or network is touched inside.

        Args:
            hands_out: It may give a server to somebody: refused while the marker cannot follow.

        Raises:
            TransientError: DATABASE_BUSY, DATABASE_FULL.
            OperatorError: SERVICE_HELD: it would have changed who has a server.
                DATABASE_FAILED: it hands out, and the marker cannot be written.
        """
        with translated(), self._writer.begin() as connection:
            yield connection
            generation = connection.scalar(_GENERATION) or 0
            self._generation.before_commit(generation, hands_out=hands_out)
        self._generation.after_commit(generation)
