"""Where: zone, pod, clusters, hosts, the management servers themselves."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class AllocationState(StrEnum):
    """Of zone, pod and cluster."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"


class ResourceState(StrEnum):
    """Of a host, as far as an External one was seen to go."""

    ENABLED = "Enabled"
    DISABLED = "Disabled"
    PREPARING = "PrepareForMaintenance"
    MAINTENANCE = "Maintenance"
    ERROR_IN_MAINTENANCE = "ErrorInMaintenance"


MAINTAINED = (ResourceState.MAINTENANCE, ResourceState.ERROR_IN_MAINTENANCE)


@dataclass(slots=True, kw_only=True)
class ManagementServer:
    """One of those that share the database.

    Attributes:
        state: "Up", "Down", "Maintenance" …
        extensions: Folder of its entry files, one folder an extension; None: whatever entry an
            extension names is there and runs.
    """

    id: str
    name: str = "localhost"
    address: str = "127.0.0.1"
    state: str = "Up"
    version: str = "4.22.0.0-SNAPSHOT"
    started: float = 0.0
    extensions: Path | None = None


@dataclass(slots=True, kw_only=True)
class Zone:
    """Attributes: security_groups: an advanced zone with them takes no External cluster."""

    id: str
    name: str
    security_groups: bool = False
    number: int = 1


@dataclass(slots=True, kw_only=True)
class Pod:
    """Addresses are those of the recording."""

    id: str
    name: str
    zone: str
    number: int = 1


@dataclass(slots=True, kw_only=True)
class OsType:
    """What a template says that it is."""

    id: str
    name: str
    category: str
    category_name: str


@dataclass(slots=True, kw_only=True)
class Cluster:
    """Attributes: number: as in the database, for error texts."""

    id: str
    name: str
    zone: str
    pod: str
    hypervisor: str
    arch: str = "x86_64"
    state: AllocationState = AllocationState.ENABLED
    number: int = 1
    created: float = 0.0


@dataclass(slots=True, kw_only=True)
class Host:
    """A host of an External cluster.

    Attributes:
        guid: From its label alone: the same label twice is the same host.
        details: Without the prefix.
        agent: `state`: "Up", or "Disconnected" for half a minute after a reconnect.
        number: As in the database, for error texts.
        maintained_at, becomes: When a host that prepares for maintenance is in which state.
        connected: False where it was added while the extension's path was not ready: then create
            and stop fail although the path is ready now, until it is connected again.
    """

    id: str
    name: str
    cluster: str
    guid: str
    created: float
    tags: tuple[str, ...] = ()
    details: dict[str, str] = field(default_factory=dict)
    state: ResourceState = ResourceState.ENABLED
    maintained_at: float = 0.0
    becomes: ResourceState = ResourceState.MAINTENANCE
    connected: bool = True
    agent: str = "Up"
    number: int = 1
