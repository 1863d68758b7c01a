"""What was called and what operators did, in order."""

from dataclasses import dataclass
from typing import Protocol

from provisioner.units import OperationId, ServerName, WallSeconds


class CallJournal(Protocol):
    """Every call to a controller or port, in order, as it was made."""

    def call(self, server: ServerName, door: str, text: str, outcome: str) -> None:
        """Note one call.

        Args:
            server: Whose.
            door: "controller", "port", "boot", "agent".
            text: The call in one line, as dry run prints it; no secret.
            outcome: "ok", or the error's code and brief.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call as the journal has it.

    Attributes:
        operation: The one that was open on the server then; None between operations.
    """

    at: WallSeconds
    server: ServerName
    operation: OperationId | None
    door: str
    text: str
    outcome: str


class CallHistory(Protocol):
    """The journal read back."""

    def calls(
        self,
        *,
        server: ServerName | None = None,
        operation: OperationId | None = None,
        since: WallSeconds | None = None,
        most: int = 1000,
    ) -> tuple[Call, ...]:
        """Of a server, or of an operation, the newest so many; oldest first."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What somebody did.

    Attributes:
        who: As the listener identified them: an operator, or a site's CloudStack with its uid
            and the account it claims.
        subject: A server, pool, image, operation, or an instance's uuid.
    """

    at: WallSeconds
    who: str
    act: str
    subject: str
    detail: str = ""


class Audit(Protocol):
    """Append-only."""

    def audit(self, who: str, act: str, subject: str, detail: str = "") -> None:
        """Note one act; no secret in it."""
        ...

    def entries(
        self,
        *,
        server: ServerName | None = None,
        since: WallSeconds | None = None,
        most: int = 100,
    ) -> tuple[AuditEntry, ...]:
        """Newest first; of a server with its operations and of whoever had it."""
        ...
