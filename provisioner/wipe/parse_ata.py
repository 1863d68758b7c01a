"""What hdparm prints, as values.

Source: ATA Command Set 4, security and sanitize feature sets; the lines are those of hdparm
9.65 (Debian 12).
"""

import re
from dataclasses import replace

from provisioner.wipe.capabilities import AtaCapabilities, SanitizeState

_SECURITY_LINE = re.compile(
    r"^\t(not)?\t(supported: enhanced erase|supported|enabled|locked|frozen)$"
)
_MINUTES = re.compile(r"(\d+)min for (ENHANCED )?SECURITY ERASE UNIT")
_HIDDEN = re.compile(r"max sectors\s*=\s*(\d+)/(\d+)")
_PROGRESS = re.compile(r"Progress: 0x[0-9a-f]+ \((\d+)%\)")


def parse_identify(text: str) -> AtaCapabilities | None:
    """From `hdparm -I`.

    Returns:
        None where no ATA disk answered: hdparm prints a page without a model number and exits
        with 0 for a SCSI disk.
    """
    if not re.search(r"^\tModel Number:\s+\S", text, re.MULTILINE):
        return None
    marks = _security_marks(text)
    minutes = {bool(enhanced): int(number) for number, enhanced in _MINUTES.findall(text)}
    sanitize = _has(text, "SANITIZE feature set")
    return AtaCapabilities(
        security=marks.get("supported", False),
        enabled=marks.get("enabled", False),
        locked=marks.get("locked", False),
        frozen=marks.get("frozen", False),
        enhanced=marks.get("supported: enhanced erase", False),
        erase_minutes=minutes.get(False),
        enhanced_minutes=minutes.get(True),
        sanitize=sanitize,
        sanitize_crypto=sanitize and _has(text, "CRYPTO_SCRAMBLE_EXT command"),
        sanitize_block=sanitize and _has(text, "BLOCK_ERASE_EXT command"),
        sanitize_overwrite=sanitize and _has(text, "OVERWRITE_EXT command"),
        trim_zeroes=_has(text, "Deterministic read ZEROs after TRIM"),
    )


def _security_marks(text: str) -> dict[str, bool]:
    """Each line of the section "Security"; a word with "not" before it is False."""
    _, _, section = text.partition("\nSecurity:")
    found = (_SECURITY_LINE.match(line) for line in section.splitlines())
    return {each[2]: each[1] is None for each in found if each}


def _has(text: str, feature: str) -> bool:
    """The feature is listed with a star: supported, and not switched off."""
    return bool(re.search(rf"^\t {{3}}\*\t{re.escape(feature)}", text, re.MULTILINE))


def parse_hidden_sectors(text: str) -> int:
    """From `hdparm -N`: how many sectors a host protected area keeps from the host."""
    found = _HIDDEN.search(text)
    return max(0, int(found[2]) - int(found[1])) if found else 0


def parse_sanitize_status(text: str) -> tuple[SanitizeState, float]:
    """From `hdparm --sanitize-status`: the state, and the share done (1.0 unless running)."""
    if "SD2 Sanitize operation In Process" in text:
        found = _PROGRESS.search(text)
        return SanitizeState.RUNNING, int(found[1]) / 100 if found else 0.0
    if "SD3 Sanitize Operation Failed" in text or "completed unsuccessfully" in text:
        return SanitizeState.FAILED, 1.0
    if "SD1 Sanitize Frozen" in text:
        return SanitizeState.FROZEN, 1.0
    if "Last Sanitize Operation Completed Without Error" in text:
        return SanitizeState.COMPLETED, 1.0
    if "SD0 Sanitize Idle" in text:
        return SanitizeState.NEVER, 1.0
    return SanitizeState.UNKNOWN, 1.0


def parse_ata(identify: str, sizes: str, sanitize_status: str) -> AtaCapabilities | None:
    """From `hdparm -I`, `hdparm -N` and `hdparm --sanitize-status`; None where not ATA."""
    found = parse_identify(identify)
    if found is None:
        return None
    state, _ = parse_sanitize_status(sanitize_status)
    return replace(
        found,
        hidden_sectors=parse_hidden_sectors(sizes),
        sanitize_state=state if found.sanitize else SanitizeState.UNKNOWN,
    )
