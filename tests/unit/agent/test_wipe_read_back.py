"""Reading back: whatever is left is found; and where a tenant's data is looked for before."""

import os

import pytest

from provisioner.agent import marks as marks_module
from provisioner.agent.medium import Medium
from provisioner.wipe.method import Method
from provisioner.wipe.samples import BLOCK_BYTES, samples_needed
from tests.unit.agent.wiping import MIB, OneDisk, disk_of, tenant_data

M = Method
SIZE = 256 * MIB


@pytest.fixture
def plain(tmp_path):
    return disk_of(tmp_path / "vda")


def hardly_used(path, data):
    """A disk of SIZE with holes, but for data at some places."""
    with path.open("wb") as file:
        file.truncate(SIZE)
        for offset, piece in data.items():
            file.seek(offset)
            file.write(piece)
    return OneDisk(path)


# --- reading back ------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(2))
def test_an_unwiped_share_of_a_tenth_of_a_percent_is_found(tmp_path, seed):
    disk = hardly_used(tmp_path / "vda", {100 * MIB: tenant_data(SIZE // 1000)})
    seen = disk.verify(M.OVERWRITE, turns=0, seed=seed)
    assert seen.samples == samples_needed()
    assert seen.unwiped > 0
    assert 100 * MIB <= seen.first_unwiped < 100 * MIB + SIZE // 1000


def test_it_is_the_samples_that_find_it(tmp_path):
    # with a hundredth of the samples the same disk passes: the test above tests something
    disk = hardly_used(tmp_path / "vda", {100 * MIB: tenant_data(SIZE // 1000)})
    assert disk.verify(M.OVERWRITE, turns=0, samples=138).unwiped == 0


def test_one_mark_that_is_left_is_found(tmp_path):
    disk = disk_of(tmp_path / "vda", 64 * MIB, used=16 * MIB)
    marks = disk.survey().marks
    kept = marks[3].offset
    with disk.path.open("r+b") as file:
        file.seek(kept)
        content = file.read(BLOCK_BYTES)
        disk.erase(M.OVERWRITE)
        file.seek(kept)
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    seen = disk.verify(M.OVERWRITE, marks=marks)
    assert (seen.marks_checked, seen.marks_left) == (len(marks), 1)


@pytest.mark.parametrize("at", [0, 16 * MIB - 1, -16 * MIB, -1])
def test_one_byte_at_an_end_is_found(tmp_path, at):
    path = tmp_path / "vda"
    size = 64 * MIB
    with path.open("wb") as file:
        file.truncate(size)
        file.seek(at % size)
        file.write(b"\x01")
    seen = OneDisk(path).verify(M.NVME_SANITIZE_CRYPTO, turns=0, samples=1)
    assert seen.edges_unwiped == 1
    assert seen.edges_bytes == 32 * MIB
    assert seen.first_unwiped == at % size // BLOCK_BYTES * BLOCK_BYTES


def test_a_disk_whose_size_changed_is_not_read_for_another(tmp_path):
    disk = disk_of(tmp_path / "vda")
    target = disk.target
    with disk.path.open("r+b") as file:
        file.truncate(8 * MIB)
    seen = OneDisk(disk.path)
    seen.__class__ = type("Stale", (OneDisk,), {"target": target, "reference": target.reference})
    assert seen.verify(M.OVERWRITE).error == f"{8 * MIB} bytes now, {4 * MIB} expected"


def test_reads_that_fail_are_counted_and_do_not_pass(tmp_path, monkeypatch):
    disk = disk_of(tmp_path / "vda", used=0)
    real = Medium.reader

    def reader(self, length):
        read = real(self, length)

        def failing(offset):
            if offset <= MIB < offset + length:
                raise OSError(5, "Input/output error")
            return read(offset)

        return failing

    monkeypatch.setattr(Medium, "reader", reader)
    seen = disk.verify(M.OVERWRITE, turns=0)
    assert seen.read_errors == 2
    assert seen.samples == 4 * MIB // BLOCK_BYTES - 1


# --- marks -------------------------------------------------------------------------------------
def test_data_that_fills_a_fortieth_of_the_disk_is_marked_fully(tmp_path):
    data = tenant_data(SIZE // 40)
    survey = hardly_used(tmp_path / "vda", {150 * MIB: data}).survey()
    assert len(survey.marks) == 64
    assert all(150 * MIB <= mark.offset < 150 * MIB + len(data) for mark in survey.marks)


def test_neighbours_are_looked_at_when_data_is_rare(tmp_path):
    data = {start * MIB: tenant_data(32 * BLOCK_BYTES, start) for start in range(10, 250, 12)}
    survey = hardly_used(tmp_path / "vda", data).survey()
    assert len(survey.marks) == 64
    assert survey.looked_at > 4096


def test_an_empty_disk_has_no_marks(tmp_path):
    survey = disk_of(tmp_path / "vda", used=0).survey()
    assert (survey.marks, survey.error) == ((), "")
    assert survey.looked_at == 4 * MIB // BLOCK_BYTES


def test_a_disk_that_cannot_be_read_says_so(tmp_path):
    disk = disk_of(tmp_path / "vda")
    target = disk.target
    disk.path.unlink()
    survey = marks_module.survey_target(target, b"k", 1, disk.run)
    assert "No such file" in survey.error


def test_samples_come_from_the_given_generator(plain):
    first = plain.verify(M.OVERWRITE, turns=0, seed=5, samples=10)
    again = plain.verify(M.OVERWRITE, turns=0, seed=5, samples=10)
    assert (first.unwiped, first.zeros) == (again.unwiped, again.zeros)
