"""What several management servers share: the database's rows, as values that tests may change."""

import asyncio
import itertools
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from cloudstack_ext.management_server.entry_point import EntryPoint
from cloudstack_ext.management_server.instances import Instance, Nic

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f \n"
"""Nobody's, in form a public key; the server drops its comment and ends it like this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The account that made the API call; not the owner of the instance (pitfall 37)."""

    id: str
    name: str
    type: str
    roleid: str
    rolename: str
    roletype: str


USER = Caller(
    id="6922f8ba-5eb3-4eab-aab5-c5e1ad1fbe00",
    name="alice",
    type="NORMAL",
    roleid="02259100-ecb0-11f1-a920-02fc00000001",
    rolename="User",
    roletype="User",
)
SYSTEM = Caller(
    id="00d1db39-ecb0-11f1-a920-02fc00000001",
    name="system",
    type="ADMIN",
    roleid="02256295-ecb0-11f1-a920-02fc00000001",
    rolename="Root Admin",
    roletype="Admin",
)
"""For whatever the server does by itself: power sync, maintenance, its expunge thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Global settings, with the server's defaults; those in `_s` are seconds.

    Attributes:
        wait_s: `wait`, of every call without an override; argv[3].
        command_waits: `commands.timeout`, by the Java class's simple name; seen g.
        start_retry: `start.retry`; with 0 no call is made at all, seen b.
        first_retry_s: Before the second attempt, and `retry_s` before each later one; seen b.
        stop_to_delete_s: Between the stop and the delete of an expunge; seen n.
        job_cancel_s: `job.cancel.threshold.minutes`; seen 2.20.
        expunge_delay_s: `expunge.delay`; a failed expunge is tried again after it, seen n.
    """

    wait_s: int = 1800
    command_waits: Mapping[str, int] = field(default_factory=dict)
    start_retry: int = 10
    first_retry_s: float = 2.0
    retry_s: float = 0.1
    stop_to_delete_s: float = 6.0
    ping_interval_s: float = 60.0
    job_cancel_s: float = 3600.0
    expunge_delay_s: float = 86_400.0


@dataclass(slots=True, kw_only=True)
class Extension:
    """The registered extension.

    Attributes:
        prepares: orchestratorrequirespreparevm.
        registered: To the cluster; seen 2.10.
        path_ready: As the last check found the entry; seen l.
    """

    details: dict[str, str] = field(default_factory=dict)
    prepares: bool = True
    enabled: bool = True
    registered: bool = True
    path_ready: bool = True


@dataclass(slots=True, kw_only=True)
class Host:
    """One External host, which is a pool (read 4.3).

    Attributes:
        tags: Of a deployment's offering only the first counts; seen o.
        details: Its External: ones, without the prefix.
        resourcemap: Of its cluster's registration.
        owner: Name of the one management server that calls the entry for it; read 1.7.
        ready: Set when it connects, and not refreshed when the path is mended; seen l.
        removed: deleteHost; seen 2.11.
    """

    name: str
    tags: tuple[str, ...] = ()
    details: dict[str, str] = field(default_factory=dict)
    resourcemap: dict[str, str] = field(default_factory=dict)
    owner: str = ""
    enabled: bool = True
    in_maintenance: bool = False
    ready: bool = True
    removed: bool = False


@dataclass(slots=True, kw_only=True)
class Cloud:
    """One zone with one extension.

    Attributes:
        entries: The entry point of each management server, by its name.
        queues: The work-job queue of each instance: start, stop, reboot and expunge's stop, one
            at a time; status, actions, console and expunge's delete pass by (read 1.7, seen s).
        numbers: Of the next instances.
    """

    hosts: list[Host]
    extension: Extension = field(default_factory=Extension)
    settings: Settings = field(default_factory=Settings)
    instances: dict[str, Instance] = field(default_factory=dict)
    entries: dict[str, EntryPoint] = field(default_factory=dict)
    queues: dict[str, asyncio.Lock] = field(default_factory=dict)
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def host(self, name: str | None) -> Host:
        """By its name.

        Raises:
            KeyError: There is none.
        """
        return next(each for each in self.hosts if each.name == name)

    def planned(self, instance: Instance) -> Host | None:
        """Where it would be started: the last host unconditionally, else the first of its tag.

        Source: seen o, p; read 4.3.
        """
        if instance.last_host is not None:
            return self.host(instance.last_host)
        for host in self.hosts:
            usable = host.enabled and not host.in_maintenance and not host.removed
            if usable and (instance.tag is None or instance.tag in host.tags):
                return host
        return None

    def queue(self, instance: Instance) -> asyncio.Lock:
        """Of this instance."""
        return self.queues.setdefault(instance.uuid, asyncio.Lock())

    def new_instance(
        self,
        *,
        template: Mapping[str, str] | None = None,
        offering: Mapping[str, str] | None = None,
        networks: int = 1,
        first_vlan: int = 2001,
    ) -> Instance:
        """An instance that was deployed with startvm=false: no call was made yet (seen 2.13).

        Args:
            template: External: details of its template, copied into it now.
            offering: Those of its offering, which stay underneath.
            networks: NICs, each in a network of its own.
            first_vlan: Of the first network.
        """
        number = next(self.numbers)
        details = {"deployvm": "true", "SSH.PublicKey": KEY}
        made = Instance(
            uuid=str(uuid.uuid4()),
            number=number,
            details=details | _external(template or {}),
            offering=_external(offering or {}),
            nics=[_nic(number, n, first_vlan + n) for n in range(networks)],
        )
        self.instances[made.uuid] = made
        return made


def _external(details: Mapping[str, str]) -> dict[str, str]:
    """As it is stored (read 2.4)."""
    return {f"External:{key}": value for key, value in details.items()}


def _nic(number: int, card: int, vlan: int) -> Nic:
    """Addresses of a private network for each NIC; MACs as CloudStack makes them."""
    network = f"10.{100 + card}.{number // 200 % 200}"
    return Nic(
        network_id=204 + card,
        mac=f"1e:00:a1:{card:02x}:{number >> 8 & 255:02x}:{number & 255:02x}",
        ip=f"{network}.{number % 200 + 10}",
        gateway=f"{network}.1",
        dns=f"{network}.1",
        vlan=vlan,
    )
