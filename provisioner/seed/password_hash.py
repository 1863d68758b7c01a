"""A password's hash as /etc/shadow keeps it, so that no clear password travels in a seed.

Source: Ulrich Drepper, "Unix crypt using SHA-256 and SHA-512", version 0.6, with the default of
5000 rounds; Python's own `crypt` module leaves the language and no kept library has it.
"""

import hashlib

_ROUNDS = 5000
_ALPHABET = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_GROUPS = tuple((n * 22 % 63, (n * 22 + 21) % 63, (n * 22 + 42) % 63) for n in range(21))
"""Which three bytes of the digest make four characters, in order; byte 63 stands alone."""


def sha512_crypt(password: str, salt: str) -> str:
    """`$6$salt$hash`.

    Args:
        password: In clear.
        salt: At most 16 characters of [a-zA-Z0-9./].
    """
    key, grain = password.encode(), salt.encode()
    digest = _first_digest(key, grain)
    p = _repeated(hashlib.sha512(key * len(key)).digest(), len(key))
    s = _repeated(hashlib.sha512(grain * (16 + digest[0])).digest(), len(grain))
    for n in range(_ROUNDS):
        parts = [p if n % 2 else digest]
        if n % 3:
            parts.append(s)
        if n % 7:
            parts.append(p)
        parts.append(digest if n % 2 else p)
        digest = hashlib.sha512(b"".join(parts)).digest()
    return f"$6${salt}${_encoded(digest)}"


def _first_digest(key: bytes, grain: bytes) -> bytes:
    other = hashlib.sha512(key + grain + key).digest()
    mixed = hashlib.sha512(key + grain + _repeated(other, len(key)))
    length = len(key)
    while length:
        mixed.update(other if length & 1 else key)
        length >>= 1
    return mixed.digest()


def _repeated(block: bytes, length: int) -> bytes:
    return (block * (length // len(block) + 1))[:length]


def _encoded(digest: bytes) -> str:
    text = ""
    for a, b, c in _GROUPS:
        value = digest[a] << 16 | digest[b] << 8 | digest[c]
        for _ in range(4):
            text += _ALPHABET[value & 63]
            value >>= 6
    last = digest[63]
    return text + _ALPHABET[last & 63] + _ALPHABET[last >> 6]
