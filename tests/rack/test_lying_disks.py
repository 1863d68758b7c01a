"""Real block devices that lie: nbdkit behind a loop device, the agent's own code on them.

The same plugin stands behind the rack's QEMU disks; here nothing boots. The truth is read from
the file behind the disk.
"""

import json
import os
from pathlib import Path

import pytest

from provisioner.agent.tool import run_tool
from provisioner.wipe.judge import WipePolicy
from provisioner.wipe.method import Method, WipeClass
from provisioner.wipe.orders import RunStatus
from tests.rack.lying.device import lying_device
from tests.unit.agent.wiping import MIB, OneDisk, tenant_data

pytestmark = pytest.mark.rack
SIZE = 64 * MIB
EVERYWHERE = [[0, SIZE]]
MIDDLE = [[20 * MIB, 24 * MIB]]


@pytest.fixture
def lying(tmp_path):
    """A disk full of a tenant's data that lies as told, its file, and a way to turn it."""
    opened = []

    def make(**rules):
        file = tmp_path / "disk"
        file.write_bytes(tenant_data(MIB) * (SIZE // MIB))
        manager = lying_device(tmp_path / "rig", file, **rules)
        opened.append(manager)
        return OneDisk(Path(manager.__enter__()), run=run_tool), file

    yield make
    for manager in opened:
        manager.__exit__(None, None, None)


def texts(verdict):
    return " / ".join(finding.text for finding in verdict.findings)


def codes(verdict):
    return {finding.code for finding in verdict.findings}


def test_an_honest_disk_passes_so_the_refusals_below_mean_something(lying):
    disk, file = lying()
    verdict = disk.wipe()
    assert verdict.findings == ()
    assert verdict.reached is WipeClass.CLEAR
    assert file.read_bytes() == bytes(SIZE)


def test_an_honest_disk_discards(lying):
    disk, file = lying()
    survey = disk.survey()
    assert survey.capabilities.discard_max_bytes > 0
    (run,) = disk.erase(Method.DISCARD).runs
    assert (run.status, run.canaries_left) == (RunStatus.DONE, 0)
    assert file.read_bytes() == bytes(SIZE)


def test_a_disk_that_is_deaf_to_writes_in_a_range_is_not_proven(lying):
    disk, file = lying(deaf_to_write=MIDDLE, deaf_to_zero=MIDDLE)
    verdict = disk.wipe()
    assert codes(verdict) == {"WIPE_NOT_PROVEN"}
    assert "samples are not wiped" in texts(verdict)
    assert "old owner's data are still there" in texts(verdict)
    assert verdict.reached is WipeClass.NONE
    left = file.read_bytes()
    assert left[20 * MIB : 24 * MIB].strip(b"\0")
    assert not left[: 20 * MIB].strip(b"\0")


def test_a_disk_that_is_deaf_everywhere_loses_the_wipes_own_canaries(lying):
    disk, _ = lying(deaf_to_write=EVERYWHERE, deaf_to_zero=EVERYWHERE)
    assert "does not keep what is written (16 canaries lost before it)" in texts(disk.wipe())


def test_a_discard_that_is_ignored_leaves_the_canaries(lying):
    disk, file = lying(deaf_to_trim=EVERYWHERE)
    (run,) = disk.erase(Method.DISCARD).runs
    assert run.status is RunStatus.DONE
    assert run.canaries_left == 16
    assert "alpha" in file.read_bytes().decode("latin-1")
    assert disk.verify(Method.DISCARD).canaries_left > 0


def test_an_ignored_discard_is_made_good_by_the_overwrite_after_it_but_counts_for_nothing(lying):
    disk, file = lying(deaf_to_trim=EVERYWHERE)
    verdict = disk.wipe(WipePolicy(at_least=2))
    assert [run.method for run in verdict.wipe.erased.runs] == [Method.DISCARD, Method.OVERWRITE]
    assert texts(verdict) == "S1: 2 methods are asked, 1 worked"
    assert file.read_bytes() == bytes(SIZE)


def test_a_write_that_fails_names_its_place_and_does_not_pass(lying):
    disk, _ = lying(fails_write=MIDDLE)
    verdict = disk.wipe()
    assert "DISK_FAILED" in codes(verdict)
    assert "Input/output error" in texts(verdict)


def test_reads_that_fail_do_not_pass(lying):
    disk, _ = lying(fails_read=MIDDLE)
    assert "DISK_FAILED" in codes(disk.wipe())


def test_a_slow_range_only_takes_longer(lying):
    disk, _ = lying(slow=[[40 * MIB, 40 * MIB + 4096, 0.3]])
    assert disk.wipe().findings == ()


def test_one_block_of_the_owner_that_comes_back_after_the_erase_is_found(lying):
    disk, file = lying()
    survey = disk.survey()
    disk.erase(Method.OVERWRITE)
    # an owner's block comes back: a stale mapping, or a disk swapped for a copy
    with file.open("r+b") as behind:
        behind.seek(survey.marks[0].offset)
        behind.write((tenant_data(MIB) * (SIZE // MIB))[survey.marks[0].offset :][:4096])
        os.fsync(behind.fileno())
    assert disk.verify(Method.OVERWRITE, marks=survey.marks).marks_left == 1


def test_the_device_keeps_its_files_inode_and_rules_turn_while_it_runs(lying, tmp_path):
    disk, file = lying()
    inode = file.stat().st_ino
    disk.erase(Method.OVERWRITE)
    assert file.stat().st_ino == inode
    (tmp_path / "rig" / "rules.json").write_text(json.dumps({"fails_read": EVERYWHERE}))
    assert disk.verify(Method.OVERWRITE).error
