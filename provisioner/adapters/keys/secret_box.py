"""Secrets at rest: ports.Cipher."""

import base64
import binascii
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from provisioner.adapters.keys.private_file import read_private
from provisioner.errors import ErrorCode, OperatorError

FORMAT = "rw1"
NONCE_BYTES = 12
KEY_BYTES = 32
KEY_ID_DIGITS = 16
_PARTS = 4


class SecretBox:
    """ports.Cipher by AES-256-GCM; text is `rw1:<key id>:<nonce>:<ciphertext>`.

    Several keys may be there: the current one seals, every one opens. To rotate, put a new
    line first into the file of keys and seal everything anew; the old line goes last.
    """

    def __init__(self, keys: Mapping[str, bytes], current: str) -> None:
        """Keys of 32 bytes by id; `current` is one of them."""
        self._ciphers = {name: AESGCM(key) for name, key in keys.items()}
        self._current = current

    def seal(self, clear: bytes, *, purpose: str) -> str:
        """ports.Cipher."""
        nonce = os.urandom(NONCE_BYTES)
        bound = _bound(self._current, purpose)
        sealed = self._ciphers[self._current].encrypt(nonce, clear, bound)
        return ":".join((FORMAT, self._current, _text(nonce), _text(sealed)))

    def open(self, sealed: str, *, purpose: str) -> bytes:
        """ports.Cipher.

        Raises:
            OperatorError: SECRET_UNREADABLE: another key, another purpose, or changed text.
        """
        parts = sealed.split(":")
        if len(parts) != _PARTS or parts[0] != FORMAT:
            raise OperatorError(ErrorCode.SECRET_UNREADABLE, f"{purpose}: not a sealed secret")
        _, key_id, nonce, content = parts
        cipher = self._ciphers.get(key_id)
        if cipher is None:
            text = f"{purpose}: sealed by key {key_id}, which the file of keys does not hold"
            raise OperatorError(ErrorCode.SECRET_UNREADABLE, text)
        try:
            return cipher.decrypt(_bytes(nonce), _bytes(content), _bound(key_id, purpose))
        except (InvalidTag, ValueError) as error:
            text = f"{purpose}: changed, or sealed for another purpose"
            raise OperatorError(ErrorCode.SECRET_UNREADABLE, text) from error


def secret_keys_line(key: bytes) -> str:
    """One line of the file of keys: the key's id and the key."""
    return f"{secret_key_id(key)} {key.hex()}\n"


def secret_key_id(key: bytes) -> str:
    """Tells keys apart and gives nothing away."""
    return hashlib.sha256(b"rackwright-key-id:" + key).hexdigest()[:KEY_ID_DIGITS]


def load_secret_box(path: Path) -> SecretBox:
    """From the file of keys; the first line is the current key.

    Raises:
        OperatorError: FILE_UNREADABLE: not there, readable by others, or not ours.
    """
    keys = {}
    for number, line in enumerate(read_private(path).decode("ascii", "replace").split("\n"), 1):
        if not line.strip():
            continue
        name, _, digits = line.partition(" ")
        key = _key_of(digits.strip())
        if key is None or name != secret_key_id(key):
            raise OperatorError(
                ErrorCode.FILE_UNREADABLE, f"{path}: line {number} is no key of ours"
            )
        keys[name] = key
    if not keys:
        raise OperatorError(ErrorCode.FILE_UNREADABLE, f"{path}: holds no key")
    return SecretBox(keys, next(iter(keys)))


def _key_of(digits: str) -> bytes | None:
    try:
        key = bytes.fromhex(digits)
    except ValueError:
        return None
    return key if len(key) == KEY_BYTES else None


def _bound(key_id: str, purpose: str) -> bytes:
    return f"{FORMAT}\0{key_id}\0{purpose}".encode()


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
