"""A GPU host as it is remembered. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from provisioner.hosts.facts import HostFacts
from provisioner.strict import between, matching
from provisioner.units import HostName, WallSeconds

SSH_PORT: Final = 22
FINGERPRINT: Final = r"SHA256:[A-Za-z0-9+/]{43}"
Host = Annotated[str, matching(r"[A-Za-z0-9.:_-]{1,253}", "an address or a host name")]
User = Annotated[str, matching(r"[a-z_][a-z0-9_-]{0,31}", "a user's name")]
Port = Annotated[int, between(1, 65535)]
HostKey = Annotated[
    str,
    matching(
        rf"|{FINGERPRINT}|ssh-[a-z0-9-]+ \S+|ecdsa-\S+ \S+", "SHA256:… or a line's type and key"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SshHop:
    """One machine on the way.

    Attributes:
        host_key: What it must show: a fingerprint, or type and key as known_hosts has them; "" is
            not known yet, and then nothing is asked of it.
    """

    host: Host
    user: User = "root"
    port: Port = SSH_PORT
    host_key: HostKey = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshAccess:
    """How a host is reached.

    Attributes:
        key_file: On the service's machine; None: the agent of the service's environment.
        jump: Through which other machine, with the same key.
    """

    target: SshHop
    key_file: Path | None = None
    jump: SshHop | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerPlace:
    """Where the host's controller answers: one machine has one role (invariant 15)."""

    host: Host
    port: Port = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudPlace:
    """Which host it is in CloudStack."""

    site: Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,62}", "a site's name")]
    uuid: Annotated[str, matching(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a uuid")]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRecord:
    """One host.

    Attributes:
        access: None: it is known by bundles alone.
        system_uuid: As its firmware says it; None where no text said it.
        enrolled_by: Who asked.
        facts: The newest.
    """

    name: HostName
    access: SshAccess | None
    controller: ControllerPlace | None
    cloudstack: CloudPlace | None
    system_uuid: str | None
    enrolled_at: WallSeconds
    enrolled_by: str
    inspected_at: WallSeconds
    facts: HostFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class HostWanted:
    """A host to be enrolled: reached over SSH, or from a bundle alone.

    Attributes:
        bundle: The file in base64; "" where it is reached.
    """

    name: Annotated[str, matching(r"[a-z0-9][a-z0-9-]{0,62}", "a name ([a-z0-9][a-z0-9-]{0,62})")]
    access: SshAccess | None = None
    controller: ControllerPlace | None = None
    cloudstack: CloudPlace | None = None
    bundle: str = ""

    def contradictions(self) -> Iterator[str]:
        """One way in is needed."""
        if self.access is None and not self.bundle:
            yield "access: missing, and there is no bundle either"
        if (
            self.access is not None
            and self.access.jump is not None
            and not self.access.jump.host_key
        ):
            yield "access.jump.host_key: missing"
