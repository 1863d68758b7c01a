"""Servers as an operator writes them down: a YAML manifest, checked as a whole.

Pure, and the one place that knows PyYAML. docs/examples/servers.yaml shows and explains it.
"""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Final

import yaml

from provisioner.errors import ErrorCode, InputError
from provisioner.servers.model import (
    ControllerAddress,
    ControllerProtocol,
    ExcludedDisk,
    ExpectedHardware,
    FirmwareMode,
    MacRole,
    Nic,
    Power,
    PowerReading,
    RootDiskRule,
    ServerRecord,
    State,
)
from provisioner.strict import between, matching, read
from provisioner.units import Epoch, MacAddress, MonotonicSeconds, PoolName, ServerName

NAME: Final = r"[a-z0-9][a-z0-9-]{0,62}"
Name = Annotated[str, matching(NAME, "a name ([a-z0-9][a-z0-9-]{0,62})")]
Mac = Annotated[str, matching(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}", "a MAC address with colons")]
Line = Annotated[str, matching(r"[^\x00-\x1f\x7f]{0,1024}", "one line of at most 1024 characters")]
Host = Annotated[str, matching(r"[A-Za-z0-9.:_-]{1,253}", "an address or a host name")]
PortNumber = Annotated[int, between(1, 65535)]
Arguments = Annotated[
    str, matching(r"[ -~]{0,512}", "at most 512 printable ASCII characters on one line")
]
Console = Annotated[str, matching(r"[A-Za-z0-9]{1,16}(,[0-9]{1,7}[noe]?[78]?)?", "ttyS1,115200n8")]
"""As the kernel takes it behind console=, without flow control."""

DEFAULT_PORT: Final = {ControllerProtocol.REDFISH: 443, ControllerProtocol.IPMI: 623}
MOST_BYTES: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerEntry:
    """Where the server's controller answers.

    Attributes:
        port: None takes the protocol's own.
        password_file: On the machine that runs the command; None asks for the password.
    """

    protocol: ControllerProtocol
    address: Host
    user: Line
    port: PortNumber | None = None
    system: Line = ""
    password_file: Line | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NicEntry:
    """One card; the order in the manifest is the order of tenant ports."""

    mac: Mac
    roles: frozenset[MacRole]
    port: Annotated[str, matching(r"[!-~]{1,64}", "the switch port's name")]

    def contradictions(self) -> Iterator[str]:
        """A card without a role is no use."""
        if not self.roles:
            yield "roles: at least one is expected"

    def nic(self) -> Nic:
        """As it is remembered."""
        return Nic(mac=MacAddress(self.mac.lower()), roles=self.roles, port=self.port)


def booting_cards(nics: tuple[NicEntry, ...]) -> Iterator[str]:
    """What is wrong with these cards together: one boots from the network, none stands twice."""
    booting = [nic for nic in nics if MacRole.PROVISIONING in nic.roles]
    if len(booting) != 1:
        yield f"nics: exactly one with role provisioning is expected, found {len(booting)}"
    macs = [nic.mac.lower() for nic in nics]
    if len(set(macs)) != len(macs):
        yield "nics: a MAC stands twice"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """One server of a manifest, without its password."""

    name: Name
    pool: Name
    controller: ControllerEntry
    firmware: FirmwareMode
    nics: tuple[NicEntry, ...]
    root_disk: RootDiskRule
    kernel_arguments: Arguments = ""
    console: Console = "ttyS0"
    excluded_disks: tuple[ExcludedDisk, ...] = ()
    expected: ExpectedHardware | None = None

    def contradictions(self) -> Iterator[str]:
        """One card boots from the network; the rule for the root disk says something."""
        yield from booting_cards(self.nics)
        if self.root_disk == RootDiskRule():
            yield "root_disk: at least one property is expected"

    def record(self, now: MonotonicSeconds) -> ServerRecord:
        """What is remembered of it before anybody has spoken to its controller."""
        controller = self.controller
        return ServerRecord(
            name=ServerName(self.name),
            pool=PoolName(self.pool),
            state=State.ENROLLED,
            epoch=Epoch(0),
            dirty=False,
            power=PowerReading(power=Power.UNKNOWN, at=now, source="enrolment", why="never read"),
            firmware=self.firmware,
            controller=ControllerAddress(
                protocol=controller.protocol,
                host=controller.address,
                port=controller.port or DEFAULT_PORT[controller.protocol],
                user=controller.user,
                system=controller.system,
            ),
            nics=tuple(nic.nic() for nic in self.nics),
            root_disk=self.root_disk,
            kernel_arguments=self.kernel_arguments,
            console=self.console,
            excluded_disks=self.excluded_disks,
            expected=self.expected,
        )

    def to_json(self) -> dict[str, Any]:
        """A tree of JSON values that reads back as an equal entry."""
        tree = asdict(self)
        for nic in tree["nics"]:
            nic["roles"] = sorted(nic["roles"])
        return tree

    def without_password_file(self) -> "ServerEntry":
        """As it goes to the service: the file lies on the operator's machine."""
        return replace(self, controller=replace(self.controller, password_file=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All servers of one file."""

    version: Annotated[int, between(1, 1)]
    servers: tuple[ServerEntry, ...]

    def contradictions(self) -> Iterator[str]:
        """One name, one controller, one card belong to one server."""
        if not self.servers:
            yield "servers: at least one is expected"
        yield from _shared("name", [(entry.name, entry.name) for entry in self.servers])
        yield from _shared(
            "controller",
            [
                (f"{c.address}:{c.port or DEFAULT_PORT[c.protocol]} {c.system}".strip(), entry.name)
                for entry in self.servers
                for c in (entry.controller,)
            ],
        )
        yield from _shared(
            "MAC", [(nic.mac.lower(), entry.name) for entry in self.servers for nic in entry.nics]
        )


def parse_manifest(text: str, *, source: str) -> Manifest:
    """The servers of one YAML text.

    Args:
        text: The file's content.
        source: Its name, for the error's line.

    Raises:
        InputError: MANIFEST_INVALID, with every problem and its path.
    """
    code = ErrorCode.MANIFEST_INVALID
    return manifest_of(yaml_tree(text, code=code, source=source), source=source)


def yaml_tree(text: str, *, code: ErrorCode, source: str) -> object:
    """Plain values of one YAML text, for `strict.read`: no aliases, no key twice.

    Raises:
        InputError: With this code: too large, nested too deeply, or no YAML.
    """
    if len(text) > MOST_BYTES:
        raise InputError(code, f"{source}: larger than {MOST_BYTES} bytes")
    try:
        return yaml.load(text, Loader=_PlainLoader)  # noqa: S506 a safe loader, narrowed
    except RecursionError as error:
        raise InputError(code, f"{source}: nested too deeply") from error
    except yaml.YAMLError as error:
        raise InputError(code, f"{source}: {_told(error)}") from error


def _told(error: yaml.YAMLError) -> str:
    """With the line, and without the library's own name for a text that has none."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        text = ", ".join(each for each in (error.context, error.problem) if each)
        return f"line {mark.line + 1}, column {mark.column + 1}: {text}"
    return re.sub(r"\s+", " ", str(error).replace('"<unicode string>", ', ""))


def manifest_of(tree: object, *, source: str) -> Manifest:
    """The servers of a tree that somebody else has parsed or put together.

    Raises:
        InputError: MANIFEST_INVALID, with every problem and its path.
    """
    return read(Manifest, tree, code=ErrorCode.MANIFEST_INVALID, source=source)


class _PlainLoader(yaml.SafeLoader):
    """Refuses aliases (a small file must not grow into a large one) and keys that stand twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:  # noqa: FBT001, FBT002 the library's own signature
        keys = [key.value for key, _ in node.value]
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise yaml.YAMLError(f"{twice} stands twice{node.start_mark}")
        return super().construct_mapping(node, deep=deep)


def _shared(what: str, owners: list[tuple[str, str]]) -> Iterator[str]:
    first: dict[str, str] = {}
    for value, owner in owners:
        if value in first:
            yield f"servers: {what} {value} of {owner} is also that of {first[value]}"
        first.setdefault(value, owner)
