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
        kind: "Shared", "Isolated" or "L2".
        gateway, netmask: None: it has no addresses, as L2 networks have not.
    """

    id: str
    name: str
    vlan: int
    user_data: bool = True
    kind: str = "Shared"
    gateway: str | None = "203.0.113.1"
    netmask: str | None = "255.255.255.128"


@dataclass(slots=True, kw_only=True)
class Nic:
    """One NIC.

    Attributes:
        number: `deviceid`; 0 is the default one.
        reserved: False after a stop, where the network gives its VLAN up meanwhile.
    """

    id: str
    network: str
    mac: str
    number: int
    address: str | None = None
    reserved: bool = True


@dataclass(slots=True, kw_only=True)
class Instance:
    """One virtual machine, as CloudStack calls it.

    Attributes:
        number: As in the database; its name has it.
        internal_name: `instancename`, what the extension is told.
        user: Who deployed it; stays when the account changes.
        host, last_host: Of now, and of the last time that it ran.
        removed: Expunged: its id answers with an empty list.
        details: As stored: with the prefix, and with those that users do not see.
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
    shown: bool = True
    protected: bool = False
    project: str | None = None
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
