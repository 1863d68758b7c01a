"""Opening the SQLite file so that its transactions are real ones, and what its errors mean."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection

from provisioner.errors import ErrorCode, OperatorError, RackwrightError, TransientError
from provisioner.units import Seconds

READING = "reading"
"""Execution option: this transaction only reads, and takes no write lock."""


def url_of(path: Path) -> str:
    """The file as SQLAlchemy and the durable engine name it."""
    return sa.URL.create("sqlite", database=str(path)).render_as_string(hide_password=False)


def open_engine(path: Path, *, busy_timeout: Seconds) -> sa.Engine:
    """An engine on this file; made where it is missing, readable by our own user only.

    Quirk: the sqlite3 module begins a transaction only before a write, so a read followed by
    a write is not one unit. Its own handling is switched off; each transaction begins with
    BEGIN IMMEDIATE, or with BEGIN under the option READING.

    Args:
        path: Its folder exists.
        busy_timeout: How long a transaction waits for another writer.

    Raises:
        OperatorError: DATABASE_FAILED: the file cannot be made.
    """
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise OperatorError(
            ErrorCode.DATABASE_FAILED, f"the database {path} cannot be opened: {error.strerror}"
        ) from error
    # parameters stay out of error texts: some of them are sealed secrets
    engine = sa.create_engine(url_of(path), hide_parameters=True, pool_timeout=busy_timeout)
    pragmas = (
        f"busy_timeout={int(busy_timeout * 1000)}",
        "journal_mode=WAL",
        "synchronous=FULL",  # a hardware act must not outlive its record
        "foreign_keys=ON",
    )

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: DBAPIConnection, _record: object) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get(READING, False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


@contextmanager
def translated() -> Iterator[None]:
    """What the database itself refuses, as errors of ours; a broken constraint stays as it is.

    Raises:
        TransientError: DATABASE_BUSY, DATABASE_FULL: nothing was changed, call again.
        OperatorError: DATABASE_FAILED: damaged, read-only, or not ours to read.
    """
    try:
        yield
    except sa.exc.TimeoutError as error:
        raise _busy() from error
    except sa.exc.DatabaseError as error:
        meaning = _meaning(error.orig)
        if meaning is None:
            raise
        raise meaning from error


def _busy() -> TransientError:
    return TransientError(ErrorCode.DATABASE_BUSY, "the database is busy; call again")


_FAILED = ("IOERR", "CORRUPT", "NOTADB", "READONLY", "CANTOPEN", "PERM", "AUTH")


def _meaning(error: BaseException | None) -> RackwrightError | None:
    if not isinstance(error, sqlite3.Error):
        return None
    name = getattr(error, "sqlite_errorname", "").removeprefix("SQLITE_")
    if name.startswith(("BUSY", "LOCKED")):
        return _busy()
    if name.startswith("FULL"):
        return TransientError(
            ErrorCode.DATABASE_FULL, "the database has no room left; free disk space, call again"
        )
    if name.startswith(_FAILED):
        return OperatorError(
            ErrorCode.DATABASE_FAILED, "the database cannot be used", detail=f"{name}: {error}"
        )
    return None
