"""Settings: one versioned TOML text, read once; nobody else reads configuration.

Unknown keys, wrong types, missing values and contradictions are all named at once, each with
its path. docs/examples/rackwright.toml shows and explains every key.
"""

import ipaddress
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from provisioner.errors import ErrorCode, InputError
from provisioner.setting_files import Files, ServiceSettings
from provisioner.setting_kinds import (
    Address,
    BlobsUrl,
    Days,
    Duration,
    Host,
    Interface,
    Name,
    Namespace,
    Network,
    Port,
    Uid,
    in_url,
)
from provisioner.strict import between, read
from provisioner.units import SiteName


class Role(StrEnum):
    """What an operator may do; each may also do what the ones before it may."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"

    def allows(self, needed: "Role") -> bool:
        """Whether somebody in this role may do what needs that one."""
        order = list(Role)
        return order.index(self) >= order.index(needed)


class PortAdapter(StrEnum):
    """Who moves the servers' switch ports."""

    RACK = "rack"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """One CloudStack; whoever connects with one of these uids speaks for it.

    Attributes:
        uids: None where its entries come over HTTPS alone.
    """

    name: Name
    uids: tuple[Uid, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryAddress:
    """Where entries with certificates connect.

    Attributes:
        names: Under which hosts they find it; none: under its address.
    """

    address: Address
    port: Port
    names: tuple[Host, ...] = ()

    def contradictions(self) -> Iterator[str]:
        """A caller needs a host to ask for."""
        if not self.names and ipaddress.ip_address(self.address).is_unspecified:
            yield f"names: missing; nobody can ask for {self.address}"

    def hosts(self) -> tuple[str, ...]:
        """All that the listener's certificate has to name; the first is the usual one."""
        own = () if ipaddress.ip_address(self.address).is_unspecified else (self.address,)
        return tuple(dict.fromkeys((*self.names, *own)))

    def url(self) -> str:
        """For the configuration of entries."""
        return f"https://{in_url(self.hosts()[0])}:{self.port}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionSettings:
    """The listeners for CloudStack's entry point.

    Attributes:
        https: None: the socket alone.
    """

    socket: Path = Path("/run/rackwright/extension.sock")
    https: EntryAddress | None = None
    sites: tuple[Site, ...] = ()

    def contradictions(self) -> Iterator[str]:
        """A uid speaks for one site, and a site stands once."""
        yield from _twice("sites", "site", [site.name for site in self.sites])
        yield from _twice("sites", "uid", [uid for site in self.sites for uid in site.uids])

    def site_of_uid(self) -> dict[int, SiteName]:
        """For which site each uid speaks."""
        return {uid: SiteName(site.name) for site in self.sites for uid in site.uids}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorUid:
    """A local user who operates Rackwright, by uid."""

    uid: Uid
    name: Name
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpsAddress:
    """Where operators with tokens connect."""

    address: Address
    port: Port


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSettings:
    """The listeners for people and their programs."""

    socket: Path = Path("/run/rackwright/operators.sock")
    uids: tuple[OperatorUid, ...] = ()
    https: HttpsAddress | None = None

    def contradictions(self) -> Iterator[str]:
        """A uid is one operator."""
        yield from _twice("uids", "uid", [each.uid for each in self.uids])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProvisioningSettings:
    """The listener on the provisioning network, and that network.

    Attributes:
        blobs_url: Where nginx serves `blobs_dir`; without a slash at its end.
        range: First and last address that DHCP gives.
        router_advertisements: IPv6 routers are announced, for ramdisks without IPv4.
    """

    address: Address
    network: Network
    range: tuple[Address, ...]
    blobs_url: BlobsUrl
    blobs_dir: Path
    https_port: Port = 8443
    http_port: Port = 8080
    router_advertisements: bool = False

    def contradictions(self) -> Iterator[str]:
        """Addresses lie in the network, ports differ."""
        network = ipaddress.ip_network(self.network)
        own = ipaddress.ip_address(self.address)
        if own not in network:
            yield f"address: {own} is not in {network}"
        if self.https_port == self.http_port:
            yield "http_port: the same as https_port"
        if len(self.range) != FIRST_AND_LAST:
            yield "range: two addresses are expected, first and last"
            return
        first, last = (ipaddress.ip_address(each) for each in self.range)
        if first not in network or last not in network:
            yield f"range: not inside {network}"
        elif int(first) > int(last):
            yield "range: the first address lies behind the last"
        elif own in network and int(first) <= int(own) <= int(last):
            yield f"range: holds the service's own address {own}"

    def https_url(self) -> str:
        """Where the agent finds its API."""
        return f"https://{in_url(self.address)}:{self.https_port}"

    def http_url(self) -> str:
        """Where iPXE finds its script."""
        return f"http://{in_url(self.address)}:{self.http_port}"


FIRST_AND_LAST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class BootSettings:
    """What the service and dnsmasq share."""

    hosts_dir: Path
    dnsmasq_log: Path
    tftp_dir: Path
    interface: Interface


@dataclass(frozen=True, slots=True, kw_only=True)
class PortSettings:
    """How switch ports are moved.

    Attributes:
        namespace: rack: the network namespace that holds the bridges.
        isolation: manual: one sentence of the operator that says how networks are kept apart;
            without it no server is handed out.
    """

    adapter: PortAdapter
    namespace: Namespace | None = None
    isolation: str = ""

    def contradictions(self) -> Iterator[str]:
        """Each adapter has its own keys."""
        if self.adapter is PortAdapter.RACK and self.namespace is None:
            yield "namespace: missing; the rack's adapter needs it"
        if self.adapter is PortAdapter.RACK and self.isolation:
            yield "isolation: only the manual adapter takes a declaration"
        if self.adapter is PortAdapter.MANUAL and self.namespace is not None:
            yield "namespace: only the rack's adapter uses one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds, every one.

    Attributes:
        power_read_moving_s: Between readings of a server whose power is about to change.
        proof_settle_s: Power without a reset for so long is taken for a running system, where
            the console shows no sign of one.
        wipe_off_s: Without power between two tenants.
        release_hold_s: Rest between a release's fence and its wipe.
        stop_grace_s: A stop that came before CloudStack has the instance ends the allocation
            after this, unless a create comes.
        create_answer_within_s: The longest that a create waits with its answer.
        truth_wait_s: The longest that a first installation waits for CloudStack's word.
        reconcile_every_s: Between two comparisons with each CloudStack.
        failure_memory_s: A failed deployment is answered at once for so long.
        reading_too_old_s: An older reading says nothing.
    """

    power_read_s: Duration = 15.0
    power_read_moving_s: Duration = 5.0
    agent_call_in_s: Duration = 1200.0
    proof_of_life_s: Duration = 900.0
    proof_settle_s: Duration = 120.0
    wipe_off_s: Duration = 30.0
    release_hold_s: Duration = 0.0
    stop_grace_s: Duration = 300.0
    reserve_for_s: Duration = 1800.0
    create_answer_within_s: Duration = 1440.0
    truth_wait_s: Duration = 300.0
    reconcile_every_s: Annotated[float, between(1, 86400)] = 300.0
    soft_off_s: Duration = 120.0
    failure_memory_s: Duration = 600.0
    reading_too_old_s: Duration = 90.0

    def contradictions(self) -> Iterator[str]:
        """Readings come more often than they grow old."""
        for name in ("power_read_s", "power_read_moving_s"):
            if not 0 < getattr(self, name) < self.reading_too_old_s:
                yield f"{name}: must lie between 0 and reading_too_old_s"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseSettings:
    """How fast what tenants had is wiped.

    Attributes:
        at_most_per_hour: Wipes that begin in any hour, of each pool; None: a tenth of its
            servers, at least four.
        protected_hold_s: A protected instance's disks stay as they are for so long.
    """

    at_most_per_hour: Annotated[int, between(1, 100_000)] | None = None
    protected_hold_s: Annotated[float, between(0, 90 * 86400)] = 7 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """Days that are kept; audit, evidence, operations and their stages stay for ever.

    Attributes:
        operation_files_days: Console, agent's journal, boot script and DHCP lines beside each
            operation that has ended.
        calls_days: The journal of calls to controllers, ports and boot services.
    """

    operation_files_days: Days = 90
    calls_days: Days = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All of it."""

    version: Annotated[int, between(1, 1)]
    provisioning: ProvisioningSettings
    boot: BootSettings
    ports: PortSettings
    service: ServiceSettings = ServiceSettings()  # noqa: RUF009 frozen, in a module of its own
    extension: ExtensionSettings = ExtensionSettings()
    operators: OperatorSettings = OperatorSettings()
    times: Times = Times()
    release: ReleaseSettings = ReleaseSettings()
    retention: Retention = Retention()

    def contradictions(self) -> Iterator[str]:
        """Listeners share nothing."""
        if self.extension.socket == self.operators.socket:
            yield "operators.socket: the same as extension.socket"
        rack = self.provisioning
        taken = dict.fromkeys(
            ((rack.address, port) for port in (rack.https_port, rack.http_port)),
            "the provisioning listener",
        )
        for key, https in (
            ("operators.https", self.operators.https),
            ("extension.https", self.extension.https),
        ):
            if https is not None:
                place = (https.address, https.port)
                if place in taken:
                    yield f"{key}.port: taken by {taken[place]}"
                taken[place] = key

    def files(self) -> Files:
        """Where each file lies."""
        return self.service.files()

    def notices(self) -> tuple[str, ...]:
        """What is allowed and yet will surprise somebody."""
        found = []
        if self.ports.adapter is PortAdapter.MANUAL and not self.ports.isolation:
            found.append("ports.isolation: not declared, so no server will be handed out")
        if not self.extension.sites:
            found.append("extension.sites: empty, so no CloudStack will be answered")
        for site in self.extension.sites:
            if not site.uids and self.extension.https is None:
                text = "no uids, and extension.https is not set, so nobody speaks for it"
                found.append(f"extension.sites: {site.name} has {text}")
        if not self.operators.uids and self.operators.https is None:
            found.append("operators.uids: empty, so nobody can operate this service")
        return tuple(found)


def load(text: str, folder: Path, *, source: str = "configuration") -> Settings:
    """Settings of one TOML text.

    Args:
        text: The file's content.
        folder: Relative paths in it start here: the file's own folder.
        source: The file's name, for error lines.

    Raises:
        InputError: CONFIG_INVALID, with every problem and its path.
    """
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(ErrorCode.CONFIG_INVALID, f"{source}: {error}") from error
    return read(Settings, tree, code=ErrorCode.CONFIG_INVALID, source=source, folder=folder)


def _twice(key: str, what: str, values: Iterable[object]) -> Iterator[str]:
    seen: set[object] = set()
    for value in values:
        if value in seen:
            yield f"{key}: {what} {value} stands twice"
        seen.add(value)
