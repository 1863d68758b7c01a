"""Files that a person names, opened here and nowhere else.

They may come from other hands (an export of evidence, a folder of manifests): a pipe or a
device among them is refused, never waited for.
"""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from provisioner.errors import ErrorCode, InputError


def open_named(path: Path) -> BinaryIO:
    """A regular file, for reading.

    Raises:
        InputError: FILE_UNREADABLE: not there, not ours to read, or no regular file.
    """
    try:
        # a pipe without a writer would hold the very opening of it
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    except OSError as error:
        raise _unreadable(path, error) from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: no regular file")
    return file


def read_named(path: Path) -> bytes:
    """All of a regular file.

    Raises:
        InputError: FILE_UNREADABLE, as `open_named`.
    """
    with open_named(path) as file:
        try:
            return file.read()
        except OSError as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror or error}")
