"""Verify evidence offline: from files alone, with a key from a file alone."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from provisioner.evidence.chain import (
    Checked,
    Problem,
    Record,
    VerifySignature,
    key_id,
    verify_chain,
    verify_record,
)
from provisioner.evidence.files import HEAD, read_kept_head, read_record, read_records
from provisioner.named_file import read_named

ReadPublicKey = Callable[[bytes], bytes]
"""A PEM file's content -> 32 bytes; raises InputError FILE_UNREADABLE."""


def trusted_keys(files: Sequence[Path], read_public: ReadPublicKey) -> dict[str, bytes]:
    """Public keys by key id.

    Raises:
        InputError: FILE_UNREADABLE: a file is not there or holds no Ed25519 public key.
    """
    found = {}
    for path in files:
        public = read_public(read_named(path))
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
        head: A head that was kept elsewhere. The one in the folder is compared too, but whoever
            cuts off a chain can write it anew: only one from elsewhere proves that nothing is cut.
    """
    known = read_kept_head(head) if head is not None else None
    records = read_records(folder)
    checked = verify_chain(records, keys, verify, head=known)
    found = [*_of_folder(folder, records), *checked.problems]
    return replace(checked, problems=tuple(found), head=None if found else checked.head)


def _of_folder(folder: Path, records: Sequence[Record | None]) -> Iterator[Problem]:
    """What the folder itself lacks: an export has records, and its head is the newest of them."""
    if not records:
        yield Problem(sequence=None, text=f"{folder} holds no record: nothing is proven")
        return
    beside = folder / HEAD
    if not beside.exists():
        return
    known, newest = read_record(beside) or {}, records[-1] or {}
    if any(known.get(name) != newest.get(name) for name in ("sequence", "hash")):
        number = known.get("sequence")
        text = f"cut off or replaced: its {HEAD} names record {number!r}, {len(records)} are there"
        yield Problem(sequence=None, text=text)


def verify_file(path: Path, keys: dict[str, bytes], verify: VerifySignature) -> Checked:
    """One exported record by itself: not changed, and signed by a trusted key."""
    record = read_record(path)
    problems = tuple(
        Problem(sequence=None, text=text) for text in verify_record(record, keys, verify)
    )
    return Checked(problems=problems, records=1, head=None)
