"""The erase methods: what each can reach at best, and what a disk reads like after it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class WipeClass(StrEnum):
    """How far a wipe reaches, in the words of NIST SP 800-88; they are ordered by `rank`."""

    NONE = "none"
    CLEAR = "clear"
    PURGE = "purge"

    def rank(self) -> int:
        """0 for none, 2 for purge."""
        return list(WipeClass).index(self)


class Method(StrEnum):
    """In the order of preference, which is also the order of running when there are several."""

    NVME_SANITIZE_CRYPTO = "nvme-sanitize-crypto"
    NVME_SANITIZE_BLOCK = "nvme-sanitize-block"
    NVME_FORMAT_CRYPTO = "nvme-format-crypto"
    NVME_FORMAT_ERASE = "nvme-format-erase"
    ATA_SANITIZE_CRYPTO = "ata-sanitize-crypto"
    ATA_SANITIZE_BLOCK = "ata-sanitize-block"
    ATA_SANITIZE_OVERWRITE = "ata-sanitize-overwrite"
    ATA_ERASE_ENHANCED = "ata-security-erase-enhanced"
    ATA_ERASE = "ata-security-erase"
    SCSI_SANITIZE_CRYPTO = "scsi-sanitize-crypto"
    SCSI_SANITIZE_BLOCK = "scsi-sanitize-block"
    SCSI_SANITIZE_OVERWRITE = "scsi-sanitize-overwrite"
    DISCARD = "discard"
    OVERWRITE = "overwrite"


class Leaves(StrEnum):
    """What a block may read as after a method; each allows what the ones before it allow.

    ZERO is zeros alone; BLANK also 0xFF throughout, as erased flash reads; NOISE also what the
    ciphertext of an erased key reads as.
    """

    ZERO = "zero"
    BLANK = "blank"
    NOISE = "noise"


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFacts:
    """What is known of a method whatever the disk.

    Attributes:
        reaches: The class when the disk proves that it ended well. Conservative: a completion
            code alone proves no purge, so NVMe format and a plain security erase are a clear.
        hidden_areas: True where it reaches sectors that the host cannot address.
    """

    reaches: WipeClass
    leaves: Leaves
    hidden_areas: bool = False


_PURGE_NOISE = MethodFacts(reaches=WipeClass.PURGE, leaves=Leaves.NOISE, hidden_areas=True)
_PURGE_BLANK = MethodFacts(reaches=WipeClass.PURGE, leaves=Leaves.BLANK, hidden_areas=True)
_PURGE_ZERO = MethodFacts(reaches=WipeClass.PURGE, leaves=Leaves.ZERO, hidden_areas=True)

METHODS: Mapping[Method, MethodFacts] = MappingProxyType(
    {
        Method.NVME_SANITIZE_CRYPTO: _PURGE_NOISE,
        Method.NVME_SANITIZE_BLOCK: _PURGE_BLANK,
        Method.NVME_FORMAT_CRYPTO: MethodFacts(reaches=WipeClass.CLEAR, leaves=Leaves.NOISE),
        Method.NVME_FORMAT_ERASE: MethodFacts(reaches=WipeClass.CLEAR, leaves=Leaves.BLANK),
        Method.ATA_SANITIZE_CRYPTO: _PURGE_NOISE,
        Method.ATA_SANITIZE_BLOCK: _PURGE_BLANK,
        Method.ATA_SANITIZE_OVERWRITE: _PURGE_ZERO,
        # self-encrypting drives answer the enhanced erase with a new key: noise
        Method.ATA_ERASE_ENHANCED: MethodFacts(
            reaches=WipeClass.CLEAR, leaves=Leaves.NOISE, hidden_areas=True
        ),
        Method.ATA_ERASE: MethodFacts(reaches=WipeClass.CLEAR, leaves=Leaves.BLANK),
        Method.SCSI_SANITIZE_CRYPTO: _PURGE_NOISE,
        Method.SCSI_SANITIZE_BLOCK: _PURGE_BLANK,
        Method.SCSI_SANITIZE_OVERWRITE: _PURGE_ZERO,
        # nothing is promised by a discard; `choose` counts it where the disk promises zeros
        Method.DISCARD: MethodFacts(reaches=WipeClass.NONE, leaves=Leaves.BLANK),
        Method.OVERWRITE: MethodFacts(reaches=WipeClass.CLEAR, leaves=Leaves.ZERO),
    }
)

SECURITY_ERASES = frozenset({Method.ATA_ERASE, Method.ATA_ERASE_ENHANCED})
"""What a frozen disk refuses until its next power-on."""

SANITIZES = frozenset(each for each in Method if "sanitize" in each.value)
"""Methods that keep a log of their own, which must say that they ended well."""
