"""The nouns: what is remembered about a server, and what was seen of it."""

from dataclasses import dataclass, field
from enum import StrEnum

from provisioner.hardware.inventory import Inventory
from provisioner.units import (
    Epoch,
    ImageName,
    MacAddress,
    MonotonicSeconds,
    OperationId,
    PoolName,
    ServerName,
    Vlan,
    WallSeconds,
)


class State(StrEnum):
    """Where a server is in its life; the table of moves is in states.py."""

    ENROLLED = "ENROLLED"
    VERIFYING = "VERIFYING"
    INSPECTING = "INSPECTING"
    CLEANING = "CLEANING"
    AVAILABLE = "AVAILABLE"
    RESERVED = "RESERVED"
    DEPLOYING = "DEPLOYING"
    ACTIVE = "ACTIVE"
    RELEASING = "RELEASING"
    RESCUE = "RESCUE"
    QUARANTINED = "QUARANTINED"
    RETIRED = "RETIRED"


class Power(StrEnum):
    """Chassis power; not knowing is a value of its own, never taken for off."""

    ON = "on"
    OFF = "off"
    UNKNOWN = "unknown"


class FirmwareMode(StrEnum):
    """What starts the operating system; boot orders must name it on some boards."""

    BIOS = "bios"
    UEFI = "uefi"


class ControllerProtocol(StrEnum):
    """How a baseboard management controller is spoken to."""

    REDFISH = "redfish"
    IPMI = "ipmi"


class ControllerDriver(StrEnum):
    """Which library answered at verification and is used from then on."""

    SUSHY = "sushy"
    PYGHMI = "pyghmi"
    IPMITOOL = "ipmitool"


class MacRole(StrEnum):
    """What a network card is for; {provisioning, tenant} on one card is the usual case."""

    PROVISIONING = "provisioning"
    TENANT = "tenant"


class Placement(StrEnum):
    """Where a switch port leads."""

    PROVISIONING = "provisioning"
    TENANT = "tenant"
    QUARANTINE = "quarantine"
    SHUT = "shut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class PortPlacement:
    """Where one port leads, wanted or seen.

    Attributes:
        vlans: The tenant's networks on it; empty unless placement is TENANT.
    """

    placement: Placement
    vlans: tuple[Vlan, ...] = ()


