"""Whether a disk is proven to be erased: everything that speaks against it, in plain lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from provisioner.wipe.capabilities import Capabilities, SanitizeState
from provisioner.wipe.choose import Choice, leaves, reach
from provisioner.wipe.device_log import DeviceLog
from provisioner.wipe.method import METHODS, SANITIZES, Leaves, Method, WipeClass
from provisioner.wipe.orders import (
    DiskReference,
    ErasedDisk,
    Erasures,
    MethodRun,
    RunStatus,
    SurveyedDisk,
    Surveys,
    Verifications,
    VerifiedDisk,
)
from provisioner.wipe.samples import (
    block_count,
    edges,
    miss_probability,
    samples_needed,
)

FAILED = "WIPE_FAILED"
NOT_PROVEN = "WIPE_NOT_PROVEN"
FROZEN = "DISK_FROZEN"
DISK_FAILED = "DISK_FAILED"
NO_METHOD = "WIPE_METHOD_MISSING"


@dataclass(frozen=True, slots=True, kw_only=True)
class WipePolicy:
    """What the pool asks of every disk.

    Attributes:
        around_frozen: True wipes a frozen disk by what it does not refuse, where that is enough.
        allow_unerasable: True lists a medium without an erase method instead of refusing.
    """

    at_least: int = 1
    wipe_class: WipeClass = WipeClass.CLEAR
    allow_unerasable: bool = False
    around_frozen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One reason why a disk is not proven to be erased.

    Attributes:
        code: One of the service's error codes.
        text: One line, the disk named in it.
    """

    code: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskWipe:
    """All that is known of one disk's wipe; a part is None where its order never answered."""

    disk: DiskReference
    survey: SurveyedDisk | None
    choice: Choice
    erased: ErasedDisk | None = None
    verified: VerifiedDisk | None = None


