"""Signatures under evidence: ports.Signer, and their check."""

import hashlib
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from provisioner.adapters.keys.private_file import read_private
from provisioner.errors import ErrorCode, InputError, OperatorError


class EvidenceKey:
    """ports.Signer by Ed25519."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """Take over a key; use `load_evidence_key`."""
        self._key = key
        self.public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def key_id(self) -> str:
        """ports.Signer."""
        return hashlib.sha256(self.public).hexdigest()

    def sign(self, message: bytes) -> str:
        """ports.Signer."""
        return self._key.sign(message).hex()

    def public_pem(self) -> bytes:
        """The file that a verifier trusts."""
        return self._key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def load_evidence_key(path: Path) -> EvidenceKey:
    """From a PEM file.

    Raises:
        OperatorError: FILE_UNREADABLE: not there, readable by others, or no Ed25519 key.
    """
    try:
        key = load_pem_private_key(read_private(path), password=None)
    except (ValueError, TypeError) as error:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: no PEM private key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: no Ed25519 key")
    return EvidenceKey(key)


def read_public_key(pem: bytes) -> bytes:
    """The 32 bytes of an Ed25519 public key.

    Raises:
        InputError: FILE_UNREADABLE: no PEM, or another kind of key.
    """
    try:
        key = load_pem_public_key(pem)
    except (ValueError, TypeError) as error:
        raise InputError(ErrorCode.FILE_UNREADABLE, "no public key in PEM form") from error
    if not isinstance(key, Ed25519PublicKey):
        raise InputError(ErrorCode.FILE_UNREADABLE, "the public key is not an Ed25519 one")
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)


def verify_signature(public: bytes, message: bytes, signature: str) -> bool:
    """evidence.chain.VerifySignature; anything malformed is a bad signature."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True
