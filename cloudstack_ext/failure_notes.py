"""Failures explained to the tenant: an annotation at the instance, taken back after a success.

CloudStack shows a tenant of a failed deployment one sentence, whatever went wrong.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from cloudstack_ext.client import BAD_PARAMETER, RefusalError
from provisioner.error_catalogue import CATALOGUE
from provisioner.errors import RackwrightError
from provisioner.ports.clock import Clock
from provisioner.ports.failure_notes import FailureNote, FailureNotes
from provisioner.store.waiting import stored
from provisioner.units import OperationId, Seconds, SiteName, WallSeconds

log = logging.getLogger(__name__)

COMMANDS = ("addAnnotation", "listAnnotations", "removeAnnotation")
"""What the service's key needs for it."""
KIND = "VM"
MOST_CHARACTERS = 255
"""Of an annotation: one more is refused."""
ROUND_S = Seconds(5.0)
TOO_LATE_S = 86400.0
"""A failure of yesterday is explained to nobody any more."""


class Annotations(Protocol):
    """The one door to the API."""

    async def call(self, command: str, parameters: Mapping[str, str | int | bool]) -> Any:  # noqa: ANN401 JSON
        """One command's answer."""
        ...


Door = Callable[[SiteName], Awaitable[Annotations | None]]
"""To one site; None: it is not asked."""


def text_of(note: FailureNote) -> str:
    """Code, one sentence that names no hardware, and the operation that an operator looks up."""
    cause, _ = CATALOGUE[note.code]
    ending = f" (operation {note.operation})"
    room = MOST_CHARACTERS - len(ending)
    said = f"{note.code}: {cause}"
    return (said if len(said) <= room else said[: room - 1] + "…") + ending


class _End(Protocol):
    """Marks a note as one that nothing is done for any more."""

    def __call__(self, operation: OperationId, *, now: WallSeconds) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Rounds over all sites; a site or a note that is not answered is tried again."""

    sites: tuple[SiteName, ...]
    door: Door
    notes: FailureNotes
    clock: Clock

    async def run(self) -> None:
        """For as long as the service lives."""
        while True:
            for site in self.sites:
                try:
                    await self.round(site)
                except RackwrightError as error:
                    log.warning("a failure is not explained yet: %s", error, extra={"site": site})
            await self.clock.sleep(ROUND_S)

    async def round(self, site: SiteName) -> None:
        """Leave what is due, take back what is over."""
        since = WallSeconds(self.clock.wall() - TOO_LATE_S)
        due = await stored(self.notes.due, site, since)
        over = await stored(self.notes.over, site)
        if not due and not over:
            return
        door = await self.door(site)
        if door is None:
            return
        for note in due:
            await self._by_itself(site, note, self._leave(door, note), self.notes.given_up)
        for note in over:
            await self._by_itself(site, note, self._take_back(door, note), self.notes.taken_back)

    async def _by_itself(
        self, site: SiteName, note: FailureNote, act: Awaitable[None], end: _End
    ) -> None:
        """What becomes of one note keeps no other; what failed is due in the next round too."""
        try:
            try:
                await act
            except RefusalError as error:
                if error.status != BAD_PARAMETER:
                    raise
                # the instance is expunged: CloudStack knows neither it nor its notes ever again
                await stored(partial(end, note.operation, now=self.clock.wall()))
                log.info("a failure is not explained: %s", error, extra=_fields(site, note))
        except RackwrightError as error:
            log.warning("a failure is not explained yet: %s", error, extra=_fields(site, note))

    async def _leave(self, door: Annotations, note: FailureNote) -> None:
        outside_id = await _found(door, note) or await _added(door, note)
        await stored(partial(self.notes.left, note.operation, outside_id, now=self.clock.wall()))

    async def _take_back(self, door: Annotations, note: FailureNote) -> None:
        if await _found(door, note) == note.outside_id:
            await door.call("removeAnnotation", {"id": note.outside_id})
        await stored(partial(self.notes.taken_back, note.operation, now=self.clock.wall()))


def _fields(site: SiteName, note: FailureNote) -> dict[str, object]:
    return {"site": site, "instance": note.instance, "operation": note.operation}


async def _added(door: Annotations, note: FailureNote) -> str:
    told = {
        "entityid": note.instance,
        "entitytype": KIND,
        "annotation": text_of(note),
        "adminsonly": "false",
    }
    answer = await door.call("addAnnotation", told)
    return str(answer["annotation"]["id"])


async def _found(door: Annotations, note: FailureNote) -> str:
    """An answer may have been lost on its way here; the operation's id is in the text."""
    answer = await door.call("listAnnotations", {"entityid": note.instance, "entitytype": KIND})
    return next(
        (
            str(each["id"])
            for each in answer.get("annotation", ())
            if note.operation in str(each.get("annotation", ""))
        ),
        "",
    )
