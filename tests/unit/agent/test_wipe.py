"""Mark, erase and verify on disks in files: direct reads and writes, no process."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from provisioner.agent import erase as erase_module
from provisioner.agent import marks as marks_module
from provisioner.agent import verify as verify_module
from provisioner.agent.eraser import Bench, DiskEraser
from provisioner.agent.order import OrderFailedError
from provisioner.agent.tally import Tally
from provisioner.testing.disks import DiskDouble
from provisioner.wipe.capabilities import SanitizeState
from provisioner.wipe.judge import WipePolicy
from provisioner.wipe.method import Method, WipeClass
from provisioner.wipe.orders import RunStatus
from tests.unit.agent.wiping import MIB, Journal, disk_of, tenant_data

M = Method


@pytest.fixture
def plain(tmp_path):
    return disk_of(tmp_path / "vda")


@pytest.fixture
def double(tmp_path):
    """A disk of a language that no emulator speaks, lying as told."""

    def make(name, size=4 * MIB, **lies):
        run = lambda path: DiskDouble(path=path, **lies)  # noqa: E731
        return disk_of(tmp_path / name, size, used=size // 4, run=run)

    return make


def codes(verdict):
    return {finding.code for finding in verdict.findings}


# --- an honest disk ---------------------------------------------------------------------------
def test_a_disk_that_does_nothing_but_store_is_overwritten_and_proven(plain):
    verdict = plain.wipe()
    assert verdict.findings == ()
    assert verdict.reached is WipeClass.CLEAR
    assert plain.path.read_bytes() == bytes(4 * MIB)
    assert len(verdict.wipe.survey.marks) == 64


@pytest.mark.parametrize(
    ("name", "policy", "methods"),
    [
        ("nvme0n1", WipePolicy(wipe_class=WipeClass.PURGE), [M.NVME_SANITIZE_CRYPTO]),
        (
            "nvme0n1",
            WipePolicy(at_least=2, wipe_class=WipeClass.PURGE),
            [M.NVME_SANITIZE_CRYPTO, M.NVME_SANITIZE_BLOCK],
        ),
        ("sda", WipePolicy(wipe_class=WipeClass.PURGE), [M.ATA_SANITIZE_CRYPTO]),
    ],
)
def test_a_disk_that_sanitizes_reaches_a_purge(double, name, policy, methods):
    verdict = double(name).wipe(policy)
    assert verdict.findings == ()
    assert [run.method for run in verdict.wipe.erased.runs] == methods
    assert verdict.reached is WipeClass.PURGE


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("nvme0n1", M.NVME_SANITIZE_BLOCK),
        ("nvme0n1", M.NVME_FORMAT_CRYPTO),
        ("nvme0n1", M.NVME_FORMAT_ERASE),
        ("sda", M.ATA_SANITIZE_BLOCK),
        ("sda", M.ATA_SANITIZE_OVERWRITE),
        ("sda", M.ATA_ERASE_ENHANCED),
        ("sda", M.ATA_ERASE),
        ("sda", M.SCSI_SANITIZE_BLOCK),
        ("sda", M.SCSI_SANITIZE_OVERWRITE),
        ("sda", M.DISCARD),
        ("sda", M.OVERWRITE),
    ],
)
def test_each_method_ends_well_on_a_disk_that_does_what_it_says(double, name, method):
    disk = double(name)
    erased = disk.erase(method)
    (run,) = erased.runs
    assert (run.status, run.text) == (RunStatus.DONE, "")
    assert (run.canaries_written, run.canaries_kept, run.canaries_left) == (16, 16, 0)
    seen = disk.verify(method)
    assert (seen.unwiped, seen.edges_unwiped, seen.canaries_left) == (0, 0, 0)


def test_noise_of_a_new_key_is_allowed_and_the_ends_are_zeros(tmp_path):
    size = 40 * MIB
    disk = disk_of(
        tmp_path / "nvme0n1", size, run=lambda path: DiskDouble(path=path, leaves=os.urandom)
    )
    erased = disk.erase(M.NVME_SANITIZE_CRYPTO)
    assert erased.edges_zeroed
    seen = disk.verify(M.NVME_SANITIZE_CRYPTO, samples=500)
    assert (seen.unwiped, seen.edges_unwiped) == (0, 0)
    assert 0 < seen.zeros < seen.samples
    # the same bytes are not allowed after a method that leaves zeros
    again = disk.verify(M.OVERWRITE, samples=500)
    assert again.unwiped == seen.samples - seen.zeros


def test_an_overwrite_needs_no_zeros_written_again(plain):
    assert not plain.erase(M.OVERWRITE).edges_zeroed


# --- liars ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "methods"),
    [
        ("nvme0n1", [M.NVME_SANITIZE_BLOCK]),
        ("nvme0n1", [M.NVME_SANITIZE_CRYPTO]),
        ("nvme0n1", [M.NVME_FORMAT_ERASE]),
        ("sda", [M.ATA_SANITIZE_BLOCK]),
        ("sda", [M.SCSI_SANITIZE_BLOCK]),
    ],
)
def test_success_without_erasing_is_seen_at_once_and_at_the_end(double, name, methods):
    # larger than its two ends, which are written with zeros whatever the method did
    disk = double(name, 48 * MIB, erases=False)
    disk.path.write_bytes(tenant_data(MIB) * 48)
    survey = disk.survey()
    (run,) = disk.erase(*methods).runs
    assert run.status is RunStatus.DONE
    assert run.canaries_left == 16
    seen = disk.verify(*methods, marks=survey.marks, samples=500)
    assert seen.canaries_left > 0
    assert seen.marks_left > 0
    assert seen.unwiped > 0


def test_a_disk_that_erases_nothing_is_not_proven(double):
    assert codes(double("nvme0n1", erases=False).wipe()) == {"WIPE_NOT_PROVEN"}


def test_a_security_erase_that_took_no_password_is_no_erase(double):
    disk = double("sda", takes_password=False)
    (run,) = disk.erase(M.ATA_ERASE).runs
    assert run.status is RunStatus.NO_EFFECT
    assert run.text == "the disk said success, but it took no password"
    assert run.canaries_left == 16


def test_a_security_erase_that_left_the_password_is_no_erase_and_the_disk_is_unlocked(double):
    disk = double("sda", erases=False)
    (run,) = disk.erase(M.ATA_ERASE_ENHANCED).runs
    assert run.status is RunStatus.NO_EFFECT
    assert "its password is still set" in run.text
    assert run.commands[-1].startswith("hdparm --user-master u --security-disable")
    assert not disk.survey().capabilities.ata.enabled


def test_qemus_security_erase_says_success_without_having_the_feature(tmp_path):
    disk = disk_of(tmp_path / "sda", run=lambda path: DiskDouble(path=path))
    plain_page = disk.run(("hdparm", "-I"), 1).text().split("Security:")[0]
    real = disk.run

    def qemu(argv, limit_s):
        ended = real(argv, limit_s)
        return type(ended)(status=0, output=plain_page.encode()) if "-I" in argv else ended

    disk.run = qemu
    (run,) = disk.erase(M.ATA_ERASE).runs
    assert run.status is RunStatus.NO_EFFECT
    assert "no security feature" in run.text


@pytest.mark.parametrize("ends", ["failed", "never"])
@pytest.mark.parametrize("method", [M.NVME_SANITIZE_BLOCK, M.ATA_SANITIZE_BLOCK])
def test_a_sanitize_whose_log_does_not_say_completed_failed(double, method, ends):
    disk = double("nvme0n1" if "nvme" in method else "sda", ends=ends)
    (run,) = disk.erase(method).runs
    assert run.status is RunStatus.FAILED
    assert run.text == f"the disk's own log says {ends}"


def test_a_frozen_disk_is_left_for_a_power_on_and_nothing_is_written(double):
    disk = double("sda", frozen=True)
    before = disk.path.read_bytes()
    erased = disk.erase(M.ATA_ERASE_ENHANCED, M.OVERWRITE)
    assert erased.is_frozen()
    assert [run.status for run in erased.runs] == [RunStatus.FROZEN]
    assert disk.path.read_bytes() == before
    disk.run.frozen = False
    assert not disk.erase(M.ATA_ERASE_ENHANCED, M.OVERWRITE).is_frozen()


def test_a_disk_that_an_earlier_run_left_locked_is_unlocked_first(double):
    disk = double("sda", locked=True)
    (run,) = disk.erase(M.ATA_ERASE).runs
    assert run.status is RunStatus.DONE
    assert any("--security-unlock" in said for said in disk.run.said)


def test_a_sanitize_that_still_runs_from_before_is_waited_for(double):
    disk = double("nvme0n1")
    disk.run._sanitize()
    disk.run._running = 4
    (run,) = disk.erase(M.NVME_FORMAT_ERASE).runs
    assert run.status is RunStatus.DONE
    asked = [said.split()[1] for said in disk.run.said if said.startswith("nvme ")]
    assert asked.index("format") > asked.index("sanitize-log")
    assert asked.count("sanitize-log") == 5
    assert disk.run._look() == 1


def test_a_failed_method_does_not_keep_the_next_one_from_erasing(double):
    disk = double("nvme0n1", ends="failed", erases=False)
    runs = disk.erase(M.NVME_SANITIZE_BLOCK, M.OVERWRITE).runs
    assert [run.status for run in runs] == [RunStatus.FAILED, RunStatus.DONE]
    assert disk.path.read_bytes() == bytes(4 * MIB)


def test_a_tool_that_is_missing_is_a_failed_method(plain):
    (run,) = plain.erase(M.NVME_FORMAT_ERASE).runs
    assert run.status is RunStatus.FAILED
    assert run.text.startswith("nvme: status 127")


def test_a_disk_that_is_gone_is_an_io_error(tmp_path):
    disk = disk_of(tmp_path / "vda")
    reference, target = disk.reference, disk.target
    disk.path.unlink()
    bench = Bench(run=disk.run, tally=Tally(Journal(), 1), begun=0.0, pause=print)
    canaries = erase_module.Canaries(key=b"k", disk=reference.label(), count=1)
    erased = DiskEraser(target, canaries, bench).erase((M.OVERWRITE,))
    assert erased.runs[0].status is RunStatus.IO_ERROR
    assert "No such file" in erased.runs[0].text


def test_a_disk_that_its_own_log_calls_failing_is_not_passed(double):
    assert "DISK_FAILED" in codes(double("nvme0n1", passed=False).wipe())


# --- several disks --------------------------------------------------------------------------------
def test_disks_of_one_controller_wait_for_each_other_and_are_zeroed_last(tmp_path):
    said = []
    disks = []
    for number in (1, 2):
        path = tmp_path / f"nvme0n{number}"
        disk = disk_of(path, run=lambda path: DiskDouble(path=path, leaves=os.urandom, said=said))
        disk.serial, disk.unit = f"S{number}", "nvme0"
        disks.append(disk)
    by_path = {str(disk.path): disk.run for disk in disks}

    def run(argv, limit_s):
        return by_path[next(word for word in argv if word in by_path)](argv, limit_s)

    order = erase_module.EraseOrder(
        disks=tuple(
            erase_module.DiskToErase(disk=disk.reference, methods=(M.NVME_SANITIZE_CRYPTO,))
            for disk in disks
        ),
        key="00" * 32,
        canaries=4,
    )
    link = Journal()
    erasures = erase_module.erase_targets(
        order, [disk.target for disk in disks], link, run, pause=lambda _: None
    )
    assert [each.disk.serial for each in erasures.disks] == ["S1", "S2"]
    assert all(each.edges_zeroed for each in erasures.disks)
    sanitized = [line for line in said if line.startswith("nvme sanitize ")]
    assert [line.split()[2] for line in sanitized] == [str(disk.path) for disk in disks]
    assert link.reached[-1] == (8 * MIB, 8 * MIB)


def test_progress_never_runs_backwards_and_ends_at_the_total(tmp_path):
    disk = disk_of(tmp_path / "vda", size=16 * MIB, used=MIB)
    disk.erase(M.DISCARD, M.OVERWRITE)
    done = [reached for reached, _ in disk.link.reached]
    assert done == sorted(done)
    assert disk.link.reached[-1] == (32 * MIB, 32 * MIB)
    disk.link.reached.clear()
    disk.verify(M.OVERWRITE)
    done = [reached for reached, _ in disk.link.reached]
    assert done == sorted(done)


def test_a_tally_adds_up_disks_from_many_threads():
    link = Journal()
    tally = Tally(link, 400)
    with ThreadPoolExecutor(4) as pool:
        for disk in "abcd":
            pool.submit(lambda disk=disk: [tally.reach(disk, at, "") for at in range(101)])
    assert max(link.reached) == (400, 400)


# --- orders ------------------------------------------------------------------------------------
@pytest.mark.parametrize("module", [erase_module, marks_module, verify_module])
@pytest.mark.parametrize(
    "parameters", [{}, {"disks": "x", "key": "00"}, {"disks": [], "key": "no hex"}]
)
def test_a_malformed_order_is_refused_before_anything_is_touched(module, parameters):
    name = {"marks": "mark"}.get(module.__name__.split(".")[-1], module.__name__.split(".")[-1])
    with pytest.raises(OrderFailedError) as caught:
        getattr(module, name)(parameters, Journal())
    assert caught.value.code == "ORDER_MALFORMED"


def test_a_running_sanitize_of_another_kind_of_disk_is_unknown(plain):
    assert plain.survey().capabilities.nvme is None
    (run,) = plain.erase(M.OVERWRITE).runs
    assert run.sanitize_state is SanitizeState.UNKNOWN
