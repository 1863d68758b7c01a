"""Releases whose wipe waits for its turn."""

from typing import Protocol

from provisioner.servers.turns import Pace, Turn, Wait
from provisioner.units import MonotonicSeconds, OperationId


class Turns(Protocol):
    """A row for each release of what a tenant had; opened with the release itself."""

    def take(self, operation: OperationId, pace: Pace, *, now: MonotonicSeconds) -> Wait | None:
        """Begin the wipe, in the transaction that counts the others; or say why it must wait.

        Raises:
            ConflictError: SUPERSEDED, CANCELLED: it is not this operation's server any more.
        """
        ...

    def turn(self, operation: OperationId) -> Turn:
        """Of an open release that has not begun its wipe.

        Raises:
            ConflictError: OPERATION_ENDED; STATE_CONFLICT: nothing keeps it from its wipe.
        """
        ...

    def let_go(self, operation: OperationId, who: str) -> None:
        """It may begin whatever the others do; a second time changes nothing.

        Raises:
            ConflictError: As `turn`.
        """
        ...

    def waiting(self) -> tuple[Turn, ...]:
        """Those that wait now, in their order."""
        ...
