"""order.Link: what an order sees of the service. Standard library only."""

from provisioner.agent.blobs import Blobs
from provisioner.agent.order import OrderFailedError
from provisioner.agent.reports import Reports


class ServiceLink:
    """Progress, blobs and journal for the order that runs. Thread-safe."""

    def __init__(self, blobs: Blobs, reports: Reports) -> None:
        """Take both."""
        self._blobs = blobs
        self._reports = reports

    def progress(
        self, done_bytes: int, total_bytes: int, *, disk: str = "", note: str = ""
    ) -> None:
        """Report; raises OrderFailedError EPOCH_DIFFERS once the service has closed the order."""
        self._go_on()
        self._reports.progress(disk, done_bytes, total_bytes, note)

    def fetch(self, url: str, *, start: int = 0, length: int | None = None) -> bytes:
        """Bytes of a blob; raises as `progress` does, and BLOBS_UNREACHABLE."""
        return self._blobs.fetch(url, start, length, self._go_on)

    def journal(self, line: str) -> None:
        """A line for the operation's record."""
        self._reports.journal(line)

    def _go_on(self) -> None:
        if self._reports.is_revoked():
            raise OrderFailedError("EPOCH_DIFFERS", "the service has closed this order")
