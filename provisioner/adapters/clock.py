"""The real clock."""

import asyncio
import time

from provisioner.units import MonotonicSeconds, Seconds, WallSeconds


class SystemClock:
    """ports.Clock over the system's clocks and the running event loop."""

    def wall(self) -> WallSeconds:
        """Seconds since 1970; may step when the machine's clock is set."""
        return WallSeconds(time.time())

    def monotonic(self) -> MonotonicSeconds:
        """Seconds from an arbitrary start; never steps."""
        return MonotonicSeconds(time.monotonic())

    async def sleep(self, duration: Seconds) -> None:
        """Wait without holding a thread."""
        await asyncio.sleep(duration)
