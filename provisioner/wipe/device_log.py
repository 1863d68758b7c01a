"""A disk's own record of its health, as smartctl prints it."""

import json
import typing
from dataclasses import asdict, dataclass
from typing import Any, Self

from provisioner.hardware.inventory import read

REALLOCATED_SECTORS = 5
PENDING_SECTORS = 197
"""ATA SMART attribute ids. Source: ATA8-ACS, annex of SMART attributes in common use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLog:
    """What the disk says of itself; None is "does not say".

    Attributes:
        source: "nvme", "ata", "scsi", or "none" where the disk keeps no log (virtio).
        passed: The disk's overall verdict.
        media_errors: NVMe: media and data integrity errors. SCSI: uncorrected errors.
        moved_sectors: Sectors taken out of use; they keep what was last written to them.
    """

    source: str = "none"
    passed: bool | None = None
    media_errors: int | None = None
    moved_sectors: int | None = None
    pending_sectors: int | None = None

    def to_json(self) -> dict[str, Any]:
        """A tree of JSON values; `from_json` gives an equal value."""
        return asdict(self)

    @classmethod
    def from_json(cls, body: object, path: str = "log") -> Self:
        """Read what an agent sent.

        Raises:
            ValueError: With the path of the first field that does not fit.
        """
        return typing.cast("Self", read(cls, body, path))


def parse_smartctl(text: str) -> DeviceLog:
    """From `smartctl -j -a`; a disk without a log, or no JSON at all, gives source "none"."""
    try:
        tree = json.loads(text)
    except ValueError:
        return DeviceLog()
    source = _text(tree, "device", "protocol").lower()
    if source not in {"nvme", "ata", "scsi"}:
        return DeviceLog()
    passed = _at(tree, "smart_status", "passed")
    return DeviceLog(
        source=source,
        passed=passed if isinstance(passed, bool) else None,
        media_errors=_media_errors(tree),
        moved_sectors=_attribute(tree, REALLOCATED_SECTORS)
        if source == "ata"
        else _number(tree, "scsi_grown_defect_list"),
        pending_sectors=_attribute(tree, PENDING_SECTORS),
    )


def _media_errors(tree: object) -> int | None:
    nvme = _number(tree, "nvme_smart_health_information_log", "media_errors")
    if nvme is not None:
        return nvme
    counters = [
        _number(tree, "scsi_error_counter_log", kind, "total_uncorrected_errors")
        for kind in ("read", "write", "verify")
    ]
    told = [each for each in counters if each is not None]
    return sum(told) if told else None


def _attribute(tree: object, number: int) -> int | None:
    table = _at(tree, "ata_smart_attributes", "table")
    rows = table if isinstance(table, list) else []
    found = [_number(row, "raw", "value") for row in rows if _number(row, "id") == number]
    return found[0] if found else None


def _at(tree: object, *path: str) -> object:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree


def _number(tree: object, *path: str) -> int | None:
    found = _at(tree, *path)
    return found if type(found) is int else None


def _text(tree: object, *path: str) -> str:
    found = _at(tree, *path)
    return found if isinstance(found, str) else ""
