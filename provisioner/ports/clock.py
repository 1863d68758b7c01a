"""Time, so that tests own it."""

from typing import Protocol

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds


class Clock(Protocol):
    """Time, so that tests own it."""

    def wall(self) -> WallSeconds:
        """For records that people read; it may be set, forward and back, at any moment."""
        ...

    def monotonic(self) -> MonotonicSeconds:
        """For durations, ages and deadlines: never set, never back within this process.

        Counted from what the wall clock said when the process began, so that what is stored
        of it can still be compared after a restart, as well as the wall clock then allows.
        """
        ...

    async def sleep(self, duration: Seconds) -> None:
        """Wait without holding a thread."""
        ...
