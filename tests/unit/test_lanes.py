"""`./dev check` runs the unit tests in two halves: no file is in neither, or in both."""

from tests.lanes import UNIT, halves


def test_every_file_with_a_test_is_in_one_half():
    odd, even = halves().values()
    files = [str(path) for path in UNIT.rglob("*.py") if "\ndef test_" in path.read_text()]
    assert sorted([*odd, *even]) == sorted(files)
    assert abs(len(odd) - len(even)) <= 1
