"""ramdisk.json: what was built, out of what."""

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError

FORMAT = 1
KERNEL_FILE = "vmlinuz"
INITRD_FILE = "initrd.img"
RECORD_FILE = "ramdisk.json"
LOCK_FILE = "packages.lock"
"""With what was added; builds the same bytes again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RamdiskRecord:
    """One built ramdisk.

    Attributes:
        digest: Names kernel and initrd together; what evidence of a wipe refers to.
        lock_digest: SHA-256 of the lock's canonical text.
        added: What was asked for beyond the lists: packages, firmware by digest, drivers.
    """

    digest: str
    lock_digest: str
    kernel_version: str
    kernel_sha256: str
    kernel_bytes: int
    initrd_sha256: str
    initrd_bytes: int
    unpacked_bytes: int
    modules: int
    added: tuple[str, ...]

    def total_bytes(self) -> int:
        """Kernel and initrd together, as sent."""
        return self.kernel_bytes + self.initrd_bytes

    def to_text(self) -> str:
        """As stored."""
        return json.dumps({"version": FORMAT, **asdict(self)}, indent=2) + "\n"


def digest_of(kernel_sha256: str, initrd_sha256: str) -> str:
    """One digest of the two files."""
    return hashlib.sha256(f"{kernel_sha256}\n{initrd_sha256}\n".encode()).hexdigest()


def read_record(folder: Path) -> RamdiskRecord:
    """What lies in a folder that `build` filled.

    Raises:
        OperatorError: RAMDISK_MISSING: there is none, or not one of this version.
    """
    path = folder / RECORD_FILE
    try:
        body = json.loads(path.read_text(encoding="utf-8"))
        if body.pop("version") != FORMAT:
            raise ValueError("another version")  # noqa: TRY301 one answer to all of them
        for name in (KERNEL_FILE, INITRD_FILE):
            (folder / name).stat()
        return RamdiskRecord(**{**body, "added": tuple(body["added"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise OperatorError(
            ErrorCode.RAMDISK_MISSING,
            f"no ramdisk in {folder}: run `rackwright ramdisk build`",
            detail=str(error),
        ) from error
