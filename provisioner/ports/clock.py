"""Time, so that tests own it."""

from typing import Protocol

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds


class Clock(Protocol):
    """Time, so that tests own it."""

    def wall(self) -> WallSeconds:
        """For records and for deadlines that outlive the process."""
        ...

    def monotonic(self) -> MonotonicSeconds:
        """For durations within this process."""
        ...

    async def sleep(self, duration: Seconds) -> None:
        """Wait without holding a thread."""
        ...
