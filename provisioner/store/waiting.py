"""The store from an event loop: off the loop, and patient with a database that is away."""

import asyncio
import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from provisioner.errors import ErrorCode, TransientError

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")

AWAY = frozenset({ErrorCode.DATABASE_BUSY, ErrorCode.DATABASE_FULL})
LONGEST_S = 600.0
FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0


async def stored(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """A call to the store in a thread, again and again while the database is busy or full.

    A database that is away is not a failed step: nothing was changed, the same call is made
    again, for ten minutes at most.

    Raises:
        TransientError: It was away for so long.
        RackwrightError: What the call raises otherwise, at once.
    """
    loop = asyncio.get_running_loop()
    until = loop.time() + LONGEST_S
    pause_s = FIRST_PAUSE_S
    while True:
        try:
            return await asyncio.to_thread(call, *args, **kwargs)
        except TransientError as error:
            if error.code not in AWAY or loop.time() + pause_s > until:
                raise
            log.warning("database: %s", error.brief)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
