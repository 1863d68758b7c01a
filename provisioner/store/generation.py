"""Invariant 16, an old memory: the database's generation and the marker that follows it.

The generation is raised by triggers (triggers/generation.py) in each transaction that hands out
or frees a server, or begins or ends an operation on one. The marker is a small file outside the
database, written after the commit. A database that is older than its marker, or another one,
was restored or copied: held.
"""

import json
import logging
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import ConflictError, ErrorCode, OperatorError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The service may look and answer, but hands out and frees nothing.

    Attributes:
        reason: One line for the operator.
    """

    reason: str


class Generation:
    """The marker of one database; every writing transaction passes here before its commit.

    Args:
        marker: The file; its folder exists and is not the database's own backup.
        database_id: Of the database as it was opened.
        generation: Of the database as it was opened.
    """

    def __init__(self, marker: Path, *, database_id: str, generation: int) -> None:
        self._marker = marker
        self._database_id = database_id
        self._generation = generation
        self._behind = False
        self._lock = threading.Lock()
        self.held: Held | None = self._compare()
        if self.held is None:
            self._follow()  # it may have been left behind by a crash after a commit

    def _compare(self) -> Held | None:
        try:
            body = json.loads(self._marker.read_text())
            database_id, generation = str(body["database"]), int(body["generation"])
        except FileNotFoundError:
            return Held(reason=f"the marker {self._marker} is missing")
        except (OSError, ValueError, KeyError, TypeError):
            return Held(reason=f"the marker {self._marker} cannot be read")
        if database_id != self._database_id:
            return Held(reason="the marker belongs to another database")
        if generation > self._generation:
            return Held(
                reason=f"the database is at generation {self._generation},"
                f" its marker at {generation}: an older copy was restored"
            )
        return None

    def first_marker(self) -> None:
        """Write the marker of a new database, once; the service is then no longer held.

        Raises:
            ConflictError: ALREADY_INITIALISED: there is one, or this database has handed out
                servers before.
        """
        if self._generation > 0 or self._marker.exists():
            raise ConflictError(
                ErrorCode.ALREADY_INITIALISED, f"{self._marker} or its database is not new"
            )
        self._write(self._generation)
        self.held = self._compare()

    def before_commit(self, generation: int, *, hands_out: bool) -> None:
        """Let a transaction pass that ends with this generation.

        A marker that stays behind keeps no server from being freed or quarantined.

        Raises:
            OperatorError: SERVICE_HELD: it would change who has a server. DATABASE_FAILED:
                the marker could not be written last time, and still cannot.
        """
        if generation == self._generation:
            return
        if self.held is not None:
            raise OperatorError(ErrorCode.SERVICE_HELD, f"held: {self.held.reason}")
        if self._behind and hands_out:
            with self._lock:
                try:
                    self._write(self._generation)
                except OSError as error:
                    raise OperatorError(
                        ErrorCode.DATABASE_FAILED,
                        f"the marker {self._marker} cannot be written: {error.strerror}",
                    ) from error

    def after_commit(self, generation: int) -> None:
        """Let the marker follow; a failure is logged, and stops the next hand-out."""
        with self._lock:
            if generation <= self._generation:
                return
            self._generation = generation
            self._follow()

    def _follow(self) -> None:
        try:
            self._write(self._generation)
        except OSError as error:
            self._behind = True
            log.error("the marker %s cannot be written: %s", self._marker, error.strerror)  # noqa: TRY400 no traceback for an operator

    def _write(self, generation: int) -> None:
        """Whole or not at all, and on disk when this returns."""
        body = {"version": 1, "database": self._database_id, "generation": generation}
        new = self._marker.with_name(self._marker.name + ".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, json.dumps(body).encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        new.replace(self._marker)
        folder = os.open(self._marker.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._behind = False
