"""What tenants have: networks, instances with their NICs, notes on objects."""

from dataclasses import dataclass, field
from enum import StrEnum


class InstanceState(StrEnum):
    """As `state` has them."""

    STARTING = "Starting"
    RUNNING = "Running"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    DESTROYED = "Destroyed"
    EXPUNGING = "Expunging"
    ERROR = "Error"


@dataclass(slots=True, kw_only=True)
class Network:
    """A guest network.

    Attributes:
        user_data: Whether it has a service that takes user data and keys to an instance.
        addresses: The part of an address before its last number, "203.0.113."; None: no DHCP.
    """

    id: str
    name: str
    vlan: int
    user_data: bool = True
    addresses: str | None = "203.0.113."
    kind: str = "Shared"


@dataclass(slots=True, kw_only=True)
class Nic:
    """Attributes: number: `deviceid`; 0 is the default one."""

    id: str
    network: str
    mac: str
    number: int
    address: str | None = None


@dataclass(slots=True, kw_only=True)
class Instance:
    """One virtual machine, as CloudStack calls it.

    Attributes:
        number: As in the database; its name has it.
        internal_name: `instancename`, what the extension is told.
        host, last_host: Of now, and of the last time that it ran.
        removed: Expunged: its id answers with an empty list.
        deploy_pending: Detail `deployvm`: the next start is a create.
    """

    id: str
    number: int
    name: str
    display_name: str
    internal_name: str
    account: str
    user: str
    zone: str
    template: str
    offering: str
    created: float
    state: InstanceState = InstanceState.STOPPED
    updated: float | None = None
    host: str | None = None
    last_host: str | None = None
    nics: list[Nic] = field(default_factory=list)
    details: dict[str, str] = field(default_factory=dict)
    user_data: str | None = None
    keypair: str | None = None
    shown: bool = True
    protected: bool = False
    deploy_pending: bool = False
    removed: bool = False


@dataclass(slots=True, kw_only=True)
class Annotation:
    """Attributes: kind: of the object, "VM", "HOST", … user: who wrote it."""

    id: str
    kind: str
    entity: str
    entity_name: str
    text: str
    user: str
    admins_only: bool
    created: float
