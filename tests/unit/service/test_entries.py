"""The file of certificates of entries: what counts, and for how long."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.service.entries import (
    EntryLine,
    Shown,
    parse_entries,
    refusal,
    revocations,
    serial_text,
)
from provisioner.units import SiteName, WallSeconds

TEXT = """\
# a note
mgmt1 zone1 0A1B 2028-12-01

mgmt2 zone1 0A1C 2028-12-01
mgmt1 zone1 0A1D 2029-12-01
mgmt2 zone1 0A1C revoked
mgmt1 zone2 0A1E 2028-12-01
"""
LINES = parse_entries(TEXT)
NOW = WallSeconds(1_800_000_000.0)


def shown(name, site, serial, ends_at=NOW + 1):
    return Shown(name=name, site=SiteName(site), serial=serial, ends_at=WallSeconds(ends_at))


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (shown("mgmt1", "zone1", 0x0A1B), ""),
        (shown("mgmt1", "zone1", 0x0A1D), ""),
        (shown("mgmt1", "zone2", 0x0A1E), ""),
        (shown("mgmt2", "zone1", 0x0A1C), "was revoked"),
        (shown("mgmt1", "zone1", 0x0A1F), "is not known here"),
        (shown("mgmt2", "zone1", 0x0A1B), "is not known here"),
        (shown("mgmt1", "zone2", 0x0A1B), "is not known here"),
        (shown("", "", 0x0A1B), "is not known here"),
        (shown("mgmt1", "zone1", 0x0A1B, NOW), "has expired"),
        (shown("mgmt2", "zone1", 0x0A1C, NOW), "was revoked"),
    ],
)
def test_a_certificate_counts_where_its_line_stands_and_nothing_ends_it(what, why):
    said = refusal(what, LINES, now=NOW)
    assert said.endswith(why)
    assert bool(said) == bool(why)
    assert not said or serial_text(what.serial) in said


def test_a_revocation_is_for_ever_whatever_stands_behind_it():
    lines = parse_entries("m z 0A revoked\nm z 0A 2030-01-01\n")
    assert "revoked" in refusal(shown("m", "z", 10), lines, now=NOW)


def test_without_lines_nobody_is_known():
    assert "not known" in refusal(shown("mgmt1", "zone1", 0x0A1B), (), now=NOW)


@pytest.mark.parametrize(
    "line",
    [
        "mgmt1",
        "mgmt1 zone1 0A1B",
        "mgmt1 zone1 0A1B 2028-12-01 more",
        "mgmt1 zone1 0A1B soon",
        "mgmt1 zone1 0A1B Revoked",
        "mgmt1 zone1 xyz 2028-12-01",
        "mgmt1 zone1 -A 2028-12-01",
        f"mgmt1 zone1 {'A' * 41} 2028-12-01",
        "Mgmt1 zone1 0A1B 2028-12-01",
        "mgmt1 ../x 0A1B 2028-12-01",
        "mgmt1 zone1 0A1B 2028-13-01",
        "mgmt1 zone1 0A1Bmgmt2 zone1 0A1C revoked",
    ],
)
def test_a_line_that_is_none_closes_the_door_and_is_named(line):
    with pytest.raises(OperatorError, match="line 2") as caught:
        parse_entries(f"m z 0A revoked\n{line}\n")
    assert caught.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize(
    ("name", "but_newest", "serials"),
    [
        ("mgmt1", False, [0x0A1B, 0x0A1D, 0x0A1E]),
        ("mgmt1", True, [0x0A1B, 0x0A1D]),
        ("mgmt2", False, []),
        ("mgmt2", True, []),
    ],
)
def test_what_is_revoked_of_an_entry(name, but_newest, serials):
    found = revocations(name, LINES, but_newest=but_newest)
    assert [each.serial for each in found] == serials
    behind = LINES + found
    for each in found:
        assert "revoked" in refusal(shown(each.name, each.site, each.serial), behind, now=NOW)
    assert revocations(name, behind, but_newest=but_newest) == ()


def test_an_entry_that_has_none_is_said_with_those_that_have():
    with pytest.raises(InputError, match="for: mgmt1, mgmt2"):
        revocations("mgmt7", LINES, but_newest=False)
    with pytest.raises(InputError, match="none at all"):
        revocations("mgmt7", (), but_newest=False)


@given(st.integers(min_value=1, max_value=2**160 - 1), st.none() | st.dates())
def test_a_line_is_read_as_it_was_written(serial, ends):
    if ends is not None and ends < date(1000, 1, 1):
        return
    line = EntryLine(name="m", site=SiteName("z"), serial=serial, ends=ends)
    assert parse_entries(line.line()) == (line,)
    assert len(serial_text(serial)) % 2 == 0
