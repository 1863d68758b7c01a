"""What the agent sends, as values: everything else is refused, unknown fields are left out."""

from dataclasses import dataclass
from typing import Any, Final

from provisioner.errors import ErrorCode, InputError
from provisioner.hardware.inventory import Inventory, read

MOST_LINES: Final = 2000
MOST_LINE: Final = 4096
MOST_NOTE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSelf:
    """Which agent speaks.

    Attributes:
        boot_id: Of the kernel that runs it: a second one with the same token is a stranger.
    """

    version: str
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first word of a boot."""

    facts: Inventory
    agent: AgentSelf


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far an order is, of one disk where several are worked on."""

    order: int
    epoch: int
    done_bytes: int
    total_bytes: int
    disk: str | None = None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFailure:
    """Why an order failed."""

    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an order ended."""

    order: int
    epoch: int
    ok: bool
    error: AgentFailure | None
    result: dict[str, Any]


def hello_of(tree: object) -> Hello:
    """Raises InputError PAYLOAD_FIELD, with the path of what does not fit."""
    return Hello(
        facts=_fits(Inventory, _field(tree, "facts"), "facts"),
        agent=_fits(AgentSelf, _field(tree, "agent"), "agent"),
    )


def progress_of(tree: object) -> Progress:
    """Raises InputError PAYLOAD_FIELD, with the path of what does not fit."""
    found: Progress = _fits(Progress, tree, "body")
    if not 0 <= found.done_bytes <= found.total_bytes < 2**63:
        raise InputError(ErrorCode.PAYLOAD_FIELD, "body.done_bytes: more than there is to do")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _ResultHead:
    order: int
    epoch: int
    ok: bool
    error: AgentFailure | None = None


def result_of(tree: object) -> Result:
    """Raises InputError PAYLOAD_FIELD, with the path of what does not fit."""
    head: _ResultHead = _fits(_ResultHead, tree, "body")
    result = _field(tree, "result")
    if not isinstance(result, dict):
        raise InputError(ErrorCode.PAYLOAD_FIELD, "body.result: an object is expected")
    if not head.ok and head.error is None:
        raise InputError(ErrorCode.PAYLOAD_FIELD, "body.error: missing, and ok is false")
    return Result(order=head.order, epoch=head.epoch, ok=head.ok, error=head.error, result=result)


def lines_of(tree: object) -> tuple[str, ...]:
    """Lines of the agent's journal, printable and cut to a length.

    Raises:
        InputError: PAYLOAD_FIELD.
    """
    lines = _field(tree, "lines")
    if not isinstance(lines, list) or len(lines) > MOST_LINES:
        text = f"body.lines: a list of at most {MOST_LINES} is expected"
        raise InputError(ErrorCode.PAYLOAD_FIELD, text)
    if not all(isinstance(line, str) for line in lines):
        raise InputError(ErrorCode.PAYLOAD_FIELD, "body.lines: texts are expected")
    return tuple(printable(line, MOST_LINE) for line in lines)


def printable(text: str, most: int) -> str:
    """The text on one line, without anything that a terminal or a log would obey."""
    return "".join(
        each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text[:most]
    )


def _field(tree: object, key: str) -> object:
    if not isinstance(tree, dict) or key not in tree:
        raise InputError(ErrorCode.PAYLOAD_FIELD, f"body.{key}: missing")
    found: object = tree[key]
    return found


def _fits(kind: type, tree: object, path: str) -> Any:  # noqa: ANN401 of that kind
    try:
        return read(kind, tree, path)
    except ValueError as error:
        raise InputError(ErrorCode.PAYLOAD_FIELD, str(error)) from error
