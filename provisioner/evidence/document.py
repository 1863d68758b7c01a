"""The document of a wipe: what was done, what was found, how it is known, what it leaves out.

Pure. Times are UTC text, numbers whole; what is a share or a probability is text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from provisioner.hardware.inventory import Disk, Inventory, System
from provisioner.servers.model import ExcludedDisk
from provisioner.units import WallSeconds
from provisioner.wipe.judge import DiskVerdict
from provisioner.wipe.method import METHODS, Leaves, WipeClass
from provisioner.wipe.orders import MethodRun, VerifiedDisk
from provisioner.wipe.samples import BLOCK_BYTES, UNWIPED_SHARE

VERSION = 1
KIND = "wipe"


class IdentityClass(StrEnum):
    """How it is known that the wiped machine is the one behind the controller."""

    NONCE = "nonce"
    UUID = "uuid"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whose disks these are.

    Attributes:
        system: As the agent read it in this boot.
        controller_uuid: As the controller said in the same operation; None where it has none.
    """

    site: str
    server: str
    pool: str
    system: System
    controller_uuid: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obtained:
    """How the agent came to run there, and who confirms what.

    Attributes:
        identity_way: "ipmi-sel" or "media" for a nonce, "system uuid" otherwise.
        boot_path: How the machine was started, in words of the operation.
        boot_override: "read back", or why it could not be.
        ramdisk_sha256: Without the site's own small second initrd, which is named apart.
    """

    identity_class: IdentityClass
    identity_way: str
    boot_path: str
    boot_override: str
    kernel_sha256: str
    ramdisk_sha256: str
    site_initrd_sha256: str
    agent_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Who and why.

    Attributes:
        who: Site and caller as claimed, or the operator's identity.
        instance: Whose data it was; None where nobody had the server.
    """

    who: str
    why: str
    operation: str
    instance: str | None = None
    allocation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From the service's clock."""

    begun: WallSeconds
    ended: WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """When.

    Attributes:
        off: Confirmed off between two owners; memory loses its content.
    """

    off: Span
    marked: Span
    erased: Span
    verified: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """What was compared before anything was erased.

    Attributes:
        taken: When inspection stored the baseline.
        compared: What was equal: "system uuid", "serial", "macs", "disks", ...
        excluded: Disks that an operator listed as not the server's own.
    """

    taken: WallSeconds
    compared: tuple[str, ...]
    excluded: tuple[ExcludedDisk, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerMedia:
    """What the controller told of drives.

    Attributes:
        named: How many; None where it keeps no list.
        hidden: Those that the machine did not show: not erased, allowed by the pool's policy.
    """

    named: int | None
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBaseline:
    """A baseline that took the place of another one since the last wipe: a repair.

    Attributes:
        gone: Media that went away with it, un-wiped.
    """

    operation: str
    reason: str
    who: str
    at: WallSeconds
    before: Inventory
    before_at: WallSeconds
    after: Inventory
    gone: tuple[str, ...]


def wipe_document(
    *,
    subject: Subject,
    obtained: Obtained,
    reason: Reason,
    times: Times,
    baseline: Baseline,
    controller_media: ControllerMedia,
    disks: Sequence[tuple[Disk, DiskVerdict]],
    rebaselines: Sequence[NewBaseline] = (),
) -> dict[str, Any]:
    """The whole document, for the chain.

    Raises:
        ValueError: A verdict has a finding: there is no evidence of what was not proven.
    """
    for _, verdict in disks:
        if verdict.findings:
            raise ValueError(f"not proven: {verdict.findings[0].text}")
    return {
        "version": VERSION,
        "kind": KIND,
        "site": subject.site,
        "server": {
            "name": subject.server,
            "pool": subject.pool,
            **asdict(subject.system),
            "controller_uuid": subject.controller_uuid,
        },
        "identity": {
            "class": obtained.identity_class.value,
            "way": obtained.identity_way,
        },
        "obtained": _obtained(obtained),
        "reason": asdict(reason),
        "times": {name: _span(getattr(times, name)) for name in _SPANS},
        "baseline": _baseline(baseline),
        "rebaselines": [_rebaseline(each) for each in rebaselines],
        "controller_media": {
            "named": controller_media.named,
            "hidden": list(controller_media.hidden),
        },
        "class": _weakest(verdict for _, verdict in disks).value,
        "disks": [_disk(disk, verdict) for disk, verdict in disks],
        "not_covered": [
            *_not_covered(obtained, baseline, controller_media, disks),
            *(text for each in rebaselines for text in _went_away(each)),
        ],
    }


_SPANS = ("off", "marked", "erased", "verified")


def _obtained(obtained: Obtained) -> dict[str, Any]:
    return {
        "boot_path": obtained.boot_path,
        "boot_override": obtained.boot_override,
        "kernel_sha256": obtained.kernel_sha256,
        "ramdisk_sha256": obtained.ramdisk_sha256,
        "site_initrd_sha256": obtained.site_initrd_sha256,
        "agent_version": obtained.agent_version,
        "results": "as the agent reported them",
    }


def _baseline(baseline: Baseline) -> dict[str, Any]:
    return {
        "taken": utc(baseline.taken),
        "equal": list(baseline.compared),
        "excluded": [asdict(each) for each in baseline.excluded],
    }


def _rebaseline(new: NewBaseline) -> dict[str, Any]:
    return {
        "operation": new.operation,
        "reason": new.reason,
        "who": new.who,
        "at": utc(new.at),
        "before": {"taken": utc(new.before_at), **_hardware(new.before)},
        "after": {"taken": utc(new.at), **_hardware(new.after)},
        "gone": list(new.gone),
    }


def _hardware(found: Inventory) -> dict[str, Any]:
    """Of a baseline, what names its parts."""
    parts = ("model", "serial", "wwn", "bytes", "transport", "bus_path")
    return {
        **asdict(found.system),
        "firmware_mode": found.firmware.mode,
        "cpu_threads": found.cpu.threads,
        "memory_bytes": found.memory_bytes,
        "gpus": sum(each.is_gpu() for each in found.pci),
        "cards": [each.mac for each in found.nics],
        "disks": [{name: getattr(disk, name) for name in parts} for disk in found.disks],
    }


def _went_away(new: NewBaseline) -> Iterator[str]:
    for name in new.gone:
        yield f"{name}: gone before this wipe, not erased (rebaselined: {new.reason})"


def _span(span: Span) -> dict[str, Any]:
    return {
        "begun": utc(span.begun),
        "ended": utc(span.ended),
        "seconds": round(span.ended - span.begun),
    }


def utc(at: WallSeconds) -> str:
    """A moment as text, to the second."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _weakest(verdicts: Iterator[DiskVerdict]) -> WipeClass:
    """Of all erased disks; a listed one is named and counts for none of them."""
    reached = [verdict.reached for verdict in verdicts if not verdict.listed]
    return min(reached, key=WipeClass.rank, default=WipeClass.NONE)


def _disk(disk: Disk, verdict: DiskVerdict) -> dict[str, Any]:
    wipe = verdict.wipe
    erased, verified = wipe.erased, wipe.verified
    return {
        "model": disk.model,
        "serial": disk.serial,
        "wwn": disk.wwn,
        "firmware": disk.firmware,
        "bytes": disk.bytes,
        "transport": disk.transport.value,
        "bus_path": disk.bus_path,
        "class": verdict.reached.value,
        "erased": not verdict.listed,
        "methods": [_method(run) for run in (erased.runs if erased else ())],
        "ends_written_with_zeros_last": bool(erased and erased.edges_zeroed),
        "capabilities": erased.capabilities.to_json() if erased else None,
        "log": {
            "before": wipe.survey.log.to_json() if wipe.survey else None,
            "after": verified.log.to_json() if verified else None,
        },
        "verification": _verification(verdict, verified) if verified else None,
    }


def _method(run: MethodRun) -> dict[str, Any]:
    return {
        "method": run.method.value,
        "status": run.status.value,
        "commands": list(run.commands),
        "begun_ms": run.begun_ms,
        "ended_ms": run.ended_ms,
        "canaries": {
            "written": run.canaries_written,
            "read_back_before": run.canaries_kept,
            "left_after": run.canaries_left,
        },
        "disks_own_log": run.sanitize_state.value,
    }


def _verification(verdict: DiskVerdict, verified: VerifiedDisk) -> dict[str, Any]:
    survey = verdict.wipe.survey
    return {
        "block_bytes": BLOCK_BYTES,
        "blocks": verified.blocks,
        "samples": verified.samples,
        "samples_unwiped": verified.unwiped,
        "samples_zero": verified.zeros,
        "samples_may_read": verdict.leaves.value,
        "unwiped_share": str(float(UNWIPED_SHARE)),
        "missed_with_probability_at_most": f"{verdict.miss_probability:.3g}",
        "ends_bytes": verified.edges_bytes,
        "ends_blocks_not_zero": verified.edges_unwiped,
        "marks": {
            "searched_blocks": survey.looked_at if survey else 0,
            "remembered": verified.marks_checked,
            "left": verified.marks_left,
        },
        "canaries": {"looked_for": verified.canaries_checked, "left": verified.canaries_left},
        "read_errors": verified.read_errors,
        "ms": verified.ms,
    }


ALWAYS_LEFT_OUT = (
    "firmware of the machine, its controller, disks, cards and GPUs",
    "settings of the machine and its controller: boot entries, secure boot keys, users, TPM",
    "memory of cards and GPUs, beyond the time without power",
    "boot and replay-protected partitions of an eMMC, beside its user area",
    "the agent's truthfulness: the digests say what was started, not what a firmware made of it",
)


def _not_covered(
    obtained: Obtained,
    baseline: Baseline,
    controller_media: ControllerMedia,
    disks: Sequence[tuple[Disk, DiskVerdict]],
) -> Iterator[str]:
    yield from ALWAYS_LEFT_OUT
    if controller_media.named is None:
        yield "media that the machine does not show: its controller keeps no list of drives"
    for name in controller_media.hidden:
        yield f"medium {name}: only the controller names it; not erased"
    if obtained.identity_class is IdentityClass.UUID:
        yield "that controller and machine belong together rests on the system uuid alone"
    for each in baseline.excluded:
        yield f"disk {each.name} ({each.wwn}): excluded by an operator"
    for disk, verdict in disks:
        name = disk.serial or disk.wwn or disk.path
        for text in _disk_left_out(verdict):
            yield f"disk {name}: {text}"


def _disk_left_out(verdict: DiskVerdict) -> Iterator[str]:
    if verdict.listed:
        yield f"not erased: {verdict.wipe.choice.missing}"
        return
    erased = verdict.wipe.erased
    runs = erased.runs if erased else ()
    if not any(METHODS[run.method].hidden_areas for run in runs):
        yield "sectors taken out of use and spare blocks, which the host cannot address"
    if verdict.leaves is Leaves.NOISE:
        yield "samples cannot tell noise of an erased key from compressed or encrypted data"
    nvme = erased.capabilities.nvme if erased else None
    if nvme and nvme.unallocated_bytes:
        yield f"{nvme.unallocated_bytes} bytes that belong to no namespace"
