"""`rackwright audit`, and the moments that options take."""

import pytest

from provisioner.errors import ErrorCode
from provisioner.ports.journal import AuditEntry
from provisioner.units import WallSeconds
from tests.unit.cli.rig import failed

NOON = 1_796_040_000.0
"""2026-11-30T12:00Z."""


@pytest.fixture
def acts(rig):
    for seconds, who, subject in ((0, "operator ann (uid 7)", "bios1"), (60, "lab: eve", "i1")):
        at = WallSeconds(NOON + seconds)
        entry = AuditEntry(at=at, who=who, act="retire", subject=subject, detail="why\x1b[31m")
        rig.desk.acts.append(entry)
    return rig


def test_who_did_what_is_listed_for_people_and_programs(acts):
    text = acts.run("audit", "list").stdout
    assert text.splitlines()[1].startswith("2026-11-30 12:01:00Z  lab: eve")
    assert "\x1b" not in text
    found = acts.json("audit", "list", "--server", "bios1", "--most", "3")
    assert [each["who"] for each in found["acts"]] == ["operator ann (uid 7)"]


@pytest.mark.parametrize(
    ("since", "count"),
    [
        ("2026-11-30", 2),
        ("2026-11-30T12:00:30", 1),
        ("2026-11-30T13:00:30+01:00", 1),
        (str(NOON + 61), 0),
    ],
)
def test_a_moment_is_a_date_or_seconds(acts, since, count):
    assert len(acts.json("audit", "list", "--since", since)["acts"]) == count


@pytest.mark.parametrize("since", ["yesterday", "2026-13-01", ""])
def test_what_is_no_moment_is_refused(acts, since):
    assert "2026-11-30" in failed(acts.run("audit", "list", "--since", since), ErrorCode.USAGE, 64)
