"""Who has a server: the allocation of an instance, and what was asked for it."""

from dataclasses import dataclass
from enum import StrEnum

from provisioner.errors import ErrorCode, InputError
from provisioner.secret import Secret
from provisioner.servers.model import Power, PowerReading
from provisioner.units import (
    AllocationId,
    HostLabel,
    ImageName,
    InstanceId,
    MacAddress,
    MonotonicSeconds,
    OperationId,
    PoolName,
    ServerName,
    SiteName,
    Vlan,
    WallSeconds,
)

NOT_SAID = HostLabel("")
NOT_ASKED = "not asked"
"""What is known by a cloud that nobody asked; one that was asked in vain is told as that."""


class Phase(StrEnum):
    """How far an allocation has come; ENDED is for ever."""

    RESERVED = "reserved"
    DEPLOYING = "deploying"
    ACTIVE = "active"
    ENDED = "ended"


class Protection(StrEnum):
    """Whether its caller keeps an instance from being deleted by mistake."""

    NOT_ASKED = "not asked"
    """Nobody has asked yet: it is treated as one that is not protected."""
    UNPROTECTED = "unprotected"
    PROTECTED = "protected"
    UNKNOWN = "unknown"
    """Asked, and not answered in time: treated as protected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceKey:
    """An instance of one CloudStack; several CloudStacks may be served."""

    site: SiteName
    instance: InstanceId


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantNetwork:
    """One NIC as CloudStack wants it; the n-th one goes to the server's n-th tenant port.

    Attributes:
        mac: CloudStack's; the seed carries the server's own.
        address: With `prefix`; None in networks without addresses (the seed says dhcp4, optional).
        vlan: None only before `create` (prepare may come before the network exists).
        mtu: As prepare said; None is "not set".
    """

    nic_uuid: str
    mac: MacAddress
    vlan: Vlan | None
    address: str | None = None
    prefix: int | None = None
    gateway: str | None = None
    dns: tuple[str, ...] = ()
    default: bool = False
    mtu: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRequest:
    """What a verb asks for one instance: values of the payload, already checked for form.

    Attributes:
        name: CloudStack's instance name ("i-7-57-VM").
        who: Site and caller as claimed; stands in evidence and audit.
        pool: From operator data only (invariant 11).
        host: Where the caller sees it; None where the verb does not say.
        image: Key in the pool's own map; None where the payload names none (a restart).
        user_data: Decoded bytes; None where the payload has none.
        owner: As its cloud says; "" where it was not asked.
        size: What was bought, by the name under which it was registered; likewise.
        seed_id: By what its system knows this seed from the one before; "" is the instance's id.
        password: Clear text as CloudStack sent it; goes hashed into vendor-data.
        truth: What its cloud said about it, or why it did not; NOT_ASKED where nobody asked.
    """

    key: InstanceKey
    name: str
    who: str
    pool: PoolName | None = None
    host: HostLabel | None = None
    image: str | None = None
    networks: tuple[TenantNetwork, ...] = ()
    hostname: str | None = None
    ssh_keys: tuple[str, ...] = ()
    user_data: bytes | None = None
    password: Secret | None = None
    owner: str = ""
    size: str = ""
    seed_id: str = ""
    truth: str = NOT_ASKED

    def vlans(self) -> tuple[int, ...]:
        """One for each network, in their order.

        Raises:
            InputError: VLAN_MISSING.
        """
        missing = [each.nic_uuid for each in self.networks if each.vlan is None]
        if missing or not self.networks:
            raise InputError(
                ErrorCode.VLAN_MISSING,
                "a network without a VLAN cannot be given to a server: NIC "
                + (", ".join(missing) or "list is empty"),
            )
        return tuple(int(each.vlan) for each in self.networks if each.vlan is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an operation of this instance failed; answered at once for ten minutes."""

    code: ErrorCode
    brief: str
    at: WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """What is remembered of an instance on a server.

    Attributes:
        wanted: What the tenant wants: on from deployment on, off after a stop.
        known_to_caller: CloudStack has it: create answered success, or status said PowerOn once.
        first_boot_asked: The image is verified and the first boot from disk was asked for.
        commanded_at: When the last power command for it began; readings before it say nothing.
        off_confirmed: Off was confirmed once after the end, for this tenant.
        host: Of its last create or start; "" where none has said.
        owner: As its cloud said when it was last asked; "" where it never was.
        size: What was bought with its first create; "" where nobody was asked.
        stop_grace_until: A stop came before CloudStack had it: released then, unless create comes.
        networks: Of the last verb that carried them; macs are CloudStack's.
        hostname: As its seed had it; "" where none was remembered.
        needs_reseed: Its seed says something else than is so now, or was not written whole.
        needs_reinstall: Its root disk may be half written: nothing on it is started.
        off_first: What runs on its machine may be ours: a start begins with a confirmed off.
    """

    id: AllocationId
    key: InstanceKey
    name: str
    who: str
    server: ServerName
    pool: PoolName
    phase: Phase
    wanted: Power
    created_at: WallSeconds
    image: ImageName | None = None
    networks: tuple[TenantNetwork, ...] = ()
    reserved_until: MonotonicSeconds | None = None
    known_to_caller: bool = False
    first_boot_asked: bool = False
    ever_powered: bool = False
    commanded_at: MonotonicSeconds | None = None
    stop_grace_until: MonotonicSeconds | None = None
    operation: OperationId | None = None
    ended_at: WallSeconds | None = None
    end_reason: str = ""
    host: HostLabel = NOT_SAID
    owner: str = ""
    size: str = ""
    off_confirmed: bool = False
    hostname: str = ""
    needs_reseed: bool = False
    needs_reinstall: bool = False
    off_first: bool = False
    truth: str = NOT_ASKED
    protection: Protection = Protection.NOT_ASKED

    def vlans(self) -> tuple[int, ...]:
        """Of the networks that are remembered, in their order."""
        return tuple(int(each.vlan) for each in self.networks if each.vlan is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What the store knows of an instance at one moment.

    Attributes:
        allocation: The living one, else the newest ended one.
        readings: Of its server's power, in the order they were noted: the last one that is no off,
            and all offs after it.
        quarantined: Its server is.
        rescue: A rescue system runs on its server.
        commanding: A power command runs on its server, or a reinstall, reseed or rescue.
        failed: Its newest deployment or power command did.
    """

    allocation: Allocation
    readings: tuple[PowerReading, ...] = ()
    quarantined: bool = False
    rescue: bool = False
    commanding: bool = False
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceView:
    """All that `status` may look at: remembered values, no call to a controller.

    Attributes:
        phase: None where the instance was never heard of.
        off_confirmed: While active: off by at least three readings over at least 30 s, all newer
            than the last command. After the end: off was confirmed once for this tenant.
        on_confirmed: The newest reading says on, is newer than the last command and not too old.
        fresh: The newest reading is young enough to say anything.
        commanding: A power command is in progress, or a reinstall, reseed or rescue.
        rescue: A rescue system runs, in place of its own one.
        needs_reinstall: Its root disk may be half written: it is started no more.
        failed: The allocation ended because its deployment failed.
        size: What was bought with it; "" where nobody was asked.
    """

    phase: Phase | None
    known_to_caller: bool = False
    wanted: Power = Power.UNKNOWN
    on_confirmed: bool = False
    off_confirmed: bool = False
    fresh: bool = False
    commanding: bool = False
    quarantined: bool = False
    held: bool = False
    failed: bool = False
    rescue: bool = False
    needs_reinstall: bool = False
    size: str = ""

    def says_on(self) -> bool:
        """An active instance that is wanted on and runs: whoever is told so has it."""
        quiet = not (self.commanding or self.quarantined or self.held)
        on = self.wanted is Power.ON and self.on_confirmed
        return self.phase is Phase.ACTIVE and quiet and on
