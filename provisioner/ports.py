"""What we need of the outside, as small protocols. An adapter implements one; so does a fake.

Ports of hardware and network are asynchronous. Ports of the store are plain calls: they
block on the database and are made off the loop.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from provisioner.secret import Secret
from provisioner.servers.allocation import (
    Allocation,
    Failure,
    InstanceKey,
    InstanceRequest,
    InstanceView,
)
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    FirmwareMode,
    Pool,
    PortPlacement,
    Power,
    PowerReading,
    ServerRecord,
)
from provisioner.servers.operation import (
    AgentOrder,
    Boot,
    Effect,
    NewOperation,
    OperationRecord,
    Outcome,
)
from provisioner.units import (
    AllocationId,
    ImageName,
    MacAddress,
    MonotonicSeconds,
    OperationId,
    PoolName,
    Seconds,
    ServerName,
    WallSeconds,
)


# --- time and processes ---------------------------------------------------------------------
class Clock(Protocol):
    """Time, so that tests own it."""

    def wall(self) -> WallSeconds:
        """For records and for deadlines that outlive the process."""
        ...

    def monotonic(self) -> MonotonicSeconds:
        """For durations within this process."""
        ...

    async def sleep(self, duration: Seconds) -> None:
        """Wait without holding a thread."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a child ended. A status other than 0 is a value, not an error."""

    status: int
    output: bytes
    error: bytes = b""


class Processes(Protocol):
    """The only way to start a local process."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        limit: Seconds,
        environ: Mapping[str, str] | None = None,
        given: bytes = b"",
    ) -> Ended:
        """Run without a shell; `given` goes to its standard input; its group dies at the limit.

        Raises:
            TimeoutError: The limit passed; nothing of the child is left.
        """
        ...


class Child(Protocol):
    """A process that is spoken to while it runs."""

    async def say(self, given: bytes) -> None:
        """Write to its standard input, or to its terminal.

        Raises:
            ConnectionError: It has ended.
        """
        ...

    async def hear(self, most: int) -> bytes:
        """What it writes next, at most so many bytes; b"" once it has ended."""
        ...

    async def hear_line(self, most: int) -> bytes:
        """One whole line; shorter and without its end once the child has ended.

        Raises:
            ValueError: The line is longer than `most`.
        """
        ...

    async def end(self) -> None:
        """Kill its group and wait; safe to repeat."""
        ...


class Children(Protocol):
    """Starts a process that stays; it dies with this one."""

    async def start(
        self, argv: Sequence[str], *, terminal: bool = False, given: bytes = b""
    ) -> Child:
        """Start without a shell.

        Args:
            argv: An argument equal to GIVEN_FILE becomes the path of a file with `given` in it.
            terminal: Its input and output are a terminal of its own, else pipes.
            given: Held in memory only, readable by this child alone.
        """
        ...


GIVEN_FILE = "@given"
"""Stands in argv for the file that a child reads its secret from."""


# --- controllers ------------------------------------------------------------------------------
class PowerAct(StrEnum):
    """What a power button can do; CYCLE is off and on by the controller itself."""

    ON = "on"
    OFF = "off"
    CYCLE = "cycle"
    SOFT_OFF = "soft-off"


class BootDevice(StrEnum):
    """Where the next start looks first."""

    NETWORK = "network"
    DISK = "disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootSetting:
    """What a controller says about the next start; None is "this one does not report it"."""

    device: BootDevice | None
    once: bool | None = None
    mode: FirmwareMode | None = None


class Controller(Protocol):
    """One baseboard management controller, one call at a time.

    Every call may raise TransientError (CONTROLLER_UNREACHABLE, CONTROLLER_BUSY: call again),
    OperatorError (CONTROLLER_PASSWORD: never again with this password; CONTROLLER_CERTIFICATE,
    CONTROLLER_REFUSED, CONTROLLER_NONSENSE). An answer is never taken for an outcome.
    """

    async def identity(self) -> ControllerIdentity:
        """Who it says it is."""
        ...

    async def read_power(self) -> Power:
        """Asked now, never cached."""
        ...

    async def press(self, act: PowerAct) -> None:
        """Return when the controller accepted; whether it happened is for the next reading."""
        ...

    async def set_boot_once(self, device: BootDevice, mode: FirmwareMode) -> None:
        """For the next start only; the mode goes along always (some boards flip without it)."""
        ...

    async def read_boot(self) -> BootSetting:
        """What it reports of the setting."""
        ...

    async def close(self) -> None:
        """End sessions; slots are few on many controllers."""
        ...


@runtime_checkable
class RestorePolicy(Protocol):
    """What a controller does when mains return; a second face of a Controller."""

    async def stay_off(self) -> None:
        """Ask for "stay off".

        Raises:
            OperatorError: CONTROLLER_REFUSED: this one has no such setting.
        """
        ...


@runtime_checkable
class NonceKeeper(Protocol):
    """A place in a controller that the machine itself can read; a face of some Controllers."""

    async def leave_nonce(self, nonce: bytes) -> str:
        """Leave 13 bytes; answers the way to read them in band: "ipmi-sel" or "media"."""
        ...

    async def remove_nonce(self) -> None:
        """Take it back."""
        ...


@runtime_checkable
class ConsoleSource(Protocol):
    """A serial console as far as the controller delivers it."""

    def stream(self) -> AsyncIterator[bytes]:
        """Until the controller ends it: many go silent at power-off and must be opened anew."""
        ...


@runtime_checkable
class AddressFinder(Protocol):
    """A face of a Controller that found out by talking how it is best spoken to."""

    def found_address(self) -> ControllerAddress:
        """The address with what the first answer completed: cipher suite, system."""
        ...


class Controllers(Protocol):
    """Makes a Controller when needed; dropped by `close`."""

    def open(
        self,
        address: ControllerAddress,
        password: Secret,
        driver: ControllerDriver,
        *,
        certificate_sha256: str | None,
    ) -> Controller:
        """No call goes out yet.

        Args:
            address: Where.
            password: Of the user in the address.
            driver: Which library.
            certificate_sha256: Pinned; checked before the password is sent. None at enrolment.
        """
        ...


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


# --- network ------------------------------------------------------------------------------------
class SwitchPorts(Protocol):
    """The ports behind the servers' cards."""

    async def read(self, port: str) -> PortPlacement:
        """Where it leads now; Placement.UNKNOWN where the adapter cannot see it."""
        ...

    async def place(self, port: str, wanted: PortPlacement) -> None:
        """Move it; reading back is the caller's.

        Raises:
            OperatorError: PORT_NOT_SET, PORT_ISOLATION_UNDECLARED.
            TransientError: The switch is away; call again.
        """
        ...


