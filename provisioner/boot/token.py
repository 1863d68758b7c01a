"""One-time tokens of network boots: made from given random bytes, stored as a digest only."""

import hashlib
import hmac

from provisioner.secret import Secret

TOKEN_BYTES = 32


def new_token(random: bytes) -> Secret:
    """The token's text, safe in a kernel command line and a header.

    Args:
        random: At least 32 bytes from the system's generator.

    Raises:
        ValueError: Fewer bytes were given.
    """
    if len(random) < TOKEN_BYTES:
        raise ValueError(f"{len(random)} random bytes are too few for a token")
    return Secret(random.hex())


def digest(token: Secret) -> str:
    """SHA-256 of the token's text, hex: what is stored and compared."""
    return hashlib.sha256(token.reveal().encode()).hexdigest()


def is_same(token: Secret, token_sha256: str) -> bool:
    """Whether the token has this digest, in the same time for every wrong one."""
    return hmac.compare_digest(digest(token), token_sha256)
