"""Steps between a release's fence and its wipe: may it be wiped at all, and is it its turn."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode
from provisioner.evidence.document import utc
from provisioner.operations.doors import Work
from provisioner.operations.endings import NeedsPersonError
from provisioner.operations.power_steps import OFF_FOR_GOOD
from provisioner.operations.steps import Step
from provisioner.servers.model import Power
from provisioner.servers.turns import Wait, Why
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, Seconds, WallSeconds

log = logging.getLogger(__name__)

LET_GO = "let-go"
"""Arrival: somebody said by name that this release goes on."""
LOOK_S = 30.0
"""Between two looks: at the hour of the pool, and whether somebody has switched the server on."""
PATIENCE_S = 10 * 365 * 86400.0
"""Nothing is lost by waiting: off, cut off, as it was given back. So the wait never fails."""


async def _has_baseline(work: Work) -> Mapping[str, Any]:
    """What was never compared with a baseline is erased when a person says so (7, 13)."""
    if work.server.baseline is None:
        raise NeedsPersonError(
            ErrorCode.STATE_CONFLICT,
            f"nobody has inspected {work.server.name} yet, so it is not wiped by itself: "
            f"`rackwright server provide {work.server.name}` says which disks to name",
        )
    return {}


async def _turn(work: Work) -> Mapping[str, Any]:
    """Wait until the wipe may begin; the server stays off for as long."""
    turns, clock, told = work.doors.records.turns, work.doors.clock, ""
    take = partial(turns.take, work.operation.id, work.doors.site.pace)
    note = partial(work.doors.records.operations.note, work.operation.id)
    while (wait := await stored(partial(take, now=clock.monotonic()))) is not None:
        text = _in_words(work, wait)
        if text != told:
            log.warning("a wipe waits: %s", text, extra={"server": work.server.name})
            await stored(note, text, (0, 0))
            told = text
        await _stays_off(work)
        look_at = clock.monotonic() + LOOK_S
        until = MonotonicSeconds(min(look_at, look_at if wait.until is None else wait.until))
        await work.doors.bell.wait(work.operation.id, LET_GO, until=until)
    if told:
        await stored(note, "", (0, 0))
    return {"waited_s": round(clock.monotonic() - work.begun)}


def _in_words(work: Work, wait: Wait) -> str:
    """What an operator reads of it; the same for as long as it is so."""
    go_on = f"`rackwright operation release {work.operation.id}` lets it go on"
    if wait.why is Why.PROTECTED and wait.until is not None:
        clock = work.doors.clock
        until = utc(WallSeconds(clock.wall() + wait.until - clock.monotonic()))
        return f"waits until {until}: the instance was protected, or nobody knew; {go_on}"
    return (
        f"waits for its turn: of pool {work.server.pool} at most {wait.most} wipes begin in an "
        f"hour; {go_on}"
    )


async def _stays_off(work: Work) -> None:
    """By hand, or by mains: what a tenant left on its disks must not run on (4)."""
    server = await stored(work.doors.records.servers.server, work.server.name)
    if server.power.power is Power.ON:
        log.warning("is on while its wipe waits: off again", extra={"server": server.name})
        until = work.doors.clock.monotonic() + OFF_FOR_GOOD.limit
        await OFF_FOR_GOOD.act(replace(work, until=MonotonicSeconds(until)))


HAS_BASELINE = Step(name="has-baseline", act=_has_baseline, limit=Seconds(60.0))
TURN = Step(name="turn", act=_turn, limit=Seconds(PATIENCE_S))
