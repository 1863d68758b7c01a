"""What the operators' API asks of the rest: protocols and the values they answer with.

Every method may raise InputError, ConflictError, OperatorError or TransientError; the API
answers them as they are. With `dry_run` nothing is written and no controller is called.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from provisioner.config import Role
from provisioner.operations.server_change import Change
from provisioner.ports.catalogue import ImageRecord
from provisioner.ports.journal import AuditEntry
from provisioner.ports.site_keys import SiteKey
from provisioner.secret import Secret
from provisioner.servers.manifest import ServerEntry
from provisioner.servers.model import Pool, ServerRecord
from provisioner.servers.operation import OperationRecord
from provisioner.servers.turns import Turn
from provisioner.units import (
    ImageName,
    InstanceId,
    OperationId,
    ServerName,
    SiteName,
    WallSeconds,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """Who asks: a local user by uid, or the holder of a token.

    Attributes:
        name: Stands in evidence and audit.
        by: "uid 1000" or "token": how the service knows.
    """

    name: str
    role: Role
    by: str

    def who(self) -> str:
        """As it is written down."""
        return f"operator {self.name} ({self.by})"


# --- what is asked of one server ------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Speak to its controller: identity and certificate are pinned, then it is inspected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspect:
    """Boot the agent and store what it finds as the baseline."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provide:
    """Wipe it and offer it.

    Attributes:
        erase: Serials of disks that a person says may be erased although they carry data.
    """

    erase: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintain:
    """Do not hand it out until somebody says otherwise; it stays where it is in its life."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EndMaintenance:
    """Hand it out again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantine:
    """Off, port shut in, a person looks at it."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retire:
    """Out of service for good; its history stays."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebaseline:
    """Take a new baseline after a repair, then wipe it and offer it.

    Attributes:
        reason: What was repaired; it stands in the evidence of the wipe.
        erase: As in `Provide`.
    """

    reason: str
    erase: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopt:
    """Bind it, running, to an instance that CloudStack made without starting it."""

    site: SiteName
    instance: InstanceId


ServerAct = (
    Verify
    | Adopt
    | Inspect
    | Rebaseline
    | Provide
    | Maintain
    | EndMaintenance
    | Quarantine
    | Retire
)


