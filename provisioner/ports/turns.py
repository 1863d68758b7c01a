"""Wipes that wait for their turn."""

from typing import Protocol

from provisioner.servers.allocation import Allocation
from provisioner.servers.turns import Pace, Turn, Wait
from provisioner.units import MonotonicSeconds, OperationId, ServerName


class Turns(Protocol):
    """A row for each release of what a tenant had, and for each later wipe of held disks.

    Opened with the operation itself.
    """

    def take(self, operation: OperationId, pace: Pace, *, now: MonotonicSeconds) -> Wait | None:
        """Begin the wipe, in the transaction that counts the others; or say why it must wait.

        Raises:
            ConflictError: SUPERSEDED, CANCELLED: it is not this operation's server any more.
        """
        ...

    def turn(self, operation: OperationId) -> Turn:
        """Of an open release, or wipe of held disks, that has not begun its wipe.

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

    def held(self, server: ServerName) -> Allocation | None:
        """Whose disks are held on it, as long as no wipe has begun and nobody let one go.

        From its end on, for as long as the pace says; None: nobody's.
        """
        ...

    def waiting(self) -> tuple[Turn, ...]:
        """Those that wait now, in their order."""
        ...
