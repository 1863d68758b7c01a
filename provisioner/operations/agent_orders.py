"""Orders to the agent of a running boot, and waiting for what they find."""

from collections.abc import Mapping
from typing import Any

from provisioner.errors import ErrorCode, InputError, OperatorError, RackwrightError, TransientError
from provisioner.operations.doors import Work
from provisioner.servers.operation import AgentOrder
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds

SILENCE_S = 180.0
"""An agent at work reports at least every few seconds, an idle one polls every 20 s: three
minutes without a word means that it died, not that the network was away for a moment."""
SLICE_S = 15.0


async def order(
    work: Work, kind: str, parameters: Mapping[str, Any], *, name: str | None = None
) -> dict[str, Any]:
    """Give one order and wait for its result; the same step again waits for the same order.

    Raises:
        RackwrightError: What the agent said; AGENT_LOST when it fell silent; DEADLINE.
    """
    step = name or work.step
    records = work.doors.records
    given = AgentOrder(
        operation=work.operation.id,
        step=step,
        number=0,
        epoch=work.operation.epoch,
        kind=kind,
        parameters=dict(parameters),
    )
    await stored(records.orders.put_order, given)
    work.doors.bell.heard(work.operation.id)
    while True:
        await _wait_a_slice(work, step)
        answer = await stored(records.orders.order, work.operation.id, step)
        if answer is not None and answer.ok is not None:
            return _result(answer)
        await _still_open(work)
        _still_alive(work, kind)


async def _wait_a_slice(work: Work, step: str) -> None:
    until = MonotonicSeconds(min(work.until, work.doors.clock.monotonic() + SLICE_S))
    await work.doors.bell.wait(work.operation.id, f"result:{step}", until=until)


async def _still_open(work: Work) -> None:
    record = await stored(work.doors.records.operations.operation, work.operation.id)
    if record.status != "open":
        raise TransientError(ErrorCode.SUPERSEDED, f"the operation is {record.status}")


def _still_alive(work: Work, kind: str) -> None:
    clock, bell = work.doors.clock, work.doors.bell
    silent_s = clock.monotonic() - bell.heard_at.get(work.operation.id, clock.monotonic())
    if silent_s > SILENCE_S:
        raise OperatorError(
            ErrorCode.AGENT_LOST, f"the agent fell silent for {silent_s:.0f} s during {kind}"
        )
    if clock.monotonic() >= work.until:
        raise TransientError(ErrorCode.DEADLINE, f"{kind} was not finished in its time")


def _result(answer: AgentOrder) -> dict[str, Any]:
    if answer.ok:
        return answer.result
    raise error_of(answer.error_code, answer.error_text)


INPUT = frozenset(
    {
        ErrorCode.DISK_NOT_FOUND,
        ErrorCode.DISK_AMBIGUOUS,
        ErrorCode.DISK_TOO_SMALL,
        ErrorCode.DISK_SECTOR_SIZE,
    }
)
OURS = frozenset({ErrorCode.BLOBS_UNREACHABLE, ErrorCode.IMAGE_DIGEST, ErrorCode.EPOCH_DIFFERS})


def error_of(code: str, text: str) -> RackwrightError:
    """The agent's word as one of our errors; a code that we do not know stays its text."""
    if code not in set(ErrorCode):
        return OperatorError(ErrorCode.AGENT_FAILED, f"the agent failed: {text}", code)
    known = ErrorCode(code)
    if known in INPUT:
        return InputError(known, text)
    if known in OURS:
        return TransientError(known, text)
    return OperatorError(known, text)
