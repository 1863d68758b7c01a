"""One instance a database: a lock on a file beside it, held until the process ends."""

import fcntl
from pathlib import Path

from provisioner.errors import ConflictError, ErrorCode, OperatorError


class InstanceLock:
    """Held from construction on. The kernel gives it up with the process, however it ends.

    Raises:
        ConflictError: DATABASE_IN_USE: another process has it.
        OperatorError: DATABASE_FAILED: the file cannot be made.
    """

    def __init__(self, database: Path) -> None:
        path = database.with_name(database.name + ".lock")
        try:
            self._file = path.open("ab")
        except OSError as error:
            raise OperatorError(
                ErrorCode.DATABASE_FAILED, f"{path} cannot be opened: {error.strerror}"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise ConflictError(
                ErrorCode.DATABASE_IN_USE, f"another service uses the database {database}"
            ) from error

    def release(self) -> None:
        """Give it up; the file stays. Safe to repeat."""
        self._file.close()
