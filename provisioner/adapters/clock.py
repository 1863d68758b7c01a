"""The real clock."""

import asyncio
import time

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds

BEGAN_WALL, BEGAN = time.time(), time.monotonic()
"""One pair for the whole process: stored times of one clock are compared with those of another."""


class SystemClock:
    """ports.Clock over the system's clocks and the running event loop."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def go_on_after(self, stored: MonotonicSeconds) -> None:
        """Count on from there, so that what is stored lies in the past again, as it must.

        For a wall clock that was set back while nothing ran: by how much, nobody can tell.
        """
        self._ahead += max(0.0, stored - self.monotonic())

    def wall(self) -> WallSeconds:
        """Seconds since 1970; may step when the machine's clock is set."""
        return WallSeconds(time.time())

    def monotonic(self) -> MonotonicSeconds:
        """The wall time at which the process began, and what has passed since; never steps."""
        return MonotonicSeconds(BEGAN_WALL + self._ahead + time.monotonic() - BEGAN)

    async def sleep(self, duration: Seconds) -> None:
        """Wait without holding a thread."""
        await asyncio.sleep(duration)
