"""What is remembered of instances, for those who ask how they are."""

from typing import Protocol

from provisioner.servers.allocation import InstanceKey, Remembered
from provisioner.servers.operation import OperationRecord
from provisioner.units import MonotonicSeconds, SiteName


class Observations(Protocol):
    """Each answer is of one moment; readings from `since` on."""

    def of_instance(self, key: InstanceKey, since: MonotonicSeconds) -> Remembered | None:
        """None where it was never heard of."""
        ...

    def of_site(self, site: SiteName, since: MonotonicSeconds) -> tuple[Remembered, ...]:
        """All of a site but those that were deleted, by instance."""
        ...

    def unfenced(self, site: SiteName) -> tuple[Remembered, ...]:
        """Of a site's deleted instances those whose server was not seen off since."""
        ...

    def operations_of(self, key: InstanceKey, most: int) -> tuple[OperationRecord, ...]:
        """What was done for an instance, on whichever server; newest first."""
        ...
