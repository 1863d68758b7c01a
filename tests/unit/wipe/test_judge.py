"""A disk is proven to be erased only while nothing at all speaks against it."""

from dataclasses import replace

import pytest

from provisioner.wipe.capabilities import (
    AtaCapabilities,
    Capabilities,
    NvmeCapabilities,
    SanitizeState,
)
from provisioner.wipe.choose import choose
from provisioner.wipe.device_log import DeviceLog
from provisioner.wipe.judge import DiskWipe, WipePolicy, gather, judge
from provisioner.wipe.method import Leaves, Method, WipeClass
from provisioner.wipe.orders import (
    DiskReference,
    ErasedDisk,
    Erasures,
    Mark,
    MethodRun,
    RunStatus,
    SurveyedDisk,
    Surveys,
    Verifications,
    VerifiedDisk,
)
from provisioner.wipe.samples import EDGE_BYTES

DISK = DiskReference(serial="S1", wwn=None, bytes=1 << 30, model="Disk")
NVME = Capabilities(
    nvme=NvmeCapabilities(oacs=2, fna=0, sanicap=0b010, dlfeat=1, unallocated_bytes=0)
)
PLAIN = Capabilities(discard_max_bytes=4096)
LOG = DeviceLog(source="nvme", passed=True, media_errors=3)


def run(method, **differs):
    made = MethodRun(
        method=method,
        status=RunStatus.DONE,
        commands=(),
        begun_ms=0,
        ended_ms=1,
        canaries_written=64,
        canaries_kept=64,
        canaries_left=0,
        sanitize_state=SanitizeState.COMPLETED,
    )
    return replace(made, **differs)


def good(capabilities=NVME, *, at_least=1, wipe_class=WipeClass.CLEAR):
    """A wipe against which nothing speaks."""
    choice = choose(capabilities, at_least=at_least, wipe_class=wipe_class)
    survey = SurveyedDisk(
        disk=DISK,
        path="/dev/a",
        capabilities=capabilities,
        log=LOG,
        marks=(Mark(offset=0, digest="00"),),
        looked_at=1,
    )
    erased = ErasedDisk(
        disk=DISK,
        path="/dev/a",
        capabilities=capabilities,
        runs=tuple(run(method) for method in choice.methods),
        edges_zeroed=True,
        log=LOG,
    )
    verified = VerifiedDisk(
        disk=DISK,
        path="/dev/a",
        blocks=1 << 18,
        samples=13_809,
        unwiped=0,
        zeros=13_809,
        edges_bytes=2 * EDGE_BYTES,
        edges_unwiped=0,
        marks_checked=1,
        marks_left=0,
        canaries_checked=64 * len(choice.methods),
        canaries_left=0,
        read_errors=0,
        first_unwiped=None,
        ms=1,
        log=LOG,
    )
    return DiskWipe(disk=DISK, survey=survey, choice=choice, erased=erased, verified=verified)


def codes(verdict):
    return [finding.code for finding in verdict.findings]


def test_a_good_wipe_reaches_what_the_disk_proves():
    verdict = judge(good(), WipePolicy())
    assert verdict.findings == ()
    assert verdict.reached is WipeClass.PURGE
    assert verdict.leaves is Leaves.BLANK
    assert 0 < verdict.miss_probability <= 1e-6
    assert judge(good(PLAIN), WipePolicy()).reached is WipeClass.CLEAR


def verified(**differs):
    return lambda wipe: replace(wipe, verified=replace(wipe.verified, **differs))


def erased(**differs):
    return lambda wipe: replace(wipe, erased=replace(wipe.erased, **differs))


def first_run(**differs):
    def change(wipe):
        first, *rest = wipe.erased.runs
        return erased(runs=(replace(first, **differs), *rest))(wipe)

    return change


