"""An instance as the server sees it: one small state machine, with one table of moves.

Source: seen 1 (b, d, h, i, l, m, p), 2.19, 2.20, 2.22; read 2.7, 2.8.
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class State(StrEnum):
    """As it stands in payloads; GONE is the row that was removed."""

    STARTING = "Starting"
    RUNNING = "Running"
    STOPPING = "Stopping"
    STOPPED = "Stopped"
    DESTROYED = "Destroyed"
    EXPUNGING = "Expunging"
    ERROR = "Error"
    GONE = "Gone"


class Event(StrEnum):
    """What happened to an instance."""

    START_ASKED = "start asked"
    STARTED = "started"
    DEPLOY_FAILED = "deployment failed"
    START_FAILED = "start failed"
    STOP_ASKED = "stop asked"
    STOPPED = "stopped"
    STOP_FAILED = "stop failed"
    STOP_FORCED = "stop failed and was forced"
    SEEN_ON = "seen on"
    SEEN_OFF = "seen off, and stopped"
    MISSING = "missing from the reports"
    SERVER_RESTARTED = "management server restarted"
    DESTROY_ASKED = "destroy asked"
    RECOVERED = "recovered"
    EXPUNGE_ASKED = "expunge asked"
    EXPUNGED = "expunged"


MOVES: Mapping[tuple[State, Event], State] = MappingProxyType(
    {
        (State.STOPPED, Event.START_ASKED): State.STARTING,
        (State.STARTING, Event.STARTED): State.RUNNING,
        (State.STARTING, Event.DEPLOY_FAILED): State.ERROR,  # seen b
        (State.STARTING, Event.START_FAILED): State.STOPPED,  # seen b
        (State.RUNNING, Event.STOP_ASKED): State.STOPPING,
        (State.STOPPING, Event.STOPPED): State.STOPPED,
        (State.STOPPING, Event.STOP_FAILED): State.RUNNING,  # seen d
        (State.STOPPING, Event.STOP_FORCED): State.STOPPED,  # seen d
        (State.STOPPED, Event.SEEN_ON): State.RUNNING,  # seen h.4, no call
        (State.STARTING, Event.SEEN_ON): State.RUNNING,  # read 1.8, without a job only
        (State.STOPPING, Event.SEEN_ON): State.RUNNING,
        (State.RUNNING, Event.SEEN_OFF): State.STOPPED,  # seen h.3, after a `stop`
        (State.STARTING, Event.SEEN_OFF): State.STOPPED,  # seen 2.20
        (State.STOPPING, Event.SEEN_OFF): State.STOPPED,
        (State.STOPPED, Event.SEEN_OFF): State.STOPPED,  # seen i.2
        (State.RUNNING, Event.MISSING): State.STOPPED,  # seen l, 2.10, no call
        (State.STARTING, Event.MISSING): State.STOPPED,
        (State.STOPPING, Event.MISSING): State.STOPPED,
        (State.STARTING, Event.SERVER_RESTARTED): State.STOPPED,  # seen i.1, no call
        (State.STOPPING, Event.SERVER_RESTARTED): State.RUNNING,  # read 1.9, no call
        (State.STOPPED, Event.DESTROY_ASKED): State.DESTROYED,  # seen 2.19
        (State.ERROR, Event.DESTROY_ASKED): State.DESTROYED,
        (State.DESTROYED, Event.RECOVERED): State.STOPPED,  # seen 2.19, no call
        (State.DESTROYED, Event.EXPUNGE_ASKED): State.EXPUNGING,
        (State.EXPUNGING, Event.EXPUNGED): State.GONE,
    }
)


@dataclass(slots=True, kw_only=True)
class Nic:
    """One NIC; `network` is what a payload calls its `uuid` (README of the payloads).

    Attributes:
        vlan: None while its network is not implemented yet: no broadcastUri.
    """

    nic_uuid: str = field(default_factory=lambda: str(uuid.uuid4()))
    network: str = field(default_factory=lambda: str(uuid.uuid4()))
    network_id: int = 204
    mac: str
    ip: str | None
    netmask: str = "255.255.255.0"
    gateway: str
    dns: str
    vlan: int | None


@dataclass(slots=True, kw_only=True)
class Instance:
    """One row of the server's database.

    Attributes:
        number: Its id; part of its name, which never changes (pitfall 42).
        details: Its own, with those that were copied from its template at deployment.
        offering: Details of its offering, which lie underneath.
        vm_data: Entries of networks with ConfigDrive; sent with create and start only.
        host: Where it runs; None when it does not.
        last_host: Where it ran: kept for ever, and taken for each start (seen p).
        starts: How often it was begun; prepare is sent at the first alone.
        seen_at: When a report last named it.
        same: How often the same report came.
        gpu_profile: Its offering names one: seen j.
        offers_ha: Seen 2.4.
    """

    uuid: str
    number: int
    details: dict[str, str]
    nics: list[Nic]
    tag: str | None = None
    offering: dict[str, str] = field(default_factory=dict)
    vm_data: list[list[str]] = field(default_factory=list)
    state: State = State.STOPPED
    host: str | None = None
    last_host: str | None = None
    starts: int = 0
    seen_at: float = 0.0
    reported: str = ""
    same: int = 0
    destroyed_at: float = 0.0
    gpu_profile: bool = False
    offers_ha: bool = False
    cpus: int = 4

    @property
    def name(self) -> str:
        """The internal one, as in "i-7-3-VM"."""
        return f"i-7-{self.number}-VM"

    def shown(self) -> str:
        """As the server writes it into its errors."""
        return f'VM instance {{"instanceName":"{self.name}","uuid":"{self.uuid}"}}'

    def is_in(self, *states: State) -> bool:
        """Whether it is in one of these now; asked again after each call."""
        return self.state in states

    def move(self, event: Event) -> None:
        """By the table.

        Raises:
            KeyError: The server never does this in that state.
        """
        self.state = MOVES[self.state, event]
