"""Operators' tokens: a file of lines `name role sha256`; the token itself is nowhere. Pure."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

from provisioner.config import Role
from provisioner.errors import ConflictError, ErrorCode, InputError, OperatorError
from provisioner.secret import Secret

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
RANDOM_BYTES: Final = 32
PREFIX: Final = "rwt_"
"""So that a scanner for leaked secrets can find one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLine:
    """One operator's token, hashed."""

    name: str
    role: Role
    sha256: str

    def line(self) -> str:
        """As it stands in the file."""
        return f"{self.name} {self.role} {self.sha256}\n"


def new_token(name: str, role: Role, random: bytes, existing: str) -> tuple[Secret, str]:
    """A token, to be shown once, and the line to append to the file.

    Args:
        name: Of the operator.
        role: What it may do.
        random: 32 bytes from the system's generator.
        existing: The file's text so far.

    Raises:
        InputError: NAME_INVALID.
        ConflictError: ALREADY_INITIALISED: this operator has one; remove its line first.
    """
    if not NAME.fullmatch(name):
        raise InputError(ErrorCode.NAME_INVALID, f"{name!r} is no name ({NAME.pattern})")
    if len(random) < RANDOM_BYTES:
        raise ValueError(f"{len(random)} random bytes are too few for a token")
    if any(known.name == name for known in parse_tokens(existing)):
        text = f"operator {name} has a token; remove its line from the file first"
        raise ConflictError(ErrorCode.ALREADY_INITIALISED, text)
    token = Secret(PREFIX + random.hex())
    return token, TokenLine(name=name, role=role, sha256=_digest(token)).line()


def parse_tokens(text: str) -> tuple[TokenLine, ...]:
    """All lines; empty ones and those that begin with # are left out.

    Raises:
        OperatorError: CONFIG_INVALID, naming the line's number and never its content.
    """
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if not _is_good(words):
            raise OperatorError(
                ErrorCode.CONFIG_INVALID, f"tokens: line {number} is not one of ours"
            )
        name, role, sha256 = words
        found.append(TokenLine(name=name, role=Role(role), sha256=sha256))
    return tuple(found)


def holder_of(token: Secret, lines: tuple[TokenLine, ...]) -> TokenLine | None:
    """Whose token this is; every line is compared, in the same time."""
    digest = _digest(token)
    matching = [line for line in lines if hmac.compare_digest(line.sha256, digest)]
    return matching[0] if matching else None


def _is_good(words: list[str]) -> bool:
    if len(words) != len(TokenLine.__slots__):
        return False
    name, role, sha256 = words
    known = [each.value for each in Role]
    return bool(NAME.fullmatch(name) and role in known and re.fullmatch(r"[0-9a-f]{64}", sha256))


def _digest(token: Secret) -> str:
    return hashlib.sha256(token.reveal().encode()).hexdigest()
