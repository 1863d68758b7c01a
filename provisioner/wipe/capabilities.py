"""What a disk says that it can do, as values; the parsers are in parse_nvme, _ata and _scsi."""

import dataclasses
import typing
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from provisioner.hardware.inventory import read


class SanitizeState(StrEnum):
    """What a disk's own record says of its newest sanitize."""

    NEVER = "never"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    FROZEN = "frozen"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class NvmeCapabilities:
    """Identify controller and namespace, and the sanitize log.

    Attributes:
        oacs: Optional admin commands; bit 1 is Format NVM.
        fna: Format attributes; bit 0 formats and bit 1 erases all namespaces, bit 2 has crypto.
        sanicap: Sanitize; bit 0 crypto, bit 1 block, bit 2 overwrite.
        dlfeat: Bits 0 to 2 are 1 where deallocated blocks read as zeros.
        unallocated_bytes: Media that belongs to no namespace.
    """

    oacs: int
    fna: int
    sanicap: int
    dlfeat: int
    unallocated_bytes: int
    sanitize_state: SanitizeState = SanitizeState.UNKNOWN

    def has_format(self) -> bool:
        """Format NVM is there at all."""
        return bool(self.oacs & 0b10)

    def has_crypto_format(self) -> bool:
        """Format may be asked for a cryptographic erase."""
        return self.has_format() and bool(self.fna & 0b100)

    def reads_zero_after_discard(self) -> bool:
        """The namespace promises it."""
        return self.dlfeat & 0b111 == 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AtaCapabilities:
    """Identify device's security, sanitize and TRIM words, and the two sizes.

    Attributes:
        enabled: A password is set.
        locked: It is set and was not given since power-on: neither reads nor writes.
        frozen: Security commands are refused until the next power-on.
        erase_minutes: The disk's own estimate; None where it gives none.
        hidden_sectors: Behind a host protected area; not addressable by the host.
    """

    security: bool = False
    enabled: bool = False
    locked: bool = False
    frozen: bool = False
    enhanced: bool = False
    erase_minutes: int | None = None
    enhanced_minutes: int | None = None
    sanitize: bool = False
    sanitize_crypto: bool = False
    sanitize_block: bool = False
    sanitize_overwrite: bool = False
    sanitize_state: SanitizeState = SanitizeState.UNKNOWN
    trim_zeroes: bool = False
    hidden_sectors: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScsiCapabilities:
    """Reported operation codes and READ CAPACITY (16)."""

    sanitize_crypto: bool = False
    sanitize_block: bool = False
    sanitize_overwrite: bool = False
    sanitize_state: SanitizeState = SanitizeState.UNKNOWN
    unmap_zeroes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """All of one disk; a part is None where the disk does not speak that language.

    Attributes:
        discard_max_bytes: As the kernel shows it; 0 is no discard.
    """

    read_only: bool = False
    rotational: bool = False
    discard_max_bytes: int = 0
    nvme: NvmeCapabilities | None = None
    ata: AtaCapabilities | None = None
    scsi: ScsiCapabilities | None = None

    def promises_zero_after_discard(self) -> bool:
        """Some part of the disk says that discarded blocks read as zeros."""
        return bool(
            (self.nvme and self.nvme.reads_zero_after_discard())
            or (self.ata and self.ata.trim_zeroes)
            or (self.scsi and self.scsi.unmap_zeroes)
        )

    def to_json(self) -> dict[str, Any]:
        """A tree of JSON values; `from_json` gives an equal value."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, body: object, path: str = "capabilities") -> Self:
        """Read what an agent sent.

        Raises:
            ValueError: With the path of the first field that does not fit.
        """
        return typing.cast("Self", read(cls, body, path))
