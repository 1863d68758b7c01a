"""How each method is run: commands, waits and checks, as values. Nothing runs here.

Every command names its time limit; whatever runs longer is ended and counts as failed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from provisioner.wipe.capabilities import AtaCapabilities, Capabilities, SanitizeState
from provisioner.wipe.method import Method
from provisioner.wipe.parse_ata import parse_sanitize_status
from provisioner.wipe.parse_nvme import (
    BLOCK_ACTION,
    CRYPTO_ACTION,
    parse_sanitize_log,
)
from provisioner.wipe.parse_scsi import parse_sense

SHORT_S = 60
FORMAT_S = 3600
DAY_S = 86_400
POLL_S = 2
OVERWRITE_BLOCK_BYTES = 8 << 20
ATA_PASSWORD = "rackwright"  # noqa: S105 fixed and published, so that any later run can unlock
DISCARD_STEP_BYTES = 16 << 30
"""Between two steps a discard can be ended; one call for the whole disk cannot."""
MINUTE_S = 60


class Log(StrEnum):
    """Where a disk tells how its sanitize goes."""

    NVME = "nvme"
    ATA = "ata"
    SCSI = "scsi"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One command; any status but 0 is a failure."""

    argv: tuple[str, ...]
    limit_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """Ask until the disk says that its sanitize ended.

    Attributes:
        after_ours: True: it must have ended well. False: one may run from before; wait for it.
    """

    log: Log
    argv: tuple[str, ...]
    limit_s: int
    after_ours: bool = True
    every_s: int = POLL_S


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirePassword:
    """Read the disk's identity: a password must, or must not, be set now.

    hdparm exits with 0 whatever the disk answers to a security command, so this is the proof.
    """

    argv: tuple[str, ...]
    is_set: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteZeros:
    """Write the whole disk, past the page cache."""

    block_bytes: int = OVERWRITE_BLOCK_BYTES


Act = Run | Watch | RequirePassword | WriteZeros


def acts(method: Method, path: str, capabilities: Capabilities) -> tuple[Act, ...]:
    """All that runs this method on this disk, in order."""
    if method in _NVME_SANITIZE:
        action = str(_NVME_SANITIZE[method])
        return (_run("nvme", "sanitize", path, f"--sanact={action}"), _watch(Log.NVME, path))
    if method in _NVME_FORMAT:
        return (_nvme_format(path, _NVME_FORMAT[method]),)
    if method in _ATA_SANITIZE:
        return (_run(*_HDPARM_SURE, *_ATA_SANITIZE[method], path), _watch(Log.ATA, path))
    if method in _SCSI_SANITIZE:
        argv = ("sg_sanitize", *_SCSI_SANITIZE[method], "--early", "--quick", path)
        return (_run(*argv), _watch(Log.SCSI, path))
    if method is Method.DISCARD:
        step = str(DISCARD_STEP_BYTES)
        return (Run(argv=("blkdiscard", "-f", "-p", step, path), limit_s=DAY_S),)
    if method is Method.OVERWRITE:
        return (WriteZeros(),)
    return _security_erase(method, path, capabilities.ata or AtaCapabilities())


def preparation(path: str, capabilities: Capabilities) -> tuple[Act, ...]:
    """What an earlier run that was cut off left to do: wait for its sanitize, unlock the disk."""
    running = tuple(
        _watch(log, path, after_ours=False)
        for log, part in (
            (Log.NVME, capabilities.nvme),
            (Log.ATA, capabilities.ata),
            (Log.SCSI, capabilities.scsi),
        )
        if part is not None and part.sanitize_state is SanitizeState.RUNNING
    )
    locked = capabilities.ata is not None and capabilities.ata.locked
    return (*running, *((_security("--security-unlock", path),) if locked else ()))