OVERTAKEN_S = 300.0
"""By so much a reading may be overtaken by one that was asked for later: no look takes longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerReading:
    """What a controller said, with the time *before* it was asked.

    Attributes:
        source: Which door read it: "loop", "operation <id>", ...
        why: Why it is UNKNOWN, "" otherwise.
    """

    power: Power
    at: MonotonicSeconds
    source: str
    why: str = ""

    def is_overtaken_by(self, other: "PowerReading") -> bool:
        """The other one was asked for later; by far later means that the clock was set back."""
        return 0.0 < other.at - self.at <= OVERTAKEN_S


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerAddress:
    """Where a controller answers; its credentials are kept apart, encrypted.

    Attributes:
        port: 443 for Redfish, 623 for IPMI, unless the site says otherwise.
        system: Redfish system id where the controller has several, "" where it has one.
        cipher_suite: IPMI: 17, then 3 are tried at verification and the working one kept; 0 never.
    """

    protocol: ControllerProtocol
    host: str
    port: int
    user: str
    system: str = ""
    cipher_suite: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerIdentity:
    """Who a controller says it is: compared at the start of each conversation.

    Attributes:
        system_uuid: Lower case with dashes; for IPMI the GUID's bytes in wire order (see
            servers/identity.py for the two byte orders). None where not reported.
        certificate_sha256: Of the DER certificate, pinned at enrolment; None without TLS.
    """

    system_uuid: str | None
    serial: str | None = None
    certificate_sha256: str | None = None
    maker: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nic:
    """One network card, its roles and the switch port behind it.

    Attributes:
        port: The port's name for the port adapter ("tap-bios1", "leaf3:Ethernet12").
    """

    mac: MacAddress
    roles: frozenset[MacRole]
    port: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RootDiskRule:
    """Which disk gets the image; all named properties must hold, exactly one disk may match.

    Attributes:
        smallest_nvme: True picks the smallest NVMe disk; with others it narrows first.
        path: A stable path below /dev/disk/by-path, for machines whose disks look alike.
    """

    serial: str | None = None
    wwn: str | None = None
    model: str | None = None
    min_bytes: int | None = None
    max_bytes: int | None = None
    rotational: bool | None = None
    smallest_nvme: bool = False
    path: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Why a server is not handed out, and who said so."""

    reason: str
    by: str
    since: WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedDisk:
    """A disk that is not the server's own and that an operator has listed as such."""

    wwn: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedHardware:
    """What inspection must find, where the operator wants it compared; None is "whatever"."""

    cpu_threads: int | None = None
    memory_bytes: int | None = None
    disks: int | None = None
    gpus: int | None = None
    serial: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebaseline:
    """A baseline that took the place of another one, after a repair.

    Attributes:
        reason: What was repaired, in the operator's words.
        who: The operator.
        at: When the new one was taken.
        before: What was remembered, taken at `before_at`.
        gone: Media of `before` that `after` has no more, in words: they left un-wiped.
    """

    operation: OperationId
    reason: str
    who: str
    at: WallSeconds
    before: Inventory
    before_at: WallSeconds
    after: Inventory
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """What we remember of one server (the store's row, without its credentials).

    Attributes:
        dirty: True while a tenant's data may be on it; cleared only with wipe evidence.
        power: The newest reading.
        driver: The controller library that verification found to work; None before.
        restore_policy: "stay-off", "refused: <why>" or "" before verification.
        baseline: The agent's facts at inspection; None before.
        baseline_at: When they were taken; None before.
        hidden_media: Named by the controller at inspection, and not shown by the machine.
        rebaselines: Since the last wipe, oldest first: its evidence will name them.
        reason: Why it is quarantined, or why the last attempt came back.
    """

    name: ServerName
    pool: PoolName
    state: State
    epoch: Epoch
    dirty: bool
    power: PowerReading
    firmware: FirmwareMode
    controller: ControllerAddress
    nics: tuple[Nic, ...]
    root_disk: RootDiskRule
    driver: ControllerDriver | None = None
    identity: ControllerIdentity | None = None
    restore_policy: str = ""
    kernel_arguments: str = ""
    console: str = "ttyS0"
    baseline: Inventory | None = None
    baseline_at: WallSeconds | None = None
    hidden_media: tuple[str, ...] = ()
    rebaselines: tuple[Rebaseline, ...] = ()
    excluded_disks: tuple[ExcludedDisk, ...] = ()
    expected: ExpectedHardware | None = None
    maintenance: Maintenance | None = None
    health: tuple[str, ...] = ()
    reason: str = ""
    found_on: bool = False

    def provisioning_nic(self) -> Nic:
        """The card that boots from the network; enrolment makes sure that there is one."""
        return next(nic for nic in self.nics if MacRole.PROVISIONING in nic.roles)

    def tenant_nics(self) -> tuple[Nic, ...]:
        """CloudStack's NIC n gets the n-th of these."""
        return tuple(nic for nic in self.nics if MacRole.TENANT in nic.roles)


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    """What a pool's servers must have before they are handed out."""

    min_cpu_threads: int = 0
    min_memory_bytes: int = 0
    min_gpus: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPolicy:
    """How a pool treats its servers.

    Attributes:
        wipe_methods: How many different methods each disk gets, at least.
        wipe_class: "clear" or "purge": what the evidence must reach.
        unerasable: "refuse" or "list": a writable medium without an erase method.
        frozen: "refuse" or "overwrite": a disk whose strongest methods the firmware has frozen.
        at_deadline: "fail" or "installing": what a create that is asked for its answer says of an
            installation that goes on.
    """

    wipe_methods: int = 1
    wipe_class: str = "clear"
    unerasable: str = "refuse"
    frozen: str = "refuse"
    at_deadline: str = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Servers that may stand in for each other, and the images that may run on them.

    Attributes:
        images: Name in the payload -> imported image.
    """

    name: PoolName
    images: dict[str, ImageName] = field(default_factory=dict)
    requirements: Requirements = Requirements()
    policy: PoolPolicy = PoolPolicy()