# --- what is answered ----------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    """One call to a controller, port or boot service, as the journal words it."""

    door: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStep:
    """One step of an operation, with the calls it makes where all goes well."""

    name: str
    calls: tuple[PlannedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What became of a request.

    Attributes:
        text: One line.
        operation: What was opened for it; None where it was done at once, and in a dry run.
        steps: Of that operation, or of the one that a dry run would open.
    """

    text: str
    server: ServerName
    dry_run: bool
    operation: OperationId | None = None
    steps: tuple[PlannedStep, ...] = ()
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of an operation, with its times.

    Attributes:
        name: From the closed list of the operation's steps.
        seconds: From its first beginning to its end, or until now; None before it began.
    """

    name: str
    began_at: WallSeconds | None
    ended_at: WallSeconds | None
    seconds: float | None
    beginnings: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView:
    """An operation with all its stages, those to come included."""

    record: OperationRecord
    stages: tuple[Stage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCall:
    """One call to a controller, port, boot service or agent, as it was made."""

    at: WallSeconds
    server: ServerName
    door: str
    text: str
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Readiness:
    """Whether the service does its work.

    Attributes:
        held: Why it hands out and releases nothing; "" where it is not held (invariant 16).
        missing: What keeps it from working (database, blobs, ramdisk), one line each.
        breakers: Servers whose controller is left alone after too many failures.
    """

    held: str = ""
    missing: tuple[str, ...] = ()
    breakers: tuple[ServerName, ...] = ()

    def is_ready(self) -> bool:
        """Verbs are answered with more than "not now"."""
        return not self.held and not self.missing


# --- the protocols -------------------------------------------------------------------------
class ServerDesk(Protocol):
    """Servers and what is asked of them."""

    async def servers(self) -> tuple[ServerRecord, ...]:
        """All, by name."""
        ...

    async def server(self, name: ServerName) -> ServerRecord:
        """Raises ConflictError SERVER_UNKNOWN."""
        ...

    async def enrol(
        self, entry: ServerEntry, password: Secret, by: Operator, *, dry_run: bool
    ) -> Asked:
        """Remember a server and verify its controller.

        Raises:
            ConflictError: SERVER_EXISTS.
            InputError: POOL_UNKNOWN.
        """
        ...

    async def change(
        self, name: ServerName, change: Change, by: Operator, *, dry_run: bool
    ) -> Asked:
        """Correct what was said at enrolment, and prove that it is the same machine.

        Raises:
            ConflictError: STATE_CONFLICT: not now. SERVER_EXISTS: another server has this.
            InputError: USAGE: nothing would change.
        """
        ...

    async def act(self, name: ServerName, act: ServerAct, by: Operator, *, dry_run: bool) -> Asked:
        """Write the intent; whoever runs operations acts on it."""
        ...


class OperationDesk(Protocol):
    """Operations, running and past."""

    async def operations(
        self, *, open_only: bool, server: ServerName | None, most: int
    ) -> tuple[OperationRecord, ...]:
        """Newest first."""
        ...

    async def operation(self, operation: OperationId) -> OperationView:
        """Raises ConflictError OPERATION_UNKNOWN."""
        ...

    async def cancel(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """End it before its next step; quarantine follows where power was touched.

        Raises:
            ConflictError: OPERATION_ENDED.
        """
        ...

    async def retry(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """Open the same again for the same server, where the server's state allows it."""
        ...

    async def release(self, operation: OperationId, by: Operator, *, dry_run: bool) -> Asked:
        """Let a release go on whose wipe waits, whatever it waits for.

        Raises:
            ConflictError: OPERATION_ENDED; STATE_CONFLICT: nothing keeps it from going on.
        """
        ...

    async def bundle(self, operation: OperationId) -> bytes:
        """A tar.gz: record, console, agent's journal, boot files, DHCP lines; no secret."""
        ...


class CatalogueDesk(Protocol):
    """Pools and images."""

    async def pools(self) -> tuple[Pool, ...]:
        """All, by name."""
        ...

    async def put_pool(self, pool: Pool, by: Operator) -> None:
        """Make or replace.

        Raises:
            InputError: IMAGE_MISSING: its map names an image that is not imported.
        """
        ...

    async def images(self) -> tuple[ImageRecord, ...]:
        """All, by name."""
        ...

    async def put_image(self, image: ImageRecord, by: Operator) -> None:
        """Remember an imported image.

        Raises:
            ConflictError: IMAGE_EXISTS: the name was given to other bytes.
            InputError: IMAGE_MISSING: its files are not where they must be.
        """
        ...

    async def remove_image(self, name: ImageName, by: Operator) -> ImageRecord:
        """Out of use; its files are its importer's to delete. The record as it was.

        Raises:
            InputError: IMAGE_UNKNOWN.
            ConflictError: IN_USE.
        """
        ...


class RecordDesk(Protocol):
    """What was written down, and how the service is."""

    async def evidence(self) -> tuple[Mapping[str, Any], ...]:
        """The whole chain, oldest first, each as it was signed and stored."""
        ...

    async def evidence_key(self) -> str:
        """The public key in use, PEM: for comparing, never for verifying."""
        ...

    async def calls(
        self, *, server: ServerName | None, since: WallSeconds, most: int
    ) -> tuple[JournalCall, ...]:
        """Of the journal, oldest first."""
        ...

    async def audited(
        self, *, server: ServerName | None, since: WallSeconds, most: int
    ) -> tuple[AuditEntry, ...]:
        """Who did what, newest first; of a server with its operations and instances."""
        ...

    async def readiness(self) -> Readiness:
        """Asked now."""
        ...

    async def waiting(self) -> tuple[Turn, ...]:
        """Releases whose wipe waits, in their order."""
        ...


class SiteKeyDesk(Protocol):
    """By which key each site is asked about its instances; its secret never comes back."""

    async def site_key(self, site: SiteName) -> SiteKey | None:
        """None: this site is not asked."""
        ...

    async def put_site_key(self, key: SiteKey, by: Operator) -> None:
        """Ask by this one from now on."""
        ...

    async def remove_site_key(self, site: SiteName, by: Operator) -> bool:
        """Ask no more; False where there was none."""
        ...
