"""Which failures somebody outside was told of, and which he must be told of yet."""

from dataclasses import dataclass
from typing import Protocol

from provisioner.errors import ErrorCode
from provisioner.units import InstanceId, OperationId, SiteName, WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureNote:
    """One failed operation of an instance.

    Attributes:
        outside_id: Of the note that was left; "" while there is none.
    """

    operation: OperationId
    instance: InstanceId
    code: ErrorCode
    outside_id: str = ""


class FailureNotes(Protocol):
    """Notes of deployments and power commands, at most one a failed operation."""

    def due(self, site: SiteName, since: WallSeconds) -> tuple[FailureNote, ...]:
        """Failed since then, the newest of its instance, which is not deleted; without a note."""
        ...

    def over(self, site: SiteName) -> tuple[FailureNote, ...]:
        """Notes that were left and whose instance had a success since, or is deleted."""
        ...

    def left(self, operation: OperationId, outside_id: str, *, now: WallSeconds) -> None:
        """A note was left under this id."""
        ...

    def given_up(self, operation: OperationId, *, now: WallSeconds) -> None:
        """None was left, and none will be: its instance is not there any more."""
        ...

    def taken_back(self, operation: OperationId, *, now: WallSeconds) -> None:
        """It is gone."""
        ...
