"""What sites hold for us: made, settled, replaced, forgotten."""

import pytest

from provisioner.errors import InputError
from provisioner.units import SiteName, WallSeconds

SITE = SiteName("zone1")
AT = WallSeconds(10.0)
LATER = WallSeconds(20.0)


def _shape(database):
    return [
        (row.name, row.outside_id, row.retired, row.facts) for row in database.registered.rows(SITE)
    ]


def test_what_is_begun_has_no_id_and_what_is_settled_has_one(database):
    row = database.registered.begin(SITE, "offering", "bm", {"pool": "a"}, now=AT)
    assert _shape(database) == [("bm", None, False, {"pool": "a"})]
    database.registered.settle(row.number, "id-1", {"pool": "b"}, retired=False, now=LATER)
    assert _shape(database) == [("bm", "id-1", False, {"pool": "b"})]
    assert database.registered.rows(SITE)[0].at == LATER


def test_what_never_got_its_id_goes_on_being_made_under_its_number(database):
    first = database.registered.begin(SITE, "offering", "bm", {}, now=AT)
    again = database.registered.begin(SITE, "offering", "bm", {"pool": "a"}, now=LATER)
    assert again.number == first.number
    assert _shape(database) == [("bm", None, False, {"pool": "a"})]


def test_what_is_made_anew_retires_the_older_row(database):
    row = database.registered.begin(SITE, "offering", "bm", {}, now=AT)
    database.registered.settle(row.number, "id-1", {}, retired=False, now=AT)
    database.registered.begin(SITE, "offering", "bm", {}, now=LATER)
    assert _shape(database) == [("bm", "id-1", True, {}), ("bm", None, False, {})]


def test_what_is_for_no_new_user_leaves_its_name(database):
    row = database.registered.begin(SITE, "offering", "bm", {}, now=AT)
    database.registered.settle(row.number, "id-1", {"pool": "a"}, retired=True, now=AT)
    assert _shape(database) == [("bm", "id-1", True, {"pool": "a"})]
    assert database.registered.begin(SITE, "offering", "bm", {}, now=AT).number != row.number


def test_sites_and_kinds_do_not_meet(database):
    database.registered.begin(SITE, "offering", "bm", {}, now=AT)
    database.registered.begin(SITE, "template", "bm", {}, now=AT)
    database.registered.begin(SiteName("zone2"), "offering", "bm", {}, now=AT)
    assert [row.kind for row in database.registered.rows(SITE)] == ["offering", "template"]


def test_what_is_forgotten_is_gone_and_twice_is_well(database):
    row = database.registered.begin(SITE, "host", "h", {}, now=AT)
    database.registered.forget(row.number)
    database.registered.forget(row.number)
    assert _shape(database) == []


def test_a_row_that_nobody_began_is_refused(database):
    with pytest.raises(InputError, match="REGISTRATION_ROW"):
        database.registered.settle(99, "id", {}, retired=False, now=AT)


def test_the_database_has_one_id(database):
    assert database.registered.database_id() == database.registered.database_id() != ""


def test_no_two_rows_have_one_name_or_one_id(database, sql):
    row = database.registered.begin(SITE, "host", "h", {}, now=AT)
    database.registered.settle(row.number, "id-1", {}, retired=False, now=AT)
    columns = "(site, kind, name, outside_id, facts, retired, at)"
    into = f"INSERT INTO registered {columns} VALUES"
    assert "UNIQUE" in sql.refused(f"{into} ('zone1', 'host', 'h', 'id-2', '{{}}', 0, 1.0)")
    assert "UNIQUE" in sql.refused(f"{into} ('zone1', 'host', 'i', 'id-1', '{{}}', 0, 1.0)")
    assert "retired_was_made" in sql.refused(f"{into} ('zone1', 'host', 'j', NULL, '{{}}', 1, 1.0)")
