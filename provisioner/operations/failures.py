"""Deployments that failed a short while ago: answered at once, nothing is tried again."""

from dataclasses import dataclass, field

from provisioner.errors import OperatorError
from provisioner.ports.allocations import Allocations
from provisioner.ports.clock import Clock
from provisioner.servers.allocation import Failure, InstanceKey
from provisioner.store.waiting import stored


@dataclass(slots=True)
class FailureMemory:
    """What failed is on record; how long ago is measured here (invariant 8).

    Attributes:
        memory_s: For so long the answer is the same.
    """

    allocations: Allocations
    clock: Clock
    memory_s: float
    _since: dict[InstanceKey, tuple[float, float]] = field(default_factory=dict)

    async def check(self, key: InstanceKey) -> None:
        """Raises the failure of this instance that is not forgotten yet."""
        failure = await stored(self.allocations.failure, key)
        if failure is not None and self._age(key, failure) < self.memory_s:
            raise OperatorError(failure.code, failure.brief)

    async def note(self, key: InstanceKey) -> None:
        """It has failed just now: its age counts from here."""
        failure = await stored(self.allocations.failure, key)
        if failure is not None:
            self._age(key, failure)

    def _age(self, key: InstanceKey, failure: Failure) -> float:
        """What failed before this process began, or unseen, is as old as the wall clock says."""
        now, known = self.clock.monotonic(), self._since.get(key)
        if known is None or known[0] != failure.at:
            known = (failure.at, now - max(0.0, self.clock.wall() - failure.at))
            young = {each: of for each, of in self._since.items() if now - of[1] < self.memory_s}
            self._since = young | {key: known}
        return now - known[1]
