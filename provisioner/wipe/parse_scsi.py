"""What sg3-utils print, as values.

Source: SPC-5 (REPORT SUPPORTED OPERATION CODES), SBC-4 (SANITIZE, READ CAPACITY (16)); the
lines are those of sg3-utils 1.46 (Debian 12).
"""

import re

from provisioner.wipe.capabilities import SanitizeState, ScsiCapabilities

_SANITIZE = "48"
_OVERWRITE, _BLOCK, _CRYPTO = "1", "2", "3"
_TELLING = frozenset({SanitizeState.RUNNING, SanitizeState.FAILED})
_PROGRESS = re.compile(r"Progress indication: (\d+(?:\.\d+)?)")


def parse_scsi(opcodes: str, capacity: str, sense: str) -> ScsiCapabilities:
    """From `sg_opcodes`, `sg_readcap --long` and `sg_requests`."""
    actions = {
        line[3:16].strip().lstrip("0")
        for line in opcodes.splitlines()
        if line[:1] == " " and line[1:3] == _SANITIZE
    }
    state, _ = parse_sense(sense)
    return ScsiCapabilities(
        sanitize_crypto=_CRYPTO in actions,
        sanitize_block=_BLOCK in actions,
        sanitize_overwrite=_OVERWRITE in actions,
        # "nothing to report" tells a sanitize that ended from none only just after the command
        sanitize_state=state if state in _TELLING else SanitizeState.UNKNOWN,
        unmap_zeroes=bool(re.search(r"lbpme=1, lbprz=[1-7]", capacity)),
    )


def parse_sense(text: str) -> tuple[SanitizeState, float]:
    """From `sg_requests`: how a sanitize stands, and the share done (1.0 unless running)."""
    lower = text.lower()
    if "sanitize in progress" in lower:
        found = _PROGRESS.search(text)
        return SanitizeState.RUNNING, float(found[1]) / 100 if found else 0.0
    if "sanitize command failed" in lower:
        return SanitizeState.FAILED, 1.0
    if "no additional sense information" in lower:
        # no sense to report is all that SCSI says of one that ended well
        return SanitizeState.COMPLETED, 1.0
    return SanitizeState.UNKNOWN, 1.0