class BootOffers(Protocol):
    """To whom the provisioning network's DHCP answers."""

    async def offer(self, mac: MacAddress, server: ServerName) -> None:
        """Answer this MAC from now on."""
        ...

    async def withdraw(self, mac: MacAddress) -> None:
        """Never answer it again; safe to repeat."""
        ...

    async def lines(self, mac: MacAddress, since: WallSeconds) -> tuple[str, ...]:
        """What the DHCP server logged about this MAC."""
        ...


# --- whole operations, for verbs -------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A server is kept for the instance; `macs` by nicUuid are the server's own."""

    server: ServerName
    macs: Mapping[str, MacAddress]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A verb's success in one line for the caller."""

    text: str


class Machines(Protocol):
    """Bare metal as whole operations: ours, or another engine's.

    Raises InputError, ConflictError, OperatorError or TransientError with a brief that a
    tenant may read. `until` is the moment by which an answer must be given.
    """

    async def reserve(self, request: InstanceRequest) -> Reserved:
        """Keep a server for this instance; asking again gives the same one."""
        ...

    async def deploy(self, request: InstanceRequest, *, until: WallSeconds) -> Answer:
        """Install and start; attach to a running deployment; start an installed instance."""
        ...

    async def power(self, request: InstanceRequest, act: PowerAct, *, until: WallSeconds) -> Answer:
        """ON is start, OFF is stop (graceful first), CYCLE is reboot."""
        ...

    async def release(self, key: InstanceKey, who: str, *, until: WallSeconds) -> Answer:
        """End the allocation for good; success also where there is none."""
        ...

    async def observe(self, key: InstanceKey) -> InstanceView:
        """What is remembered; milliseconds, no controller."""
        ...


