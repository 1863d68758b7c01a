"""How the server is set up; all of it has defaults that suit a test."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How one server behaves.

    Attributes:
        port: 0: any free one.
        calls: File of the call log; None: it is kept in memory alone.
        job_s: How long a job is pending, in seconds; 0: done at the first poll.
        path_check_s: `extension.path.state.check.interval`, counted from the start.
        maintenance_s: From prepareHostForMaintenance to the host being in it.
        extensions_path: As answers name the folder of extensions, whatever the real ones are.
        version: `cloudstackversion`.
    """

    address: str = "127.0.0.1"
    port: int = 0
    calls: Path | None = None
    job_s: float = 0.0
    path_check_s: float = 300.0
    maintenance_s: float = 0.0
    extensions_path: str = "/usr/share/cloudstack-management/extensions"
    version: str = "4.22.0.0-SNAPSHOT"