def read_log(log: Log, output: bytes) -> tuple[SanitizeState, float]:
    """What a Watch's command printed: the state, and the share done."""
    if log is Log.NVME:
        found = parse_sanitize_log(output)
        return found.state, found.share
    text = output.decode(errors="replace")
    return parse_sanitize_status(text) if log is Log.ATA else parse_sense(text)


def _run(*argv: str) -> Run:
    return Run(argv=argv, limit_s=SHORT_S)


def _watch(log: Log, path: str, *, after_ours: bool = True) -> Watch:
    argv = (*_LOG_ARGV[log], path)
    return Watch(log=log, argv=argv, limit_s=DAY_S, after_ours=after_ours)


def _nvme_format(path: str, setting: int) -> Run:
    argv = (
        "nvme",
        "format",
        path,
        f"--ses={setting}",
        f"--timeout={FORMAT_S * 1000}",
        "--force",
    )
    return Run(argv=argv, limit_s=FORMAT_S + SHORT_S)


def _security_erase(method: Method, path: str, ata: AtaCapabilities) -> tuple[Act, ...]:
    enhanced = method is Method.ATA_ERASE_ENHANCED
    estimate = (ata.enhanced_minutes if enhanced else ata.erase_minutes) or 0
    # disks finish late; twice their estimate and an hour is a fault, not patience
    limit = 2 * estimate * MINUTE_S + FORMAT_S
    erase = "--security-erase-enhanced" if enhanced else "--security-erase"
    identify = ("hdparm", "-I", path)
    return (
        _security("--security-set-pass", path),
        RequirePassword(argv=identify, is_set=True),
        _security(erase, path, limit_s=limit),
        # the erase itself takes the password away: the only sign that it happened
        RequirePassword(argv=identify, is_set=False),
    )


def _security(act: str, path: str, *, limit_s: int = SHORT_S) -> Run:
    return Run(argv=("hdparm", "--user-master", "u", act, ATA_PASSWORD, path), limit_s=limit_s)


def unlock(path: str) -> tuple[Run, ...]:
    """After a security erase that did not end well: leave the disk without a password."""
    return (_security("--security-unlock", path), _security("--security-disable", path))


_HDPARM_SURE = ("hdparm", "--yes-i-know-what-i-am-doing")
_LOG_ARGV: Mapping[Log, tuple[str, ...]] = MappingProxyType(
    {
        Log.NVME: ("nvme", "sanitize-log", "--raw-binary"),
        Log.ATA: ("hdparm", "--sanitize-status"),
        Log.SCSI: ("sg_requests",),
    }
)
_NVME_SANITIZE: Mapping[Method, int] = MappingProxyType(
    {Method.NVME_SANITIZE_CRYPTO: CRYPTO_ACTION, Method.NVME_SANITIZE_BLOCK: BLOCK_ACTION}
)
_NVME_FORMAT: Mapping[Method, int] = MappingProxyType(
    # ses: 1 user data erase, 2 cryptographic erase; 0 erases nothing and stands nowhere here
    {Method.NVME_FORMAT_CRYPTO: 2, Method.NVME_FORMAT_ERASE: 1}
)
_ATA_SANITIZE: Mapping[Method, tuple[str, ...]] = MappingProxyType(
    {
        Method.ATA_SANITIZE_CRYPTO: ("--sanitize-crypto-scramble",),
        Method.ATA_SANITIZE_BLOCK: ("--sanitize-block-erase",),
        Method.ATA_SANITIZE_OVERWRITE: (
            "--sanitize-overwrite-passes",
            "1",
            "--sanitize-overwrite",
            "hex:00000000",
        ),
    }
)
_SCSI_SANITIZE: Mapping[Method, tuple[str, ...]] = MappingProxyType(
    {
        Method.SCSI_SANITIZE_CRYPTO: ("--crypto",),
        Method.SCSI_SANITIZE_BLOCK: ("--block",),
        Method.SCSI_SANITIZE_OVERWRITE: ("--overwrite", "--zero"),
    }
)
