"""The signed chain: each record holds the hash of the one before it. Pure.

A record is {version, sequence, previous, key, document, hash, signature}: `hash` is SHA-256
over the canonical form of the first five, `signature` is Ed25519 over a fixed word and the
hash, `key` is the SHA-256 of the public key. The first record's `previous` is 64 zeros.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provisioner.ports.keys import Signer

VERSION = 1
FIRST_PREVIOUS = "0" * 64
KEY_CHANGE = "key-change"
_SIGNED_WORD = b"rackwright-evidence-1:"
_HASHED = ("version", "sequence", "previous", "key", "document")
_FIELDS = frozenset({*_HASHED, "hash", "signature"})

Record = Mapping[str, Any]
VerifySignature = Callable[[bytes, bytes, str], bool]
"""Public key (32 bytes), message, signature in hex -> it is good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a chain.

    Attributes:
        sequence: Of the record; None where it concerns the whole.
        text: One line.
    """

    sequence: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.sequence is None else f"record {self.sequence}: {self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a verification found.

    Attributes:
        problems: Empty is good.
        head: The newest record's {version, sequence, hash}; None for an empty chain.
    """

    problems: tuple[Problem, ...]
    records: int
    head: dict[str, Any] | None


def canonical(tree: object) -> bytes:
    """The one text of a JSON tree: sorted keys, no spaces, ASCII.

    Raises:
        ValueError: A number with a fraction: two programs may print it differently.
    """
    _refuse_fractions(tree)
    return json.dumps(
        tree, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    ).encode()


def _refuse_fractions(tree: object) -> None:
    if isinstance(tree, float):
        raise ValueError(f"{tree!r}: evidence holds whole numbers and text only")  # noqa: TRY004
    if isinstance(tree, Mapping):
        for each in tree.values():
            _refuse_fractions(each)
    elif isinstance(tree, list | tuple):
        for each in tree:
            _refuse_fractions(each)


def link(
    document: Mapping[str, Any], previous: str | None, sequence: int, signer: Signer
) -> dict[str, Any]:
    """A document as the next record of the chain.

    Args:
        document: JSON values without fractions.
        previous: Hash of the newest record; None for the first.
        sequence: From 1.
        signer: The key in use.
    """
    record: dict[str, Any] = {
        "version": VERSION,
        "sequence": sequence,
        "previous": previous or FIRST_PREVIOUS,
        "key": signer.key_id(),
        "document": dict(document),
    }
    record["hash"] = record_hash(record)
    record["signature"] = signer.sign(_signed(record["hash"]))
    return record


def key_change(new_public: bytes, who: str, why: str, at: str) -> dict[str, Any]:
    """The document that hands the chain over to another key; the old key signs its record.

    Args:
        new_public: 32 bytes.
        who: Operator.
        why: Reason on record.
        at: Time, as in other documents.
    """
    return {
        "version": VERSION,
        "kind": KEY_CHANGE,
        "new_key": new_public.hex(),
        "who": who,
        "why": why,
        "at": at,
    }


def key_id(public: bytes) -> str:
    """SHA-256 of a public key, hex."""
    return hashlib.sha256(public).hexdigest()


def record_hash(record: Record) -> str:
    """What `hash` must be."""
    return hashlib.sha256(canonical({name: record[name] for name in _HASHED})).hexdigest()


def head_of(records: Sequence[Record]) -> dict[str, Any] | None:
    """What to keep elsewhere: with it, a chain that was cut off or replaced is seen."""
    if not records:
        return None
    last = records[-1]
    return {"version": VERSION, "sequence": last["sequence"], "hash": last["hash"]}


def verify_record(record: object, keys: Mapping[str, bytes], verify: VerifySignature) -> list[str]:
    """What is wrong with one record by itself; empty is good.

    Args:
        record: As exported; any JSON tree.
        keys: Trusted public keys by key id; from files, never from a document.
        verify: Checks a signature.
    """
    if not isinstance(record, Mapping) or set(record) != _FIELDS:
        return ["it is not a record"]
    if record["version"] != VERSION:
        return [f"its version is {record['version']!r}, {VERSION} is understood"]
    try:
        right = record_hash(record)
    except (ValueError, RecursionError) as error:
        return [str(error)]
    found = []
    if record["hash"] != right:
        found.append("it was changed: its content has another hash")
    public = keys.get(str(record["key"]))
    if public is None:
        found.append(f"signed by key {str(record['key'])[:16]}, which is not trusted")
    elif not verify(public, _signed(right), str(record["signature"])):
        found.append("its signature is wrong")
    return found


def verify_chain(
    records: Sequence[object],
    keys: Mapping[str, bytes],
    verify: VerifySignature,
    *,
    head: Mapping[str, Any] | None = None,
) -> Checked:
    """All that is wrong with a chain.

    Args:
        records: In the order of their sequence.
        keys: Trusted public keys by key id, from files. A key that a good record of the key
            before hands over to is trusted from there on, and that other one no longer.
        verify: Checks a signature.
        head: An older head that was kept elsewhere; the chain must contain it.
    """
    problems: list[Problem] = []
    trusted = dict(keys)
    previous = FIRST_PREVIOUS
    for place, record in enumerate(records, start=1):
        wrong = verify_record(record, trusted, verify)
        wrong += _wrong_place(record, place, previous)
        problems += [Problem(sequence=place, text=text) for text in wrong]
        if isinstance(record, Mapping) and not wrong:
            trusted = _hand_over(record, trusted, place, problems)
        previous = _hash_of(record)
    problems += [Problem(sequence=None, text=text) for text in _against_head(records, head)]
    good = [each for each in records if isinstance(each, Mapping)] if not problems else []
    return Checked(problems=tuple(problems), records=len(records), head=head_of(good))


def _hash_of(record: object) -> str:
    return str(record.get("hash", "")) if isinstance(record, Mapping) else ""


def _wrong_place(record: object, place: int, previous: str) -> list[str]:
    if not isinstance(record, Mapping):
        return []
    found = []
    if record.get("sequence") != place:
        found.append(f"it says that it is number {record.get('sequence')!r}")
    if record.get("previous") != previous:
        found.append("it does not follow the record before it")
    return found


def _hand_over(
    record: Record, trusted: dict[str, bytes], place: int, problems: list[Problem]
) -> dict[str, bytes]:
    """The keys that are trusted behind this good record: the one in use, or its successor.

    From the first record on exactly one key is in use: another trusted key must be handed
    over to as well, or an older one that was stolen could go on.
    """
    document = record["document"]
    in_use = {str(record["key"]): trusted[str(record["key"])]}
    if not isinstance(document, Mapping) or document.get("kind") != KEY_CHANGE:
        return in_use
    try:
        public = bytes.fromhex(str(document.get("new_key")))
    except ValueError:
        problems.append(Problem(sequence=place, text="it names no new key"))
        return in_use
    return {key_id(public): public}


def _against_head(records: Sequence[object], head: Mapping[str, Any] | None) -> list[str]:
    if head is None:
        return []
    number = head.get("sequence")
    if not isinstance(number, int) or number < 1 or head.get("version") != VERSION:
        return ["the head is not one of ours"]
    if number > len(records):
        return [f"cut off: {len(records)} records, the head knows {number}"]
    if _hash_of(records[number - 1]) != head.get("hash"):
        return [f"another chain: record {number} is not the one that the head knows"]
    return []


def _signed(digest: str) -> bytes:
    return _SIGNED_WORD + digest.encode()
