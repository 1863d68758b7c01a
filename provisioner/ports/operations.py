"""Operations and what their steps did."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import Effect, NewOperation, OperationRecord, Outcome
from provisioner.units import AllocationId, OperationId, ServerName, WallSeconds


class Operations(Protocol):
    """Operations as remembered."""

    def operation(self, operation: OperationId) -> OperationRecord:
        """Raises ConflictError OPERATION_UNKNOWN."""
        ...

    def operations(
        self, *, open_only: bool = False, server: ServerName | None = None, most: int = 100
    ) -> tuple[OperationRecord, ...]:
        """Newest first."""
        ...

    def open(
        self,
        server: ServerName,
        operation: NewOperation,
        *,
        now: WallSeconds,
        of: AllocationId | None = None,
        alone: bool = False,
    ) -> OperationRecord:
        """Move the server and open its operation; an older open one is superseded.

        With `of` only while this allocation has the server, in the same transaction (1);
        `alone` supersedes nothing: ConflictError INSTANCE_BUSY while something else goes on.
        """
        ...

    def close(
        self,
        operation: OperationId,
        outcome: Outcome,
        follow: Callable[[ServerRecord], NewOperation] | None,
        *,
        now: WallSeconds,
    ) -> None:
        """End an open operation with its server's move and what follows; closed stays closed."""
        ...

    def note(self, operation: OperationId, text: str, progress_bytes: tuple[int, int]) -> None:
        """Progress, as the agent acknowledged it."""
        ...

    def cancel(
        self, operation: OperationId, who: str, follow: "FollowUp", *, now: WallSeconds
    ) -> None:
        """Close as cancelled; seen before each step. Once one has begun, quarantine follows.

        What `follow` makes begins when the running act has ended.

        Raises:
            ConflictError: OPERATION_ENDED.
        """
        ...


FollowUp = Callable[[OperationRecord, Outcome], Callable[[ServerRecord], NewOperation] | None]


"""What is opened in the transaction that ends an operation with this outcome; pure."""


class Effects(Protocol):
    """What steps did: begun, done, found."""

    def begin(
        self,
        operation: OperationId,
        step: str,
        *,
        now: WallSeconds,
        dirties: bool = False,
        marks: Sequence[str] = (),
    ) -> Effect:
        """Note a beginning, in the transaction that compares epoch and status.

        Args:
            operation: Whose.
            step: Its name.
            now: When.
            dirties: The step may switch the server on for a tenant: dirty is set here (3).
            marks: Fields of the allocation that are true from here on.

        Raises:
            ConflictError: SUPERSEDED: a newer owner, or the operation is closed.
        """
        ...

    def finish(
        self, operation: OperationId, step: str, result: Mapping[str, Any], *, now: WallSeconds
    ) -> None:
        """Note the end, with what later steps need."""
        ...

    def effects(self, operation: OperationId) -> tuple[Effect, ...]:
        """In the order of their beginning."""
        ...

    def arrived(self, operation: OperationId, what: str) -> None:
        """Record something that was waited for; a second time changes nothing."""
        ...

    def arrivals(self) -> frozenset[tuple[OperationId, str]]:
        """Of all open operations, in one query."""
        ...
