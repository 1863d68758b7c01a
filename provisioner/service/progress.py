"""How far the agents are: the disks of one order summed up, at most one line a second kept."""

from collections import OrderedDict
from dataclasses import dataclass, field

from provisioner.ports.clock import Clock
from provisioner.service.agent_bodies import Progress
from provisioner.units import MonotonicSeconds, OperationId

EVERY_S = 1.0
MOST_OPERATIONS = 4096
MOST_DISKS = 1024
MOST_BYTES = 2**63 - 1
"""What a row can hold; an agent may claim more."""


@dataclass(slots=True)
class _Sum:
    order: int
    disks: dict[str, tuple[int, int]] = field(default_factory=dict)
    told_at: MonotonicSeconds | None = None


@dataclass(slots=True)
class ProgressBook:
    """Of this process only: progress that a restart forgets is sent anew."""

    clock: Clock
    _sums: OrderedDict[OperationId, _Sum] = field(default_factory=OrderedDict)

    def add(self, operation: OperationId, progress: Progress) -> tuple[int, int] | None:
        """The sum over all disks of the order, or None where it was told a moment ago."""
        known = self._sums.pop(operation, None)
        if known is None or known.order != progress.order:
            known = _Sum(order=progress.order)
        self._sums[operation] = known
        if len(self._sums) > MOST_OPERATIONS:
            self._sums.popitem(last=False)
        name = progress.disk or ""
        if name in known.disks or len(known.disks) < MOST_DISKS:
            known.disks[name] = (progress.done_bytes, progress.total_bytes)
        done = min(MOST_BYTES, sum(each[0] for each in known.disks.values()))
        total = min(MOST_BYTES, sum(each[1] for each in known.disks.values()))
        now = self.clock.monotonic()
        if known.told_at is not None and now - known.told_at < EVERY_S and done < total:
            return None
        known.told_at = now
        return done, total