# --- keys -----------------------------------------------------------------------------------
class Cipher(Protocol):
    """Secrets at rest; the key lies outside the database and has an id, so it can be rotated."""

    def seal(self, clear: bytes, *, purpose: str) -> str:
        """Text to store: format version, key id, nonce, ciphertext; bound to its purpose."""
        ...

    def open(self, sealed: str, *, purpose: str) -> bytes:
        """Back to bytes.

        Raises:
            OperatorError: Another key, another purpose, or changed text.
        """
        ...


class Signer(Protocol):
    """Signs evidence with the site's Ed25519 key."""

    def key_id(self) -> str:
        """SHA-256 of the public key, hex."""
        ...

    def sign(self, message: bytes) -> str:
        """Signature, hex."""
        ...


# --- the store ----------------------------------------------------------------------------------
class HandOver(Protocol):
    """Gives an operation to the durable engine, in the caller's transaction."""

    def __call__(self, connection: Any, operation: OperationId, server: ServerName) -> None:  # noqa: ANN401 the store's own connection
        """Both or neither."""
        ...


class Servers(Protocol):
    """Servers as remembered."""

    def server(self, name: ServerName) -> ServerRecord:
        """Raises ConflictError SERVER_UNKNOWN."""
        ...

    def servers(self) -> tuple[ServerRecord, ...]:
        """All, by name."""
        ...

    def enrol(self, record: ServerRecord, password: Secret) -> None:
        """Remember a new one; a known identity continues its history, dirty.

        Raises:
            ConflictError: SERVER_EXISTS: name, controller address, system uuid or MAC is taken.
        """
        ...

    def change(self, name: ServerName, **fields: Any) -> None:  # noqa: ANN401 fields of ServerRecord
        """Set named fields; never state, dirty or epoch, which only moves may change."""
        ...

    def password(self, name: ServerName) -> Secret:
        """Decrypted; for the door to the controller only."""
        ...

    def note_readings(self, readings: Mapping[ServerName, PowerReading]) -> None:
        """All of one cycle in one transaction."""
        ...


class Readings(Protocol):
    """Power as it was read, newest last."""

    def readings(self, name: ServerName, since: WallSeconds) -> tuple[PowerReading, ...]:
        """All newer than `since`, oldest first."""
        ...


