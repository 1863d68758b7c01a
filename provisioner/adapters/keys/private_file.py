"""Files that nobody else may read."""

from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError


def read_private(path: Path) -> bytes:
    """Its content.

    Raises:
        OperatorError: FILE_UNREADABLE: not there, or others may read it.
    """
    try:
        if path.stat().st_mode & 0o077:
            text = f"{path}: others may read it; chmod 600 and take a new key if they did"
            raise OperatorError(ErrorCode.FILE_UNREADABLE, text)
        return path.read_bytes()
    except OSError as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error
