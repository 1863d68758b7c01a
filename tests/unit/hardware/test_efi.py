import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.hardware.efi import parse_boot_variables
from tests.unit.hardware.recorded import FOLDER

OVMF = (FOLDER / "efibootmgr-17-ovmf-2022.11-after.txt").read_text()
PARTITION = "ac0893c0-65e6-4222-894b-e223b6278cef"
BOARD = (FOLDER / "efibootmgr-17-composed.txt").read_text()
"""Not recorded: entries of several boards put together."""


def test_recorded_variables_after_our_entry_was_made():
    found = parse_boot_variables(OVMF)
    assert found.order == ("0001", "0000")
    entry = found.entry_of(PARTITION.upper())
    assert (entry.number, entry.label, entry.active) == ("0001", "rackwright", True)
    assert found.entries[0].partition() is None


def test_variables_of_a_board():
    found = parse_boot_variables(BOARD)
    assert (found.current, found.next_once) == ("0003", "0003")
    assert [each.active for each in found.entries] == [True, True, True, False]
    assert found.entry_of("11111111-2222-3333-4444-555555555555").label == "debian"


def test_entries_of_earlier_tenants_are_left_over():
    found = parse_boot_variables(BOARD)
    assert [each.number for each in found.left_over(PARTITION)] == ["0001"]
    assert found.left_over("aaaaaaaa-2222-3333-4444-555555555555") == ()


@pytest.mark.parametrize(
    ("number", "order"),
    [
        ("0000", ("0000", "0003", "0001")),
        ("0003", ("0003", "0001", "0000")),
        ("0007", ("0007", "0003", "0001", "0000")),
    ],
)
def test_an_entry_goes_before_all_others(number, order):
    assert parse_boot_variables(BOARD).order_with_first(number) == order


@given(st.text())
def test_no_output_crashes(output):
    assert parse_boot_variables(output).entries is not None
