"""Who an operator is: the peer of a Unix socket by uid, or the holder of a token."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from starlette.requests import Request

from provisioner.config import OperatorUid
from provisioner.errors import ErrorCode, InputError
from provisioner.operations.desk import Operator
from provisioner.secret import Secret
from provisioner.service.peers import peer_uid
from provisioner.service.tokens import holder_of, parse_tokens


class Identify(Protocol):
    """Tells who sent a request."""

    def __call__(self, request: Request) -> Operator:
        """Raises InputError PERMISSION: nobody we know."""
        ...


@dataclass(frozen=True, slots=True)
class ByPeer:
    """By the uid that the kernel says of the other end."""

    operators: Mapping[int, OperatorUid]

    def __call__(self, request: Request) -> Operator:
        """Raises InputError PERMISSION."""
        uid = peer_uid(request)
        known = self.operators.get(uid) if uid is not None else None
        if known is None:
            raise InputError(ErrorCode.PERMISSION, f"uid {uid} is no operator of this service")
        return Operator(name=known.name, role=known.role, by=f"uid {uid}")


@dataclass(frozen=True, slots=True)
class ByToken:
    """By a bearer token; the file is read anew, so that a removed line counts at once.

    Attributes:
        read_tokens: The text of the file of tokens.
    """

    read_tokens: Callable[[], str]

    def __call__(self, request: Request) -> Operator:
        """Raises InputError PERMISSION."""
        word, _, token = request.headers.get("authorization", "").partition(" ")
        holder = None
        if word.lower() == "bearer" and token:
            holder = holder_of(Secret(token.strip()), parse_tokens(self.read_tokens()))
        if holder is None:
            raise InputError(ErrorCode.PERMISSION, "no token, or one that is not known")
        return Operator(name=holder.name, role=holder.role, by="token")
