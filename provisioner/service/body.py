"""Bodies of requests: bounded while they are read, and JSON that cannot hurt."""

import asyncio
import json
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request

from provisioner.errors import ErrorCode, InputError

READ_WITHIN_S: Final = 60.0
"""Nobody needs longer for a few MiB; a slow sender must not hold a connection for ever."""
DRAINED: Final = 4
"""A sender that does not read until it has sent all gets its refusal only when we read on:
so many times the limit is read and dropped before the connection is cut."""
DEEPEST: Final = 32


async def read_body(request: Request, most: int) -> bytes:
    """The whole body.

    Args:
        request: Not yet read.
        most: Bytes; the body is never kept beyond it, whatever its length header says.

    Raises:
        InputError: PAYLOAD_TOO_LARGE; PAYLOAD_MALFORMED: it was cut, or came too slowly.
    """
    kept, seen = bytearray(), 0
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            async for piece in request.stream():
                seen += len(piece)
                if seen <= most:
                    kept += piece
                elif seen > most * DRAINED:
                    break
    except ClientDisconnect as error:
        raise InputError(ErrorCode.PAYLOAD_MALFORMED, "the body was cut off") from error
    except TimeoutError as error:
        text = f"the body did not come within {READ_WITHIN_S:.0f} s"
        raise InputError(ErrorCode.PAYLOAD_MALFORMED, text) from error
    if seen > most:
        raise InputError(ErrorCode.PAYLOAD_TOO_LARGE, f"the body is larger than {most} bytes")
    return bytes(kept)


async def read_json(request: Request, most: int, *, mend: bool = False) -> Any:  # noqa: ANN401 as wide as JSON is
    """The body as a tree of plain values; an empty body is an empty object.

    Raises:
        InputError: As `read_body`, and PAYLOAD_MALFORMED where it is no JSON we take.
    """
    body = await read_body(request, most)
    return parse_json(body, mend=mend) if body else {}


def parse_json(body: bytes, *, mend: bool = False) -> Any:  # noqa: ANN401
    """A tree of plain values.

    Beyond what the language refuses, these are refused: NaN and infinities, more than 32
    levels, text that has no form in UTF-8, and NUL, which databases refuse.

    Args:
        body: As it came.
        mend: Put a replacement character in the place of such text instead: a machine that
            quotes a broken device has nobody who could write it anew.

    Raises:
        InputError: PAYLOAD_MALFORMED.
    """
    try:
        tree = json.loads(body.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        text = "the body is no JSON, or nested too deeply"
        raise InputError(ErrorCode.PAYLOAD_MALFORMED, text) from error
    _refuse_depth(tree)
    mended = _mended(tree)
    if not mend and mended != tree:
        text = "the body holds a NUL character or half a surrogate pair"
        raise InputError(ErrorCode.PAYLOAD_MALFORMED, text)
    return mended


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _refuse_depth(tree: object) -> None:
    """Without recursion: what comes after it may recurse."""
    level = [tree]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise InputError(ErrorCode.PAYLOAD_MALFORMED, f"the body has more than {DEEPEST} levels")


def _inside(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _mended(tree: Any) -> Any:  # noqa: ANN401
    if isinstance(tree, str):
        whole = tree.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if isinstance(tree, dict):
        return {_mended(key): _mended(value) for key, value in tree.items()}
    return [_mended(each) for each in tree] if isinstance(tree, list) else tree
