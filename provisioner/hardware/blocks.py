"""Which blocks of an image hold data, and their digests: written at import, checked by the agent.

Standard library only, since the agent reads it on the server.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

BLOCK_BYTES = 4 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockList:
    """An image as blocks; one that is not listed reads as zeros.

    Attributes:
        digests: Number -> SHA-256 in hex, rising; the last block of an image may be shorter.
    """

    image_bytes: int
    block_bytes: int
    digests: Mapping[int, str]

    @property
    def root(self) -> str:
        """SHA-256 over a text that says all of the above: what "the same image" means."""
        lines = [f"rackwright-blocks/1 {self.image_bytes} {self.block_bytes}"]
        lines += [f"{number} {digest}" for number, digest in self.digests.items()]
        return hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()

    @property
    def data_bytes(self) -> int:
        """The sum of the listed blocks."""
        return sum(self.length(number) for number in self.digests)

    def length(self, number: int) -> int:
        """Bytes of one block."""
        return min(self.block_bytes, self.image_bytes - number * self.block_bytes)

    def holes(self) -> Iterator[tuple[int, int]]:
        """(offset, length) of what reads as zeros, the longest runs possible, rising."""
        at = 0
        for number in self.digests:
            start = number * self.block_bytes
            if start > at:
                yield at, start - at
            at = start + self.length(number)
        if at < self.image_bytes:
            yield at, self.image_bytes - at

    def to_text(self) -> str:
        """blocks.json."""
        blocks = [{"n": number, "sha256": digest} for number, digest in self.digests.items()]
        body = {
            "version": 1,
            "image_bytes": self.image_bytes,
            "block_bytes": self.block_bytes,
            "root": self.root,
            "blocks": blocks,
        }
        return json.dumps(body, separators=(",", ":")) + "\n"

    @classmethod
    def from_text(cls, text: str | bytes) -> Self:
        """Read blocks.json.

        Raises:
            ValueError: Not such a text, or its root is not that of its blocks.
        """
        try:
            body = json.loads(text)
            found = cls(
                image_bytes=_count(body["image_bytes"]),
                block_bytes=_count(body["block_bytes"]),
                digests={_count(each["n"]): _digest(each["sha256"]) for each in body["blocks"]},
            )
        except (KeyError, TypeError, RecursionError) as error:
            raise ValueError(f"not a list of blocks: {error!r}") from None
        _check(found, body)
        return found


def _check(found: BlockList, body: Mapping[str, Any]) -> None:
    numbers = list(found.digests)
    if body.get("version") != 1 or len(numbers) != len(body["blocks"]):
        raise ValueError("not a list of blocks of version 1")
    if not found.image_bytes or not found.block_bytes or numbers != sorted(numbers):
        raise ValueError("the blocks are not in order")
    if numbers and numbers[-1] * found.block_bytes >= found.image_bytes:
        raise ValueError("a block lies behind the image's end")
    if body.get("root") != found.root:
        raise ValueError("the root is not that of the blocks")


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a number of bytes or blocks")
    return value


def _digest(value: object) -> str:
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise ValueError(f"{value!r} is not a digest")
    return value
