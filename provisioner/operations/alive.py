"""Whether the installed system runs: how that is known is recorded."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.consoles import CONSOLE
from provisioner.operations.doors import Work
from provisioner.operations.talk import talk
from provisioner.servers.model import Power
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, Seconds

SIGNS = re.compile(
    rb"(login: ?$|login: |Reached target .*[Mm]ulti-User|Cloud-init v\. .* finished"
    rb"|RACKWRIGHT-[A-Z]+-READY)"
)
"""What a running system writes: a login prompt (getty), systemd's target, cloud-init's end.

Quirk: a controller's serial-over-LAN may drop characters (OpenIPMI 2.0.33's simulator does), so
a sign may be missed; then power without a reset counts, recorded as assumed.
"""
STARTS = re.compile(
    rb"(SeaBIOS \(version|iPXE initialising|iPXE \(http|BdsDxe: (?:loading|starting) Boot"
    rb"|>>Start (?:PXE|HTTP)|Booting from Hard Disk|Welcome to GRUB|EFI stub: |Linux version \d)"
)
"""What only a starting machine writes: firmware, network boot, boot loader, the kernel's first
line. After one of these the time without a reset begins anew; a few in a row cost nothing."""
LOOK_S, ASK_EVERY_S = Seconds(2.0), 5.0
"""Between two looks, and between two readings of the power."""
LONGEST_GAP_S = 30.0
"""Nobody says what happened in a longer time between two readings."""
OFF_FOR_S = 30.0
"""A reset may pass through off; one that is off for so long stays off."""


@dataclass(slots=True, kw_only=True)
class _Row:
    """Readings in a row that say on, with no sign of a start among them.

    Attributes:
        since: The first of them; None: the last one said something else.
        last: The newest of them.
        off_since: The first of a row that says off.
        starts: How many texts of a starting machine the console has shown.
        unanswered: How many readings said neither.
    """

    since: MonotonicSeconds | None = None
    last: MonotonicSeconds | None = None
    off_since: MonotonicSeconds | None = None
    readings: int = 0
    unanswered: int = 0
    starts: int = 0

    def console(self, starts: int) -> None:
        """So many starts were shown by now."""
        if starts > self.starts:
            self.since = None
        self.starts = starts

    def reading(self, power: Power, at: MonotonicSeconds) -> None:
        """One more; one that nobody answered says nothing."""
        if power is Power.UNKNOWN:
            self.unanswered += 1
            return
        if power is Power.OFF:
            self.since, self.off_since = None, at if self.off_since is None else self.off_since
            return
        if self.since is None or at - (self.last or at) > LONGEST_GAP_S:
            self.since, self.readings = at, 0
        self.last, self.off_since = at, None
        self.readings += 1

    def on_s(self, now: MonotonicSeconds) -> float:
        """For how long it is on as far as it was looked at."""
        if self.since is None or self.last is None or now - self.last > LONGEST_GAP_S:
            return 0.0
        return self.last - self.since

    def off_s(self, now: MonotonicSeconds) -> float:
        """The same for off."""
        return 0.0 if self.off_since is None else now - self.off_since


async def proof_of_life(work: Work) -> Mapping[str, Any]:
    """What the firmware says, else a sign on the console, else power for long enough: "assumed".

    Power counts while each reading says on and nothing shows a start: after a reset that could
    be seen the time begins anew, so a machine that starts again and again never comes to it.

    Raises:
        OperatorError: PROOF_OF_LIFE_MISSING: it is off, or was never up for long enough.
    """
    clock, row = work.doors.clock, _Row()
    offset = int(work.found["first-on"].get("console_offset", 0))
    ask_at, firmware_tells = clock.monotonic() + ASK_EVERY_S, True
    while True:
        if firmware_tells:
            started = await _has_started(work)
            firmware_tells = started is not None
            if started:
                return {"proof": "boot progress"}
        kept = await asyncio.to_thread(work.doors.consoles.kept.read, work.operation.id, CONSOLE)
        sign = SIGNS.search(kept[offset:])
        if sign is not None:
            return {"proof": "console", "sign": sign.group().decode("ascii", "replace")}
        row.console(len(STARTS.findall(kept[offset:])))
        if clock.monotonic() >= ask_at:
            ask_at = clock.monotonic() + ASK_EVERY_S
            row.reading(await _power(work), clock.monotonic())
        if row.on_s(clock.monotonic()) >= work.doors.site.times.proof_settle_s:
            return _assumed(row, heard=len(kept) > offset)
        _not_over(work, row)
        await clock.sleep(LOOK_S)


async def _has_started(work: Work) -> bool | None:
    """Redfish's boot progress, where the firmware fills it."""
    async with talk(work) as controller:
        return await controller.has_started()


async def _power(work: Work) -> Power:
    async with talk(work) as controller:
        reading = await controller.power()
    await stored(work.doors.records.servers.note_readings, {work.server.name: reading})
    return reading.power


def _assumed(row: _Row, *, heard: bool) -> dict[str, Any]:
    """With what could not be seen: whoever reads the record must not take it for more."""
    unseen = "a reset of which its console shows no text"
    if not heard:
        unseen = "any reset that leaves the power on: its console said nothing"
    on_s = round((row.last or 0.0) - (row.since or 0.0))
    return {
        "proof": "assumed",
        "on_s": on_s,
        "readings": row.readings,
        "unanswered": row.unanswered,
        "starts_seen": row.starts,
        "unseen": unseen,
    }


def _not_over(work: Work, row: _Row) -> None:
    now = work.doors.clock.monotonic()
    if row.off_s(now) >= OFF_FOR_S:
        raise OperatorError(
            ErrorCode.PROOF_OF_LIFE_MISSING,
            "the installed system did not stay on: its power is off",
        )
    if now + LOOK_S >= work.until:
        raise OperatorError(ErrorCode.PROOF_OF_LIFE_MISSING, _why_not(work, row))


def _why_not(work: Work, row: _Row) -> str:
    settle_s = work.doors.site.times.proof_settle_s
    text = f"the installed system was never seen up for {settle_s:.0f} s"
    if row.last is None:
        return f"{text}: its controller did not say that it is on"
    return f"{text}; its console showed {row.starts} texts of a start"
