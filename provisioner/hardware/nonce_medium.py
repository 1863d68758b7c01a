"""How a nonce looks on the medium that a controller inserts: its volume name. Pure.

The agent reads 32 bytes of the optical device and mounts nothing; by the same bytes it knows
that the medium is ours (invariant 14).
"""

NAME_OFFSET = 16 * 2048 + 40
"""Where the volume name stands. Source: ECMA-119, 8.4.7 (primary volume descriptor, sector 16)."""
NAME_BYTES = 32
PREFIX = "RACKW_"
"""With 13 bytes in upper-case hex behind it the name is full."""


def volume_name(nonce: bytes) -> str:
    """The name of the medium that carries these 13 bytes."""
    return PREFIX + nonce.hex().upper()


def nonce_of(name: bytes) -> bytes | None:
    """The nonce in a volume name as it was read; None for every other medium."""
    text = name.decode("ascii", "replace").rstrip(" \0")
    digits = text.removeprefix(PREFIX)
    if digits == text or len(text) != NAME_BYTES:
        return None
    try:
        return bytes.fromhex(digits)
    except ValueError:
        return None
