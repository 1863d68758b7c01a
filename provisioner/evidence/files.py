"""The exported form of a chain: one file a record, the head, and the key it says it used."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError
from provisioner.evidence.chain import Record, head_of
from provisioner.named_file import read_named

HEAD = "head.json"
UNTRUSTED_KEY = "untrusted-key.pem"
"""Comes out of the same hands as the records: good for comparing, never for verifying."""
_DIGITS = 8


def write_export(folder: Path, records: Sequence[Record], public_pem: bytes) -> list[Path]:
    """Write all records into a new or empty folder.

    Raises:
        ConflictError: IN_USE: the folder holds something.
        OperatorError: FILE_UNREADABLE: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ConflictError(ErrorCode.IN_USE, f"{folder} is not empty")
        written = [_write(folder / record_name(record), record) for record in records]
        written.append(_write(folder / HEAD, head_of(records)))
        (folder / UNTRUSTED_KEY).write_bytes(public_pem)
    except OSError as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{folder}: {error.strerror}") from error
    return [*written, folder / UNTRUSTED_KEY]


def record_name(record: Record) -> str:
    """Sorted by name is sorted by sequence."""
    return f"{record['sequence']:0{_DIGITS}}.json"


def read_records(folder: Path) -> tuple[Record | None, ...]:
    """All records of an export, in the order of their names; what they say is not judged here.

    Returns:
        None for a file that holds none: damaged, or put there.

    Raises:
        InputError: FILE_UNREADABLE: no folder, or a file that is not to be read.
    """
    try:
        names = sorted(each for each in folder.iterdir() if each.suffix == ".json")
    except OSError as error:
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{folder}: {error.strerror}") from error
    return tuple(read_record(each) for each in names if each.name != HEAD)


def read_record(path: Path) -> Record | None:
    """One object from a file; None where it holds none.

    That is no JSON, no object, or a key that stands twice: people and programs would read two
    different documents.

    Raises:
        InputError: FILE_UNREADABLE: not there, or not to be read.
    """
    try:
        tree = json.loads(read_named(path), object_pairs_hook=_each_key_once)
    except (ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def read_kept_head(path: Path) -> Mapping[str, Any]:
    """A head that somebody kept: if it is damaged, nothing can be said of the chain.

    Raises:
        InputError: FILE_UNREADABLE: not there, or no object.
    """
    head = read_record(path)
    if head is None:
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: no head: a JSON object is expected")
    return head


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _write(path: Path, tree: object) -> Path:
    path.write_text(json.dumps(tree, indent=1, sort_keys=True) + "\n", encoding="ascii")
    return path
