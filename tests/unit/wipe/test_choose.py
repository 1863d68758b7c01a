"""Which methods a disk gets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.wipe.capabilities import (
    AtaCapabilities,
    Capabilities,
    NvmeCapabilities,
    SanitizeState,
    ScsiCapabilities,
)
from provisioner.wipe.choose import choose, leaves, offers, reach
from provisioner.wipe.commands import RequirePassword, Run, Watch, WriteZeros, acts, preparation
from provisioner.wipe.method import METHODS, Leaves, Method, WipeClass

M, CLEAR, PURGE = Method, WipeClass.CLEAR, WipeClass.PURGE


def nvme(*, oacs=2, fna=0, sanicap=0, dlfeat=0):
    part = NvmeCapabilities(oacs=oacs, fna=fna, sanicap=sanicap, dlfeat=dlfeat, unallocated_bytes=0)
    return Capabilities(discard_max_bytes=1 << 30, nvme=part)


def ata(*, rotational=False, discard=1 << 30, **words):
    return Capabilities(
        rotational=rotational, discard_max_bytes=discard, ata=AtaCapabilities(**words)
    )


VIRTIO = Capabilities(discard_max_bytes=1 << 30)
PLAIN = Capabilities()


@pytest.mark.parametrize(
    ("disk", "at_least", "asked", "methods"),
    [
        # one method: the strongest that the disk offers
        (nvme(sanicap=0b111), 1, CLEAR, [M.NVME_SANITIZE_CRYPTO]),
        (nvme(sanicap=0b110), 1, CLEAR, [M.NVME_SANITIZE_BLOCK]),
        (nvme(fna=0b100), 1, CLEAR, [M.NVME_FORMAT_CRYPTO]),
        (nvme(), 1, CLEAR, [M.NVME_FORMAT_ERASE]),
        (nvme(oacs=0), 1, CLEAR, [M.OVERWRITE]),
        (nvme(oacs=0, dlfeat=1), 1, CLEAR, [M.DISCARD]),
        (ata(sanitize_block=True), 1, CLEAR, [M.ATA_SANITIZE_BLOCK]),
        (ata(sanitize_overwrite=True, rotational=True), 1, PURGE, [M.ATA_SANITIZE_OVERWRITE]),
        (ata(security=True, enhanced=True), 1, CLEAR, [M.ATA_ERASE_ENHANCED]),
        (ata(security=True, enhanced=True, rotational=True), 1, PURGE, [M.ATA_ERASE_ENHANCED]),
        (ata(security=True), 1, CLEAR, [M.ATA_ERASE]),
        (ata(), 1, CLEAR, [M.OVERWRITE]),
        (ata(trim_zeroes=True), 1, CLEAR, [M.DISCARD]),
        (
            Capabilities(scsi=ScsiCapabilities(sanitize_block=True)),
            1,
            PURGE,
            [M.SCSI_SANITIZE_BLOCK],
        ),
        (VIRTIO, 1, CLEAR, [M.OVERWRITE]),
        (PLAIN, 1, CLEAR, [M.OVERWRITE]),
        # two: the next strongest, in the order of running
        (nvme(sanicap=0b011), 2, PURGE, [M.NVME_SANITIZE_CRYPTO, M.NVME_SANITIZE_BLOCK]),
        (nvme(), 2, CLEAR, [M.NVME_FORMAT_ERASE, M.OVERWRITE]),
        (VIRTIO, 2, CLEAR, [M.DISCARD, M.OVERWRITE]),
        (
            ata(security=True, enhanced=True),
            3,
            CLEAR,
            [M.ATA_ERASE_ENHANCED, M.ATA_ERASE, M.OVERWRITE],
        ),
    ],
)
def test_the_strongest_methods_that_the_disk_offers(disk, at_least, asked, methods):
    choice = choose(disk, at_least=at_least, wipe_class=asked)
    assert list(choice.methods) == methods
    assert choice.missing == ""
    assert choice.reaches.rank() >= asked.rank()


def test_a_discard_counts_only_where_the_disk_promises_zeros():
    assert reach(M.DISCARD, VIRTIO) is WipeClass.NONE
    assert reach(M.DISCARD, ata(trim_zeroes=True)) is CLEAR


@pytest.mark.parametrize(
    ("disk", "at_least", "asked", "missing"),
    [
        (VIRTIO, 1, PURGE, "no method of this disk reaches purge; the best is clear"),
        (PLAIN, 2, CLEAR, "2 methods are asked, this disk has 1"),
        (Capabilities(read_only=True), 1, CLEAR, "no erase method: the disk is read-only"),
    ],
)
def test_what_a_disk_cannot_give_is_said(disk, at_least, asked, missing):
    assert choose(disk, at_least=at_least, wipe_class=asked).missing == missing


FROZEN = ata(security=True, enhanced=True, frozen=True)
FROZEN_SANITIZE = ata(sanitize_block=True, sanitize_state=SanitizeState.FROZEN)


@pytest.mark.parametrize(
    ("disk", "at_least", "asked", "methods"),
    [
        (FROZEN, 1, CLEAR, [M.OVERWRITE]),
        (FROZEN, 2, CLEAR, [M.DISCARD, M.OVERWRITE]),
        (FROZEN_SANITIZE, 1, CLEAR, [M.OVERWRITE]),
        # what is left is not enough for the pool: chosen as ever, and refused as frozen
        (FROZEN, 3, CLEAR, [M.ATA_ERASE_ENHANCED, M.ATA_ERASE, M.OVERWRITE]),
        (FROZEN_SANITIZE, 1, PURGE, [M.ATA_SANITIZE_BLOCK]),
        # nothing is frozen: nothing changes
        (ata(security=True), 1, CLEAR, [M.ATA_ERASE]),
    ],
)
def test_around_a_frozen_disks_refusals_where_the_rest_is_enough(disk, at_least, asked, methods):
    choice = choose(disk, at_least=at_least, wipe_class=asked, around_frozen=True)
    assert list(choice.methods) == methods


def test_a_frozen_disks_strongest_methods_are_chosen_where_the_pool_does_not_say_otherwise():
    assert choose(FROZEN, at_least=1, wipe_class=CLEAR).methods == (M.ATA_ERASE_ENHANCED,)


def test_a_read_only_disk_gets_no_method():
    assert offers(Capabilities(read_only=True, discard_max_bytes=1)) == ()


def test_the_last_method_decides_what_may_be_read():
    assert leaves((M.NVME_SANITIZE_CRYPTO, M.OVERWRITE)) is Leaves.ZERO
    assert leaves((M.NVME_SANITIZE_CRYPTO,)) is Leaves.NOISE


anything = st.builds(
    Capabilities,
    read_only=st.booleans(),
    rotational=st.booleans(),
    discard_max_bytes=st.sampled_from([0, 4096]),
    nvme=st.none()
    | st.builds(
        NvmeCapabilities,
        oacs=st.integers(0, 1023),
        fna=st.integers(0, 7),
        sanicap=st.integers(0, 7),
        dlfeat=st.integers(0, 31),
        unallocated_bytes=st.just(0),
    ),
    ata=st.none() | st.builds(AtaCapabilities),
    scsi=st.none() | st.builds(ScsiCapabilities),
)


@given(anything, st.integers(1, 5), st.sampled_from([CLEAR, PURGE]))
def test_every_choice_is_offered_once_each_in_order_and_says_what_is_missing(disk, at_least, asked):
    choice = choose(disk, at_least=at_least, wipe_class=asked)
    assert set(choice.methods) <= set(offers(disk))
    assert list(choice.methods) == [each for each in Method if each in choice.methods]
    short = len(choice.methods) < at_least or choice.reaches.rank() < asked.rank()
    assert bool(choice.missing) == short


@given(anything)
def test_no_command_is_a_format_that_erases_nothing(disk):
    for method in offers(disk):
        for act in acts(method, "/dev/x", disk):
            words = getattr(act, "argv", ())
            assert "--ses=0" not in words
            assert words[:2] != ("nvme", "format") or {"--ses=1", "--ses=2"} & set(words)


@pytest.mark.parametrize(
    ("method", "first"),
    [
        (M.NVME_SANITIZE_CRYPTO, "nvme sanitize /dev/x --sanact=4"),
        (M.NVME_SANITIZE_BLOCK, "nvme sanitize /dev/x --sanact=2"),
        (M.NVME_FORMAT_CRYPTO, "nvme format /dev/x --ses=2 --timeout=3600000 --force"),
        (M.NVME_FORMAT_ERASE, "nvme format /dev/x --ses=1 --timeout=3600000 --force"),
        (
            M.ATA_SANITIZE_CRYPTO,
            "hdparm --yes-i-know-what-i-am-doing --sanitize-crypto-scramble /dev/x",
        ),
        (M.ATA_SANITIZE_BLOCK, "hdparm --yes-i-know-what-i-am-doing --sanitize-block-erase /dev/x"),
        (
            M.ATA_SANITIZE_OVERWRITE,
            (
                "hdparm --yes-i-know-what-i-am-doing --sanitize-overwrite-passes 1 "
                "--sanitize-overwrite hex:00000000 /dev/x"
            ),
        ),
        (M.ATA_ERASE, "hdparm --user-master u --security-set-pass rackwright /dev/x"),
        (M.SCSI_SANITIZE_CRYPTO, "sg_sanitize --crypto --early --quick /dev/x"),
        (M.SCSI_SANITIZE_BLOCK, "sg_sanitize --block --early --quick /dev/x"),
        (M.SCSI_SANITIZE_OVERWRITE, "sg_sanitize --overwrite --zero --early --quick /dev/x"),
        (M.DISCARD, "blkdiscard -f -p 17179869184 /dev/x"),
    ],
)
def test_each_method_begins_with_its_command(method, first):
    assert " ".join(acts(method, "/dev/x", PLAIN)[0].argv) == first


@pytest.mark.parametrize("method", [each for each in Method if "sanitize" in each])
def test_each_sanitize_is_watched_until_the_disk_says_that_it_ended(method):
    _, watch = acts(method, "/dev/x", PLAIN)
    assert isinstance(watch, Watch)
    assert watch.after_ours


def test_a_security_erase_is_believed_only_when_the_password_came_and_went():
    kinds = [type(act) for act in acts(M.ATA_ERASE_ENHANCED, "/dev/x", PLAIN)]
    assert kinds == [Run, RequirePassword, Run, RequirePassword]
    disk = ata(security=True, erase_minutes=508)
    assert acts(M.ATA_ERASE, "/dev/x", disk)[2].limit_s == 2 * 508 * 60 + 3600


def test_an_overwrite_is_our_own_writing():
    assert [type(act) for act in acts(M.OVERWRITE, "/dev/x", PLAIN)] == [WriteZeros]


def test_what_an_earlier_run_left_is_finished_first():
    running = ata(sanitize=True, sanitize_state=SanitizeState.RUNNING)
    assert [act.after_ours for act in preparation("/dev/x", running)] == [False]
    (unlocking,) = preparation("/dev/x", ata(security=True, enabled=True, locked=True))
    assert "--security-unlock" in unlocking.argv
    assert preparation("/dev/x", VIRTIO) == ()


def test_every_method_has_its_facts():
    assert set(METHODS) == set(Method)
