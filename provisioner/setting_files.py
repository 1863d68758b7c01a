"""Where the service keeps what it keeps: every file of it, and how they are named. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class LogLevel(StrEnum):
    """From which level on a line is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Every file of the service, resolved.

    Attributes:
        extension_certificate: Of the listener for entries, with its key.
        entries: Certificates that were issued for entries, without a key.
        marker: The generation outside the database (invariant 16).
        tokens: Operators' tokens, hashed.
    """

    database: Path
    secrets_key: Path
    evidence_key: Path
    evidence_public: Path
    ca_certificate: Path
    ca_key: Path
    server_certificate: Path
    server_key: Path
    extension_certificate: Path
    entries: Path
    marker: Path
    tokens: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """Where the service keeps what it keeps; a file not named here lies in `state_dir`."""

    state_dir: Path = Path("/var/lib/rackwright")
    log_level: LogLevel = LogLevel.INFO
    database: Path | None = None
    secrets_key: Path | None = None
    evidence_key: Path | None = None
    evidence_public: Path | None = None
    ca_certificate: Path | None = None
    ca_key: Path | None = None
    server_certificate: Path | None = None
    server_key: Path | None = None
    extension_certificate: Path | None = None
    entries: Path | None = None
    marker: Path | None = None
    tokens: Path | None = None

    def files(self) -> Files:
        """Where each file lies."""
        state = self.state_dir
        return Files(
            database=self.database or state / "rackwright.db",
            secrets_key=self.secrets_key or state / "secrets.key",
            evidence_key=self.evidence_key or state / "evidence.key",
            evidence_public=self.evidence_public or state / "evidence.pub",
            ca_certificate=self.ca_certificate or state / "ca.pem",
            ca_key=self.ca_key or state / "ca.key",
            server_certificate=self.server_certificate or state / "server.pem",
            server_key=self.server_key or state / "server.key",
            extension_certificate=self.extension_certificate or state / "extension.pem",
            entries=self.entries or state / "entries",
            marker=self.marker or state / "marker",
            tokens=self.tokens or state / "tokens",
        )