def gather(
    choices: Mapping[DiskReference, Choice],
    surveys: Surveys,
    erasures: Sequence[Erasures],
    verifications: Verifications,
) -> tuple[DiskWipe, ...]:
    """All that was reported, disk by disk, by the service's own list of disks.

    What the agent reports of a disk that was not asked for goes nowhere; what it leaves out is
    missing and will be a finding.

    Args:
        choices: Of every disk that counts, in the order of the evidence.
        surveys: Result of `mark`.
        erasures: Results of `erase`; a later one (after a power-on for a frozen disk) counts.
        verifications: Result of `verify`.
    """
    surveyed = {each.disk: each for each in surveys.disks}
    erased = {each.disk: each for result in erasures for each in result.disks}
    verified = {each.disk: each for each in verifications.disks}
    return tuple(
        DiskWipe(
            disk=disk,
            survey=surveyed.get(disk),
            choice=choice,
            erased=erased.get(disk),
            verified=verified.get(disk),
        )
        for disk, choice in choices.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskVerdict:
    """What the evidence says of one disk.

    Attributes:
        reached: NONE unless nothing speaks against it, or for a listed disk.
        listed: It has no erase method and the pool allows that.
        findings: Empty is proven.
        miss_probability: That an unwiped share of 0.1 % went unseen, at most.
    """

    wipe: DiskWipe
    reached: WipeClass
    leaves: Leaves
    findings: tuple[Finding, ...]
    listed: bool = False
    miss_probability: float = 1.0


def judge(wipe: DiskWipe, policy: WipePolicy) -> DiskVerdict:
    """Everything that must hold, held against what was reported."""
    left = leaves(wipe.choice.methods)
    if not wipe.choice.methods:
        return _judge_unerasable(wipe, policy)
    findings = [*_of_choice(wipe), *_of_survey(wipe), *_of_erasure(wipe), *_of_reading(wipe)]
    if not findings:
        findings.extend(_of_class(wipe, policy))
    verified = wipe.verified
    return DiskVerdict(
        wipe=wipe,
        reached=WipeClass.NONE if findings else _reached(wipe),
        leaves=left,
        findings=tuple(findings),
        miss_probability=miss_probability(verified.samples, verified.blocks) if verified else 1.0,
    )


def _judge_unerasable(wipe: DiskWipe, policy: WipePolicy) -> DiskVerdict:
    finding = Finding(code=NO_METHOD, text=f"{wipe.disk.label()}: {wipe.choice.missing}")
    return DiskVerdict(
        wipe=wipe,
        reached=WipeClass.NONE,
        leaves=Leaves.ZERO,
        findings=() if policy.allow_unerasable else (finding,),
        listed=policy.allow_unerasable,
    )


def _of_choice(wipe: DiskWipe) -> Iterator[Finding]:
    if wipe.choice.missing:
        yield Finding(code=NO_METHOD, text=f"{wipe.disk.label()}: {wipe.choice.missing}")


def _of_survey(wipe: DiskWipe) -> Iterator[Finding]:
    label, survey = wipe.disk.label(), wipe.survey
    if survey is None:
        yield Finding(code=NOT_PROVEN, text=f"{label}: was not looked at before the wipe")
    elif survey.error:
        yield Finding(code=DISK_FAILED, text=f"{label}: could not be read: {survey.error}")


def _of_erasure(wipe: DiskWipe) -> Iterator[Finding]:
    label, erased = wipe.disk.label(), wipe.erased
    if erased is None:
        yield Finding(code=FAILED, text=f"{label}: no result of its erasure")
        return
    if erased.error:
        yield Finding(code=DISK_FAILED, text=f"{label}: {erased.error}")
        return
    ran = tuple(run.method for run in erased.runs)
    if ran != wipe.choice.methods and not erased.is_frozen():
        yield Finding(code=FAILED, text=f"{label}: not all of its methods were run")
    for run in erased.runs:
        yield from _of_run(label, run, hint=_is_hint(run.method, erased.capabilities))
    yield from _of_hidden_sectors(label, erased, ran)


_RUN_CODES = {
    RunStatus.FAILED: FAILED,
    RunStatus.NO_EFFECT: NOT_PROVEN,
    RunStatus.FROZEN: FROZEN,
    RunStatus.IO_ERROR: DISK_FAILED,
}


def _of_run(label: str, run: MethodRun, *, hint: bool) -> Iterator[Finding]:
    what = f"{label}: {run.method}"
    if run.status is not RunStatus.DONE:
        yield Finding(code=_RUN_CODES[run.status], text=f"{what}: {run.status}: {run.text}")
        return
    if not run.canaries_written:
        yield Finding(code=NOT_PROVEN, text=f"{what}: no canary was written before it")
    if run.canaries_kept != run.canaries_written:
        lost = run.canaries_written - run.canaries_kept
        text = f"{what}: the disk does not keep what is written ({lost} canaries lost before it)"
        yield Finding(code=NOT_PROVEN, text=text)
    if run.canaries_left and not hint:
        text = f"{what}: reported success and left {run.canaries_left} canaries"
        yield Finding(code=NOT_PROVEN, text=text)
    if run.method in SANITIZES and run.sanitize_state is not SanitizeState.COMPLETED:
        text = f"{what}: the disk's own log says {run.sanitize_state}"
        yield Finding(code=NOT_PROVEN, text=text)


def _is_hint(method: Method, capabilities: Capabilities) -> bool:
    """A discard may do nothing where the disk promised nothing; what follows must erase."""
    return method is Method.DISCARD and not capabilities.promises_zero_after_discard()


def _of_hidden_sectors(label: str, erased: ErasedDisk, ran: Iterable[Method]) -> Iterator[Finding]:
    hidden = erased.capabilities.ata.hidden_sectors if erased.capabilities.ata else 0
    if hidden and not any(METHODS[method].hidden_areas for method in ran):
        text = f"{label}: {hidden} sectors behind a host protected area were not erased"
        yield Finding(code=NOT_PROVEN, text=text)


def _of_reading(wipe: DiskWipe) -> Iterator[Finding]:
    label, verified = wipe.disk.label(), wipe.verified
    if verified is None:
        yield Finding(code=NOT_PROVEN, text=f"{label}: was not read back")
        return
    if verified.error or verified.read_errors:
        why = verified.error or f"{verified.read_errors} reads failed"
        yield Finding(code=DISK_FAILED, text=f"{label}: reading back: {why}")
    for text in (*_too_little(wipe, verified), *_left_over(verified)):
        yield Finding(code=NOT_PROVEN, text=f"{label}: {text}")
    yield from _of_logs(wipe, verified)


def _too_little(wipe: DiskWipe, verified: VerifiedDisk) -> Iterator[str]:
    """What should have been read, by our own count, not by the report's."""
    blocks = block_count(wipe.disk.bytes)
    if verified.samples < min(samples_needed(), blocks):
        yield f"only {verified.samples} blocks were read back"
    if verified.edges_bytes < sum(end - start for start, end in edges(wipe.disk.bytes)):
        yield "its ends were not read back whole"
    if wipe.survey and verified.marks_checked < len(wipe.survey.marks):
        yield "not all marks of the old owner's data were looked for"
    written = sum(run.canaries_written for run in wipe.erased.runs) if wipe.erased else 0
    if verified.canaries_checked < written:
        yield "not all canaries were looked for"


def _left_over(verified: VerifiedDisk) -> Iterator[str]:
    if verified.unwiped:
        where = f"the first at byte {verified.first_unwiped}"
        yield f"{verified.unwiped} of {verified.samples} samples are not wiped, {where}"
    if verified.edges_unwiped:
        yield f"{verified.edges_unwiped} blocks at its ends are not zeros"
    if verified.marks_left:
        yield f"{verified.marks_left} blocks of the old owner's data are still there"
    if verified.canaries_left:
        yield f"{verified.canaries_left} canaries are still there"


def _of_logs(wipe: DiskWipe, verified: VerifiedDisk) -> Iterator[Finding]:
    label = wipe.disk.label()
    if verified.log.passed is False:
        yield Finding(code=DISK_FAILED, text=f"{label}: its own log says that it is failing")
    before = wipe.survey.log if wipe.survey else DeviceLog()
    if _grew(before.media_errors, verified.log.media_errors):
        yield Finding(code=DISK_FAILED, text=f"{label}: its log has new media errors")


def _grew(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def _of_class(wipe: DiskWipe, policy: WipePolicy) -> Iterator[Finding]:
    label, reached = wipe.disk.label(), _reached(wipe)
    if reached.rank() < policy.wipe_class.rank():
        text = f"{label}: {policy.wipe_class} is asked, {reached} was reached"
        yield Finding(code=NOT_PROVEN, text=text)
    worked = len(_worked(wipe))
    if worked < policy.at_least:
        text = f"{label}: {policy.at_least} methods are asked, {worked} worked"
        yield Finding(code=NOT_PROVEN, text=text)


def _worked(wipe: DiskWipe) -> list[MethodRun]:
    runs = wipe.erased.runs if wipe.erased else ()
    return [run for run in runs if run.status is RunStatus.DONE and not run.canaries_left]


def _reached(wipe: DiskWipe) -> WipeClass:
    """The best class of the methods that ended well, on this disk."""
    capabilities = wipe.erased.capabilities if wipe.erased else Capabilities()
    classes = [reach(run.method, capabilities) for run in _worked(wipe)]
    return max(classes, key=WipeClass.rank, default=WipeClass.NONE)
