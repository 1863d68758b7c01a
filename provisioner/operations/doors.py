"""What the steps of an operation may reach, handed to them as one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from provisioner.config import Times
from provisioner.operations.bell import Bell
from provisioner.operations.consoles import Consoles
from provisioner.operations.conversation import Conversations
from provisioner.ports.allocations import Allocations
from provisioner.ports.boots import AgentOrders, Boots, Seeds
from provisioner.ports.catalogue import Catalogue
from provisioner.ports.clock import Clock
from provisioner.ports.evidence import EvidenceLog
from provisioner.ports.journal import CallJournal
from provisioner.ports.network import BootOffers, SwitchPorts
from provisioner.ports.observations import Observations
from provisioner.ports.operations import Effects, Operations
from provisioner.ports.servers import Servers
from provisioner.ports.turns import Turns
from provisioner.ramdisk.record import RamdiskRecord
from provisioner.servers.allocation import Allocation
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import OperationRecord
from provisioner.servers.turns import Pace
from provisioner.units import MonotonicSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What orders and evidence say about this installation.

    Attributes:
        name: As it stands in evidence.
        blobs_url: Where nginx serves images and the ramdisk, without a slash at the end.
        agent_url: Where the agent API answers.
        ramdisk: What is booted, read anew each time; raises RAMDISK_MISSING. Its digests are
            part of the evidence.
        site_initrd_sha256: Of the small second initrd, named apart from the ramdisk's digest.
        pace: How fast what tenants had may be wiped.
    """

    name: str
    blobs_url: str
    agent_url: str
    ramdisk: Callable[[], RamdiskRecord]
    site_initrd_sha256: str
    times: Times
    pace: Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The store, port by port."""

    servers: Servers
    observations: Observations
    allocations: Allocations
    operations: Operations
    effects: Effects
    boots: Boots
    orders: AgentOrders
    seeds: Seeds
    evidence: EvidenceLog
    catalogue: Catalogue
    calls: CallJournal
    turns: Turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """Everything outside."""

    records: Records
    conversations: Conversations
    ports: SwitchPorts
    offers: BootOffers
    clock: Clock
    bell: Bell
    consoles: Consoles
    site: Site


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One step of one operation, at work.

    Attributes:
        step: The step's own name.
        begun: When this step first began; its deadline counts from here.
        until: The end of the step's time.
        found: The results of the steps before, by their names.
    """

    doors: Doors
    operation: OperationRecord
    server: ServerRecord
    allocation: Allocation | None
    step: str
    begun: MonotonicSeconds
    until: MonotonicSeconds
    again: bool = False
    found: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        """Who asks, for readings and the journal of calls."""
        return f"operation {self.operation.id}"
