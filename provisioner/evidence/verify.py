"""Verify evidence offline: from files alone, with a key from a file alone."""

from collections.abc import Callable, Sequence
from pathlib import Path

from provisioner.errors import ErrorCode, InputError
from provisioner.evidence.chain import (
    Checked,
    Problem,
    VerifySignature,
    key_id,
    verify_chain,
    verify_record,
)
from provisioner.evidence.files import read_json, read_records

ReadPublicKey = Callable[[bytes], bytes]
"""A PEM file's content -> 32 bytes; raises InputError FILE_UNREADABLE."""


def trusted_keys(files: Sequence[Path], read_public: ReadPublicKey) -> dict[str, bytes]:
    """Public keys by key id.

    Raises:
        InputError: FILE_UNREADABLE: a file is not there or holds no Ed25519 public key.
    """
    found = {}
    for path in files:
        try:
            content = path.read_bytes()
        except OSError as error:
            raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error
        public = read_public(content)
        found[key_id(public)] = public
    return found


def verify_export(
    folder: Path, keys: dict[str, bytes], verify: VerifySignature, *, head: Path | None
) -> Checked:
    """A whole exported chain.

    Args:
        folder: As `evidence export` wrote it.
        keys: From `trusted_keys`.
        verify: Checks a signature.
        head: A head that was kept elsewhere; None leaves out that a chain cut off at its end
            cannot be seen without one.
    """
    known = read_json(head) if head is not None else None
    return verify_chain(read_records(folder), keys, verify, head=known)


def verify_file(path: Path, keys: dict[str, bytes], verify: VerifySignature) -> Checked:
    """One exported record by itself: not changed, and signed by a trusted key."""
    record = read_json(path)
    problems = tuple(
        Problem(sequence=None, text=text) for text in verify_record(record, keys, verify)
    )
    return Checked(problems=problems, records=1, head=None)
