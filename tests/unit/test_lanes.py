"""The tests are run in two lanes: no file is in neither, or in both."""

import os
from pathlib import Path

import pytest

from tests.lanes import OFF_RACK, TESTS, UNIT, Lane, halves, lanes_of


def with_a_test(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*.py") if "\ndef test_" in path.read_text())


def test_every_file_with_a_test_is_in_one_half():
    odd, even = halves().values()
    assert sorted([*odd, *even]) == with_a_test(UNIT)
    assert abs(len(odd) - len(even)) <= 1


def test_what_needs_no_rack_is_run_by_one_lane():
    runs = [run for lane in lanes_of([]).values() for run in lane if run[:2] == OFF_RACK]
    given = [Path(word) for run in runs for word in run[2:]]
    for path in map(Path, with_a_test(TESTS)):
        assert sum(path == one or one in path.parents for one in given) == 1, path


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("first", "second", "ended"),
    [("pass", "pass", 0), ("assert False", "pass", 1), ("os.kill(os.getpid(), 9)", "pass", 9)],
)
def test_a_lane_ends_well_when_all_its_runs_did(tmp_path, first, second, ended):
    files = [tmp_path / "test_first.py", tmp_path / "test_second.py"]
    for file, body in zip(files, (first, second), strict=True):
        file.write_text(f"import os\ndef test_it():\n    {body}\n")
    lane = Lane("here", [["--rootdir", str(tmp_path), "-c", os.devnull, str(f)] for f in files])
    assert lane.end() == ended
    assert lane.counts["passed"] == (2 if ended == 0 else 1)
