"""Signing keys that are the same in every run."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from provisioner.adapters.keys.evidence_key import EvidenceKey


def signing_key(number):
    return EvidenceKey(Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32))
