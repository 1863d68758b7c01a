"""Who has what: whole moves, each one transaction."""

from collections.abc import Callable
from typing import Any, Protocol

from provisioner.errors import InputError
from provisioner.servers.allocation import (
    Allocation,
    Failure,
    InstanceKey,
    InstanceRequest,
    Protection,
)
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import NewOperation
from provisioner.units import (
    AllocationId,
    ImageName,
    MonotonicSeconds,
    OperationId,
    ServerName,
    WallSeconds,
)


class HandOver(Protocol):
    """Gives an operation to the durable engine, in the caller's transaction."""

    def __call__(self, connection: Any, operation: OperationId, server: ServerName) -> None:  # noqa: ANN401 the store's own connection
        """Both or neither."""
        ...


WhyUnfit = Callable[[ServerRecord], InputError | None]
"""Asked of each free server in turn, inside the transaction; pure. None: it fits."""


def fits_always(_server: ServerRecord) -> None:
    """Any free one."""


class Allocations(Protocol):
    """Who has what; whole moves, each one transaction."""

    def allocation(self, key: InstanceKey) -> Allocation | None:
        """The living one, else the newest ended one."""
        ...

    def is_deleted(self, key: InstanceKey) -> bool:
        """It has a tombstone: nothing of it begins any more."""
        ...

    def reserve(
        self,
        request: InstanceRequest,
        *,
        until: MonotonicSeconds,
        now: WallSeconds,
        why_unfit: WhyUnfit = fits_always,
    ) -> Allocation:
        """The first free server of the pool by name, or the one already kept.

        Raises:
            ConflictError: INSTANCE_DELETED.
            TransientError: NO_CAPACITY.
        """
        ...

    def allocate_and_open(
        self,
        request: InstanceRequest,
        image: ImageName,
        operation: NewOperation,
        *,
        now: WallSeconds,
        on: ServerName | None = None,
    ) -> Allocation:
        """Take over the reservation, or reserve, and open the deployment, in one transaction.

        A living allocation past RESERVED is answered as it is, and nothing is opened: its
        `operation` is then another one. `on` is the server that the operation was prepared
        for (its seed carries that server's MACs).

        Raises:
            ConflictError: INSTANCE_BUSY: it would have been another server than `on`.
        """
        ...

    def adopt(
        self, key: InstanceKey, server: ServerName, who: str, *, now: WallSeconds
    ) -> Allocation:
        """Bind a server that runs to an instance as it is, ACTIVE and dirty; no hardware.

        What its caller wants of its power is not known before its first verb.

        Raises:
            ConflictError: STATE_CONFLICT, INSTANCE_DELETED, IN_USE.
        """
        ...

    def end_and_open(
        self,
        key: InstanceKey,
        reason: str,
        operation: NewOperation | None,
        *,
        tombstone: bool,
        now: WallSeconds,
        still: Callable[[Allocation], bool] | None = None,
        protection: Protection = Protection.NOT_ASKED,
    ) -> Allocation | None:
        """End the living allocation and open its server's release, in one transaction.

        A QUARANTINED server stays so. RESERVED and never powered: AVAILABLE, nothing opened.
        Timers give `still`: asked in the transaction, False leaves everything as it is. None
        is answered where nothing was ended. Where the instance is protected, or nobody could
        say, its wipe waits.
        """
        ...

    def living(self) -> tuple[Allocation, ...]:
        """All that have not ended, in one query."""
        ...

    def last_tenant(self, server: ServerName) -> Allocation | None:
        """Of a dirty server: the newest ended one that may have left data there; else None."""
        ...

    def by_id(self, allocation: AllocationId) -> Allocation:
        """Living or ended."""
        ...

    def confirm_off(self, server: ServerName) -> None:
        """Off was seen since its allocations have ended: it is so for all of them."""
        ...

    def mark(self, allocation: AllocationId, **fields: Any) -> None:  # noqa: ANN401 fields of Allocation
        """Set named fields; never phase, server or end, which only moves may change."""
        ...

    def failure(self, key: InstanceKey) -> Failure | None:
        """How its last deployment or power operation failed; None where it did not."""
        ...
