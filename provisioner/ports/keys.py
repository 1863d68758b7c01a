"""Secrets at rest, and signatures."""

from typing import Protocol


class Cipher(Protocol):
    """Secrets at rest; the key lies outside the database and has an id, so it can be rotated."""

    def seal(self, clear: bytes, *, purpose: str) -> str:
        """Text to store: format version, key id, nonce, ciphertext; bound to its purpose."""
        ...

    def open(self, sealed: str, *, purpose: str) -> bytes:
        """Back to bytes.

        Raises:
            OperatorError: Another key, another purpose, or changed text.
        """
        ...


class Signer(Protocol):
    """Signs evidence with the site's Ed25519 key."""

    def key_id(self) -> str:
        """SHA-256 of the public key, hex."""
        ...

    def sign(self, message: bytes) -> str:
        """Signature, hex."""
        ...
