"""How often one source may ask: a bucket a source, refilled steadily."""

from collections import OrderedDict
from dataclasses import dataclass, field

from provisioner.errors import ErrorCode, TransientError
from provisioner.ports.clock import Clock

MOST_SOURCES = 4096
"""The least recently seen is forgotten: an attacker's many sources must not fill memory."""


@dataclass(slots=True)
class Rate:
    """A bound a source.

    Attributes:
        per_second: How fast a bucket fills.
        burst: How much it holds.
    """

    clock: Clock
    per_second: float
    burst: float
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, source: str) -> None:
        """Count one request.

        Raises:
            TransientError: TOO_MANY_REQUESTS.
        """
        now = float(self.clock.monotonic())
        left, at = self._buckets.pop(source, (self.burst, now))
        left = min(self.burst, left + (now - at) * self.per_second)
        self._buckets[source] = (max(0.0, left - 1.0), now)
        if len(self._buckets) > MOST_SOURCES:
            self._buckets.popitem(last=False)
        if left < 1.0:
            text = f"more than {self.per_second:g} requests a second"
            raise TransientError(ErrorCode.TOO_MANY_REQUESTS, text)
