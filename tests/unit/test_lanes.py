"""The tests are run in two lanes: no file is in neither, or in both."""

from pathlib import Path

from tests.lanes import OFF_RACK, TESTS, UNIT, halves, lanes_of


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