class Allocations(Protocol):
    """Who has what; whole moves, each one transaction."""

    def allocation(self, key: InstanceKey) -> Allocation | None:
        """The living one, else the newest ended one."""
        ...

    def reserve(
        self, request: InstanceRequest, *, until: WallSeconds, now: WallSeconds
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

    def end_and_open(
        self,
        key: InstanceKey,
        reason: str,
        operation: NewOperation | None,
        *,
        tombstone: bool,
        now: WallSeconds,
        still: Callable[[Allocation], bool] | None = None,
    ) -> Allocation | None:
        """End the living allocation and open its server's release, in one transaction.

        A QUARANTINED server stays so. RESERVED and never powered: AVAILABLE, nothing opened.
        Timers give `still`: asked in the transaction, False leaves everything as it is. None
        is answered where nothing was ended.
        """
        ...

    def living(self) -> tuple[Allocation, ...]:
        """All that have not ended, in one query."""
        ...

    def by_id(self, allocation: AllocationId) -> Allocation:
        """Living or ended."""
        ...

    def mark(self, allocation: AllocationId, **fields: Any) -> None:  # noqa: ANN401 fields of Allocation
        """Set named fields; never phase, server or end, which only moves may change."""
        ...

    def failure(self, key: InstanceKey) -> Failure | None:
        """How its last deployment or power operation failed; None where it did not."""
        ...


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
        self, server: ServerName, operation: NewOperation, *, now: WallSeconds
    ) -> OperationRecord:
        """Move the server and open its operation; an older open one is superseded."""
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
        self, operation: OperationId, step: str, *, now: WallSeconds, dirties: bool = False
    ) -> Effect:
        """Note a beginning, in the transaction that compares epoch and status.

        Args:
            operation: Whose.
            step: Its name.
            now: When.
            dirties: The step may switch the server on for a tenant: dirty is set here (3).

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


class Boots(Protocol):
    """Network boots, their one-time tokens and the orders of their agents."""

    def open_boot(self, boot: Boot) -> None:
        """Remember a boot; an older one of the same server is closed."""
        ...

    def change_boot(self, operation: OperationId, **fields: Any) -> None:  # noqa: ANN401 fields of Boot
        """Set named fields of the newest boot of this operation."""
        ...

    def boot_of_mac(self, mac: str) -> Boot | None:
        """The open boot of this MAC, while its operation is open."""
        ...

    def boot_of_token(self, token_sha256: str) -> Boot | None:
        """The open boot of this token, while its operation is open."""
        ...

    def hand_out(self, mac: str, token_sha256: str, *, now: WallSeconds) -> bool:
        """Take the one script of this boot, atomically; False: no window, or already taken.

        The token is made when the script is: a boot that was opened with token_sha256 "" gets
        this one. One that was opened with a token accepts only that.
        """
        ...


class AgentOrders(Protocol):
    """Orders and their results."""

    def put_order(self, order: AgentOrder) -> AgentOrder:
        """Remember it, numbered; the same (operation, step) again gives the stored one."""
        ...

    def next_order(self, operation: OperationId, after: int) -> AgentOrder | None:
        """The first unanswered order behind this number."""
        ...

    def answer_order(self, order: AgentOrder) -> bool:
        """Store ok, result and error of this number, once; False when it was answered already."""
        ...

    def order(self, operation: OperationId, step: str) -> AgentOrder | None:
        """With its result, if there is one."""
        ...


class Seeds(Protocol):
    """A tenant's seed, encrypted until it is handed out, then gone."""

    def put_seed(self, operation: OperationId, image: bytes) -> str:
        """Encrypt and keep; answers its SHA-256. Its operation may be opened after it.

        It is deleted with the end of its operation, or at the next start where it has none.
        """
        ...

    def seed(self, operation: OperationId) -> bytes | None:
        """Decrypted; None once it was acknowledged."""
        ...

    def drop_seed(self, operation: OperationId) -> None:
        """Delete it; safe to repeat."""
        ...


class EvidenceLog(Protocol):
    """The signed chain."""

    def append_and_clean(self, operation: OperationId, document: Mapping[str, Any]) -> str:
        """Sign, chain and store; clear `dirty` in the same transaction; answers the record's id."""
        ...

    def records(self) -> tuple[Mapping[str, Any], ...]:
        """All, oldest first, as `rackwright evidence` prints them."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRecord:
    """An imported image.

    Attributes:
        root: SHA-256 over the list of block digests: what "the same image" means.
        data_bytes: What is streamed: the blocks with data.
        logical_sector_bytes: What its partition table was made for: 512 or 4096.
        folder: Holds image.raw and blocks.json; nginx serves it.
    """

    name: ImageName
    root: str
    image_bytes: int
    data_bytes: int
    block_bytes: int
    logical_sector_bytes: int
    source_format: str
    imported_at: WallSeconds
    folder: Path


class Catalogue(Protocol):
    """Pools and images."""

    def pool(self, name: PoolName) -> Pool | None:
        """None where there is none."""
        ...

    def pools(self) -> tuple[Pool, ...]:
        """All, by name."""
        ...

    def put_pool(self, pool: Pool) -> None:
        """Make or replace."""
        ...

    def image(self, name: ImageName) -> ImageRecord | None:
        """None where there is none."""
        ...

    def images(self) -> tuple[ImageRecord, ...]:
        """All, by name."""
        ...

    def put_image(self, image: ImageRecord) -> None:
        """Remember an imported image; a name is never given to other bytes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """What an operator did: `who` as the listener identified them, `act` on `subject`."""

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

    def entries(self, *, most: int = 100) -> tuple[AuditEntry, ...]:
        """Newest first."""
        ...