# each row takes one thing away from a good wipe, or puts one lie into it
DEFECTS = {
    "never looked at": (lambda w: replace(w, survey=None), "WIPE_NOT_PROVEN", "not looked at"),
    "unreadable before": (
        lambda w: replace(w, survey=replace(w.survey, error="EIO")),
        "DISK_FAILED",
        "could not be read: EIO",
    ),
    "no erase result": (lambda w: replace(w, erased=None), "WIPE_FAILED", "no result"),
    "erase could not begin": (erased(error="busy"), "DISK_FAILED", "busy"),
    "a method left out": (erased(runs=()), "WIPE_FAILED", "not all of its methods"),
    "another method run": (
        first_run(method=Method.OVERWRITE),
        "WIPE_FAILED",
        "not all of its methods",
    ),
    "method failed": (
        first_run(status=RunStatus.FAILED, text="status 1"),
        "WIPE_FAILED",
        "failed: status 1",
    ),
    "method did nothing": (
        first_run(status=RunStatus.NO_EFFECT, text="no password"),
        "WIPE_NOT_PROVEN",
        "no-effect: no password",
    ),
    "frozen": (first_run(status=RunStatus.FROZEN), "DISK_FROZEN", "frozen"),
    "write error": (first_run(status=RunStatus.IO_ERROR, text="EIO"), "DISK_FAILED", "EIO"),
    "no canary": (
        first_run(canaries_written=0, canaries_kept=0),
        "WIPE_NOT_PROVEN",
        "no canary was written",
    ),
    "deaf disk": (first_run(canaries_kept=60), "WIPE_NOT_PROVEN", "4 canaries lost"),
    "canary left by the method": (
        first_run(canaries_left=1),
        "WIPE_NOT_PROVEN",
        "reported success and left 1",
    ),
    "log does not say completed": (
        first_run(sanitize_state=SanitizeState.NEVER),
        "WIPE_NOT_PROVEN",
        "own log says never",
    ),
    "never read back": (lambda w: replace(w, verified=None), "WIPE_NOT_PROVEN", "not read back"),
    "reading failed": (verified(error="gone"), "DISK_FAILED", "gone"),
    "read errors": (verified(read_errors=1), "DISK_FAILED", "1 reads failed"),
    "too few samples": (verified(samples=13_808), "WIPE_NOT_PROVEN", "only 13808 blocks"),
    "ends not whole": (verified(edges_bytes=2 * EDGE_BYTES - 1), "WIPE_NOT_PROVEN", "ends"),
    "marks not looked for": (verified(marks_checked=0), "WIPE_NOT_PROVEN", "not all marks"),
    "canaries not looked for": (
        verified(canaries_checked=63),
        "WIPE_NOT_PROVEN",
        "not all canaries",
    ),
    "one unwiped sample": (
        verified(unwiped=1, first_unwiped=8192),
        "WIPE_NOT_PROVEN",
        "1 of 13809 samples are not wiped, the first at byte 8192",
    ),
    "stale edge": (verified(edges_unwiped=1), "WIPE_NOT_PROVEN", "1 blocks at its ends"),
    "one mark left": (verified(marks_left=1), "WIPE_NOT_PROVEN", "old owner's data"),
    "one canary left": (verified(canaries_left=1), "WIPE_NOT_PROVEN", "1 canaries"),
    "failing by its own log": (
        verified(log=replace(LOG, passed=False)),
        "DISK_FAILED",
        "it is failing",
    ),
    "new media errors": (
        verified(log=replace(LOG, media_errors=4)),
        "DISK_FAILED",
        "new media errors",
    ),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_one_defect_is_enough(name):
    change, code, text = DEFECTS[name]
    verdict = judge(change(good()), WipePolicy())
    assert code in codes(verdict)
    assert any(text in finding.text and "S1" in finding.text for finding in verdict.findings)
    assert verdict.reached is WipeClass.NONE


def test_a_class_that_was_not_reached_is_a_finding():
    asked = WipePolicy(wipe_class=WipeClass.PURGE)
    verdict = judge(good(PLAIN), asked)
    assert codes(verdict) == ["WIPE_NOT_PROVEN"]
    assert "purge is asked, clear was reached" in verdict.findings[0].text


def test_what_the_choice_lacks_is_a_finding():
    wipe = good(PLAIN, wipe_class=WipeClass.PURGE)
    assert codes(judge(wipe, WipePolicy())) == ["WIPE_METHOD_MISSING"]


def test_a_discard_that_did_nothing_where_nothing_was_promised_only_does_not_count():
    wipe = good(PLAIN, at_least=2)
    assert [r.method for r in wipe.erased.runs] == [Method.DISCARD, Method.OVERWRITE]
    ignored = first_run(canaries_left=64)(wipe)
    assert judge(ignored, WipePolicy()).findings == ()
    two = judge(ignored, WipePolicy(at_least=2))
    assert codes(two) == ["WIPE_NOT_PROVEN"]
    assert "2 methods are asked, 1 worked" in two.findings[0].text


def test_a_discard_that_did_nothing_although_zeros_were_promised_is_a_lie():
    promised = replace(PLAIN, ata=AtaCapabilities(trim_zeroes=True))
    wipe = first_run(canaries_left=64)(good(promised, at_least=2))
    assert wipe.erased.runs[0].method is Method.DISCARD
    assert "WIPE_NOT_PROVEN" in codes(judge(wipe, WipePolicy()))


def test_hidden_sectors_need_a_method_that_reaches_them():
    hidden = Capabilities(ata=AtaCapabilities(hidden_sectors=100))
    assert codes(judge(good(hidden), WipePolicy())) == ["WIPE_NOT_PROVEN"]
    reached = Capabilities(
        ata=AtaCapabilities(hidden_sectors=100, sanitize=True, sanitize_block=True)
    )
    assert judge(good(reached), WipePolicy()).findings == ()


@pytest.mark.parametrize("allowed", [True, False])
def test_a_medium_without_a_method_is_listed_or_refused_by_policy(allowed):
    choice = choose(Capabilities(read_only=True), at_least=1, wipe_class=WipeClass.CLEAR)
    verdict = judge(
        DiskWipe(disk=DISK, survey=None, choice=choice), WipePolicy(allow_unerasable=allowed)
    )
    assert verdict.listed is allowed
    assert codes(verdict) == ([] if allowed else ["WIPE_METHOD_MISSING"])
    assert verdict.reached is WipeClass.NONE


def test_the_results_travel_unchanged():
    wipe = good()
    for message in (wipe.survey, wipe.erased, wipe.verified, wipe.disk):
        assert type(message).from_json(message.to_json()) == message


def test_a_result_of_a_wrong_shape_is_refused_with_its_place():
    body = good().erased.to_json()
    body["runs"][0]["status"] = "splendid"
    with pytest.raises(ValueError, match=r"body\.runs\[0\]\.status: one of done"):
        ErasedDisk.from_json(body)


# --- what belongs together ----------------------------------------------------------------------
def test_results_are_put_together_by_our_own_list_of_disks():
    wipe = good()
    other = replace(DISK, serial="OTHER")
    foreign = replace(wipe.verified, disk=other)
    (found,) = gather(
        {DISK: wipe.choice},
        Surveys(disks=(wipe.survey,)),
        [Erasures(disks=(wipe.erased,))],
        Verifications(disks=(foreign, wipe.verified)),
    )
    assert found == wipe


def test_a_later_erasure_counts_and_a_missing_result_stays_missing():
    wipe = good()
    frozen = first_run(status=RunStatus.FROZEN)(wipe).erased
    (found,) = gather(
        {DISK: wipe.choice},
        Surveys(disks=()),
        [Erasures(disks=(frozen,)), Erasures(disks=(wipe.erased,))],
        Verifications(disks=()),
    )
    assert (found.survey, found.erased, found.verified) == (None, wipe.erased, None)
    assert frozen.is_frozen()
    assert codes(judge(replace(wipe, erased=frozen), WipePolicy()))[0] == "DISK_FROZEN"
