"""GPU hosts in memory, and a way to their texts that gives what it was given."""

from dataclasses import dataclass, field, replace

from provisioner.errors import ConflictError, ErrorCode, InputError, RackwrightError
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.model import HostRecord, SshAccess
from provisioner.operations.desk_hosts import HostBook
from provisioner.ports.journal import AuditEntry
from provisioner.testing.clock import FakeClock
from provisioner.units import HostName, ServerName, SiteName, WallSeconds

SHOWN_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFakeFakeFakeFakeFakeFakeFakeFakeFakeFakeFake"


@dataclass(slots=True)
class MemoryRecords:
    """Implements ports.Hosts."""

    kept: dict[HostName, HostRecord] = field(default_factory=dict)
    bundles: dict[HostName, bytes] = field(default_factory=dict)

    def host(self, name: HostName) -> HostRecord:
        """One of them."""
        if name not in self.kept:
            raise InputError(ErrorCode.HOST_UNKNOWN, f"there is no GPU host {name}")
        return self.kept[name]

    def hosts(self) -> tuple[HostRecord, ...]:
        """All, by name."""
        return tuple(self.kept[name] for name in sorted(self.kept))

    def add(self, record: HostRecord, bundle: bytes) -> None:
        """A name once."""
        if record.name in self.kept:
            raise ConflictError(ErrorCode.HOST_EXISTS, f"host {record.name}: the name is taken")
        self.kept[record.name], self.bundles[record.name] = record, bundle

    def observe(self, name: HostName, facts: HostFacts, bundle: bytes, *, now: WallSeconds) -> None:
        """Newer facts."""
        self.kept[name] = replace(self.host(name), facts=facts, inspected_at=now)
        self.bundles[name] = bundle

    def bundle(self, name: HostName) -> bytes:
        """As it was given."""
        self.host(name)
        return self.bundles[name]


@dataclass(slots=True)
class FakeGather:
    """Implements ports.Gather.

    Attributes:
        content: What each host answers with.
        fails: Raised instead.
        asked: In order.
    """

    content: bytes = b""
    fails: RackwrightError | None = None
    asked: list[SshAccess] = field(default_factory=list)

    async def __call__(self, access: SshAccess) -> tuple[bytes, str]:
        """What it was given."""
        self.asked.append(access)
        if self.fails is not None:
            raise self.fails
        return self.content, SHOWN_KEY


class MemoryAudit:
    """Implements ports.Audit: what was done, in order."""

    def __init__(self) -> None:
        self.kept: list[AuditEntry] = []

    def audit(self, who: str, act: str, subject: str, detail: str = "") -> None:
        """Note it."""
        at = WallSeconds(0.0)
        self.kept.append(AuditEntry(at=at, who=who, act=act, subject=subject, detail=detail))

    def entries(
        self,
        *,
        server: ServerName | None = None,
        since: WallSeconds | None = None,
        most: int = 1000,
    ) -> tuple[AuditEntry, ...]:
        """Newest first."""
        del server, since
        return tuple(self.kept[::-1][:most])


def memory_book() -> HostBook:
    """A desk of hosts in memory; its `gather` is a FakeGather."""
    return HostBook(
        records=MemoryRecords(),
        gather=FakeGather(),
        audit=MemoryAudit(),
        clock=FakeClock(),
        sites=frozenset({SiteName("lab")}),
    )
