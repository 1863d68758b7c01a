"""The listener for CloudStack's entry point: one verb a request, one line an answer.

What a verb means is given, and who calls: this module knows sizes, and how to hold a
connection to the end. The answer's body is the line to print, a header its exit status.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from provisioner.about import about
from provisioner.errors import ErrorCode, InputError, RackwrightError
from provisioner.ports.clock import Clock
from provisioner.service.body import read_body
from provisioner.service.callers import Caller, CallerOf
from provisioner.service.metrics import Metrics
from provisioner.service.replies import application, status_of

log = logging.getLogger(__name__)

PATH: Final = "/v1/verbs"
EXIT_HEADER: Final = "Rackwright-Exit"
MOST_BYTES: Final = 4 * 1024 * 1024


Answer = Callable[[str, bytes, str, Caller], Awaitable[tuple[str, int]]]
"""Verb, payload, wait as the entry passed it: the line to print and its exit status."""
Refuse = Callable[[RackwrightError], tuple[str, int]]
"""An error of this listener in the same form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """What the listener needs.

    Attributes:
        caller_of: Asked before anything of a request's body is read.
        names: Of all verbs and actions. What a caller calls by another name is counted as one:
            each name is kept for as long as the service lives.
        stopping: Set when the service is about to end.
    """

    answer: Answer
    refuse: Refuse
    caller_of: CallerOf
    names: frozenset[str]
    clock: Clock
    metrics: Metrics
    stopping: asyncio.Event

    def app(self) -> Starlette:
        """The application; its connections note what `caller_of` looks at."""
        return application([Route(PATH, self._verb, methods=["POST"])])

    async def _verb(self, request: Request) -> Response:
        began = self.clock.monotonic()
        if self.stopping.is_set():  # begin nothing now: the entry asks again
            return Response("the service is stopping", 503)
        try:
            caller = self.caller_of(request)
            payload = await read_body(request, MOST_BYTES)
            verb, wait = _one(request, "verb"), _one(request, "wait")
        except RackwrightError as error:
            log.warning("refused: %s", error, extra={"code": error.code})
            line, status = self.refuse(error)
            return _reply(line, status, status_of(error))
        with about(site=caller.site):  # whoever answers adds what it learns
            answered = await self._held(self.answer(verb, payload, wait, caller))
            if answered is None:
                return Response("the service is stopping", 503)
            line, status = answered
            seconds = self.clock.monotonic() - began
            self.metrics.verb(verb if verb in self.names else "unknown", status, seconds)
            said = f": {line}" if status else ""
            log.info("verb %s: exit %d in %.3f s%s", verb, status, seconds, said)
        return _reply(line, status, 200)

    async def _held(self, answer: Awaitable[tuple[str, int]]) -> tuple[str, int] | None:
        """The answer, or None when the service ends first: then the entry asks again.

        A caller that goes away changes nothing: what a verb began goes to its end.
        """
        running = asyncio.ensure_future(answer)
        ending = asyncio.ensure_future(self.stopping.wait())
        await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if running.done():
            return running.result()
        running.cancel()
        return None


def _one(request: Request, key: str) -> str:
    values = request.query_params.getlist(key)
    if len(values) != 1 or not values[0]:
        raise InputError(ErrorCode.USAGE, f"the query needs {key} exactly once")
    return values[0]


def _reply(line: str, status: int, http_status: int) -> Response:
    headers = {EXIT_HEADER: str(status)}
    return Response(line.encode(), http_status, headers, media_type="application/json")
