"""Progress of several disks at once, as one pair of bytes."""

import threading

from provisioner.agent.order import Link


class Tally:
    """Adds up what the disks' threads have done; the sums never run backwards."""

    def __init__(self, link: Link, total_bytes: int) -> None:
        """Count up to a total over all disks."""
        self._link = link
        self._total = total_bytes
        self._done: dict[str, int] = {}
        self._lock = threading.Lock()

    def reach(self, disk: str, done_bytes: int, note: str) -> None:
        """This disk is so far now, counted from the beginning of the order."""
        with self._lock:
            self._done[disk] = max(done_bytes, self._done.get(disk, 0))
            done = min(sum(self._done.values()), self._total)
        self._link.progress(done, self._total, disk=disk, note=note)

    def done(self, disk: str) -> int:
        """How far this disk is."""
        with self._lock:
            return self._done.get(disk, 0)
