"""Files of the entry over HTTPS: those that it gets, and the listener's own certificate."""

import os
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from provisioner.adapters.keys.authority import Authority
from provisioner.adapters.keys.initialise import place_all, write_synced
from provisioner.adapters.keys.private_file import read_private
from provisioner.errors import ConflictError, ErrorCode, OperatorError

ENTRY_CONF = "entry.conf"
CA = "ca.pem"
CERTIFICATE = "entry.pem"
KEY = "entry.key"
_PUBLIC = frozenset({CA, CERTIFICATE})


def load_authority(certificate: Path, key: Path) -> Authority:
    """The site's.

    Raises:
        OperatorError: FILE_UNREADABLE: not there, readable by others, or no such pair.
    """
    try:
        return Authority.load(certificate.read_bytes(), read_private(key))
    except OSError as error:
        text = f"{certificate}: {error.strerror}"
        raise OperatorError(ErrorCode.FILE_UNREADABLE, text) from error


def place_entry_files(folder: Path, content: Mapping[str, bytes]) -> tuple[Path, ...]:
    """All of them or none; nothing is overwritten.

    Args:
        folder: Made where it is not there, for its owner alone.
        content: By the names of this module.

    Raises:
        ConflictError: ALREADY_INITIALISED: one of them is there.
        OperatorError: FILE_UNREADABLE: the folder cannot be written.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return place_all(folder, content, public=_PUBLIC)
    except FileExistsError as error:
        text = f"{error.filename2 or error.filename} is there; take another folder"
        raise ConflictError(ErrorCode.ALREADY_INITIALISED, text) from error
    except OSError as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{folder}: {error.strerror}") from error


def renew_listener(path: Path, authority: Authority, hosts: Sequence[str]) -> bool:
    """Make the listener's certificate, with its key, where it does not name exactly these hosts.

    Returns:
        Whether it was made; a service that runs has still the old one.

    Raises:
        OperatorError: FILE_UNREADABLE.
    """
    if path.exists() and authority.has_issued_server(read_private(path), hosts):
        return False
    made = authority.issue_server(hosts)
    aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        write_synced(aside, made.key + made.certificate, 0o600)
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error
    return True


def append_line(path: Path, line: str) -> None:
    """To a file of lines that is ours alone; made where it is not there.

    Raises:
        OperatorError: FILE_UNREADABLE.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(path, flags, 0o600), "rb+", buffering=0) as file:
            end = file.seek(0, os.SEEK_END)
            # somebody may have edited it and left the last line open
            whole = not end or os.pread(file.fileno(), 1, end - 1) == b"\n"
            file.write(("" if whole else "\n").encode() + line.encode())
            os.fsync(file.fileno())
    except OSError as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error
