"""What nvme-cli prints, as values.

Source: NVM Express Base Specification 2.0, figures of Identify Controller, Identify Namespace
and the Sanitize Status log page; nvme-cli 2.3 (Debian 12) for the names in JSON.
"""

import json
import struct
from dataclasses import dataclass

from provisioner.wipe.capabilities import NvmeCapabilities, SanitizeState

_HEAD = struct.Struct("<HHI")
"""SPROG, SSTAT and SCDW10, the first three fields of the log."""
_STATES = {
    0: SanitizeState.NEVER,
    1: SanitizeState.COMPLETED,
    2: SanitizeState.RUNNING,
    3: SanitizeState.FAILED,
    4: SanitizeState.COMPLETED,
}
CRYPTO_ACTION, BLOCK_ACTION, OVERWRITE_ACTION = 4, 2, 3
"""SANACT of the sanitize command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizeLog:
    """The Sanitize Status log page.

    Attributes:
        share: Done so far, 0.0 to 1.0; 1.0 unless one is running.
        action: SANACT of the command that the log speaks of.
    """

    state: SanitizeState
    share: float
    action: int


def parse_sanitize_log(raw: bytes) -> SanitizeLog:
    """From `nvme sanitize-log -b`; UNKNOWN where the disk has no such log."""
    if len(raw) < _HEAD.size:
        return SanitizeLog(state=SanitizeState.UNKNOWN, share=0.0, action=0)
    progress, status, command = _HEAD.unpack_from(raw)
    state = _STATES.get(status & 0b111, SanitizeState.UNKNOWN)
    share = progress / 65536 if state is SanitizeState.RUNNING else 1.0
    return SanitizeLog(state=state, share=share, action=command & 0b111)


def parse_nvme(controller: str, namespace: str, sanitize_log: bytes) -> NvmeCapabilities | None:
    """From `nvme id-ctrl -o json`, `nvme id-ns -o json` and `nvme sanitize-log -b`.

    Returns:
        None where the first two are not what a NVMe disk answers.
    """
    try:
        ctrl, ns = json.loads(controller), json.loads(namespace)
        return NvmeCapabilities(
            oacs=int(ctrl["oacs"]),
            fna=int(ctrl["fna"]),
            sanicap=int(ctrl["sanicap"]),
            dlfeat=int(ns["dlfeat"]),
            # 128 bits wide, so nvme-cli prints it as text
            unallocated_bytes=int(ctrl["unvmcap"]),
            sanitize_state=parse_sanitize_log(sanitize_log).state,
        )
    except (ValueError, KeyError, TypeError):
        return None
