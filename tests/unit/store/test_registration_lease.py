"""Whose turn it is to change what a site holds for us."""

from dataclasses import replace

import pytest

from provisioner.ports.registration_lease import LONGEST_S, RegistrationLease
from provisioner.units import SiteName, WallSeconds

SITE = SiteName("zone1")
NOW = 1_000_000.0


def lease(holder, *, now=NOW, seconds=100.0, site=SITE):
    return RegistrationLease(
        site=site,
        holder=holder,
        who=f"root by {holder}",
        what="apply",
        since=WallSeconds(now),
        until=WallSeconds(now + seconds),
    )


def test_the_first_has_it_and_the_second_is_told_whose_it_is(database):
    first = lease("a")
    assert database.registration_leases.take(first) == first
    assert database.registration_leases.take(lease("b", now=NOW + 99)) == first


def test_who_asks_again_has_it_for_longer_and_is_still_the_one_who_came_then(database):
    database.registration_leases.take(lease("a"))
    again = database.registration_leases.take(lease("a", now=NOW + 50))
    assert (again.since, again.until) == (NOW, NOW + 150)
    assert database.registration_leases.take(lease("b", now=NOW + 149)).holder == "a"


def test_one_that_nobody_asks_for_any_more_ends_by_itself(database):
    database.registration_leases.take(lease("a"))
    second = lease("b", now=NOW + 100)
    assert database.registration_leases.take(second) == second
    assert database.registration_leases.take(lease("a", now=NOW + 101)) == second


def test_one_that_was_given_back_is_anybodys(database):
    database.registration_leases.take(lease("a"))
    database.registration_leases.give_back(SITE, "b")
    assert database.registration_leases.take(lease("b")).holder == "a"
    database.registration_leases.give_back(SITE, "a")
    assert database.registration_leases.take(lease("b")).holder == "b"


def test_sites_do_not_meet(database):
    database.registration_leases.take(lease("a"))
    other = lease("b", site=SiteName("zone2"))
    assert database.registration_leases.take(other) == other


@pytest.mark.parametrize(
    ("left_s", "bars"), [(LONGEST_S, True), (1.0, True), (0.0, False), (LONGEST_S + 1, False)]
)
def test_one_that_ends_later_than_anybody_is_given_is_of_a_clock_that_was_set_back(left_s, bars):
    there = replace(lease("a"), until=WallSeconds(NOW + left_s))
    assert there.bars("b", WallSeconds(NOW)) is bars
    assert there.bars("a", WallSeconds(NOW)) is False


def test_a_site_has_one_row(database, sql):
    database.registration_leases.take(lease("a"))
    columns = "(site, holder, who, what, since, until)"
    values = "('zone1', 'b', 'root', 'apply', 1.0, 2.0)"
    assert "UNIQUE" in sql.refused(f"INSERT INTO registration_lease {columns} VALUES {values}")
