"""Turns of wipes: counted in the transaction that lets one begin, and kept."""

import pytest

from provisioner.errors import ConflictError, ErrorCode
from provisioner.servers.allocation import Protection
from provisioner.servers.operation import Outcome
from provisioner.servers.states import Ending, Intent
from provisioner.servers.turns import HOUR_S, Pace, Why
from provisioner.testing import store
from provisioner.units import OperationId, ServerName

ONE_AN_HOUR = Pace(at_most_per_hour=1, protected_hold_s=100.0)
NOW = 10_000.0


def begin(database):
    """An instance that has a server, ACTIVE."""
    request = store.instance_request()
    allocation = database.allocations.allocate_and_open(
        request, "tiny", store.operation(Intent.DEPLOY, steps=("on",)), now=NOW
    )
    database.effects.begin(allocation.operation, "on", now=NOW, dirties=True)
    store.close(database, allocation.server)
    return database.allocations.by_id(allocation.id)


def release(database, allocation, **more):
    new = store.operation(Intent.RELEASE, steps=("turn", "erase"))
    database.allocations.end_and_open(
        allocation.key, "deleted", new, tombstone=True, now=NOW, **more
    )
    return new.id


@pytest.fixture
def two(database):
    """Releases of two servers of one pool, the older first."""
    kept = [begin(database), begin(database)]
    return [release(database, each) for each in kept]


def test_the_second_waits_until_the_first_one_s_hour_is_over(database, two):
    first, second = two
    take = database.turns.take
    assert take(first, ONE_AN_HOUR, now=NOW) is None
    assert take(second, ONE_AN_HOUR, now=NOW + 1).why is Why.PACE
    assert [each.operation for each in database.turns.waiting()] == [second]
    assert take(second, ONE_AN_HOUR, now=NOW + HOUR_S - 1).why is Why.PACE
    assert take(second, ONE_AN_HOUR, now=NOW + HOUR_S) is None
    assert database.turns.waiting() == ()


def test_a_turn_that_was_taken_is_not_taken_twice(database, two):
    for _ in range(2):
        assert database.turns.take(two[0], ONE_AN_HOUR, now=NOW) is None
    assert database.turns.take(two[1], Pace(at_most_per_hour=2), now=NOW) is None


def test_who_waits_longer_is_first(database, two):
    first, second = two
    pace = Pace(at_most_per_hour=1)
    other = begin_another(database, "s3")
    assert database.turns.take(other, pace, now=NOW) is None
    for each in two:
        assert database.turns.take(each, pace, now=NOW + 1).why is Why.PACE
    assert database.turns.take(second, pace, now=NOW + HOUR_S).why is Why.PACE
    assert database.turns.take(first, pace, now=NOW + HOUR_S) is None


def begin_another(database, name):
    store.make_available(database, name)
    return release(database, begin(database))


def test_one_that_is_over_keeps_nobody_waiting(database, two):
    first, second = two
    pace = Pace(at_most_per_hour=1)
    other = begin_another(database, "s3")
    assert database.turns.take(other, pace, now=NOW) is None
    assert database.turns.take(first, pace, now=NOW).why is Why.PACE
    store.close(
        database,
        database.operations.operation(first).server,
        Outcome(ending=Ending.MACHINE, code=ErrorCode.CANCELLED),
    )
    assert database.turns.waiting() == ()
    assert database.turns.take(second, pace, now=NOW + HOUR_S) is None


def test_another_pool_has_an_hour_of_its_own(database, two):
    database.catalogue.put_pool(store.pool("b"))
    store.make_available(database, "b1", pool="b")
    request = store.instance_request(pool_name="b")
    allocation = database.allocations.allocate_and_open(
        request, "tiny", store.operation(Intent.DEPLOY, steps=("on",)), now=NOW
    )
    database.effects.begin(allocation.operation, "on", now=NOW, dirties=True)
    store.close(database, allocation.server)
    assert database.turns.take(two[0], ONE_AN_HOUR, now=NOW) is None
    mine = release(database, database.allocations.by_id(allocation.id))
    assert database.turns.take(mine, ONE_AN_HOUR, now=NOW) is None


def test_what_never_was_active_waits_for_nobody(database, two, sql):
    assert database.turns.take(two[0], ONE_AN_HOUR, now=NOW) is None
    store.make_available(database, "s3")
    request = store.instance_request()
    deploying = database.allocations.allocate_and_open(
        request, "tiny", store.operation(Intent.DEPLOY, steps=("on",)), now=NOW
    )
    database.effects.begin(deploying.operation, "on", now=NOW, dirties=True)
    mine = release(database, deploying)
    assert database.turns.take(mine, ONE_AN_HOUR, now=NOW) is None
    assert sql(f"SELECT count(*) FROM turn WHERE operation = '{mine}'") == [(0,)]


def test_one_that_is_let_go_waits_no_more_and_counts(database, two):
    first, second = two
    take = database.turns.take
    take(first, ONE_AN_HOUR, now=NOW)
    take(second, ONE_AN_HOUR, now=NOW)
    database.turns.let_go(second, "ann")
    database.turns.let_go(second, "bob")
    assert database.turns.turn(second).let_go_by == "ann"
    assert take(second, ONE_AN_HOUR, now=NOW + 1800) is None
    other = begin_another(database, "s3")
    assert take(other, ONE_AN_HOUR, now=NOW + HOUR_S).why is Why.PACE
    assert take(other, ONE_AN_HOUR, now=NOW + HOUR_S + 1800) is None


def test_what_nothing_keeps_waiting_cannot_be_let_go(database, two):
    database.turns.take(two[0], ONE_AN_HOUR, now=NOW)
    with pytest.raises(ConflictError) as caught:
        database.turns.let_go(two[0], "ann")
    assert caught.value.code is ErrorCode.STATE_CONFLICT
    server = database.operations.operation(two[1]).server
    store.close(database, server, Outcome(ending=Ending.MACHINE))
    with pytest.raises(ConflictError) as caught:
        database.turns.let_go(two[1], "ann")
    assert caught.value.code is ErrorCode.OPERATION_ENDED
    with pytest.raises(ConflictError) as caught:
        database.turns.let_go(OperationId("none"), "ann")
    assert caught.value.code is ErrorCode.OPERATION_UNKNOWN


def test_a_superseded_release_takes_no_turn(database, two):
    database.operations.open(
        ServerName(database.operations.operation(two[0]).server),
        store.operation(Intent.QUARANTINE),
        now=NOW,
    )
    with pytest.raises(ConflictError, match="SUPERSEDED"):
        database.turns.take(two[0], ONE_AN_HOUR, now=NOW)


# --- protected ----------------------------------------------------------------------------------
WAITS = {Protection.PROTECTED, Protection.UNKNOWN}


@pytest.mark.parametrize("protection", Protection)
@pytest.mark.parametrize("how", ["marked", "asked for its end"])
def test_a_protected_instance_is_held_and_so_is_one_of_which_nobody_knows(
    database, protection, how
):
    kept, more = begin(database), {}
    if how == "marked":
        database.allocations.mark(kept.id, protection=protection)
    else:
        more = {"protection": protection}
    mine = release(database, kept, **more)
    assert database.allocations.by_id(kept.id).protection is protection
    wait = database.turns.take(mine, ONE_AN_HOUR, now=NOW)
    assert (wait and wait.why) == (Why.PROTECTED if protection in WAITS else None)
    assert database.turns.take(mine, ONE_AN_HOUR, now=NOW + 100.0) is None


def test_what_is_known_of_it_counts_where_nobody_asked_again(database):
    kept = begin(database)
    database.allocations.mark(kept.id, protection=Protection.PROTECTED)
    mine = release(database, kept, protection=Protection.NOT_ASKED)
    assert database.turns.take(mine, ONE_AN_HOUR, now=NOW).why is Why.PROTECTED


def test_a_held_one_keeps_no_place_in_the_line(database):
    held, other = begin(database), begin(database)
    database.allocations.mark(held.id, protection=Protection.PROTECTED)
    held, other = release(database, held), release(database, other)
    assert database.turns.take(held, ONE_AN_HOUR, now=NOW).why is Why.PROTECTED
    assert database.turns.take(other, ONE_AN_HOUR, now=NOW) is None


# --- by plain SQL ---------------------------------------------------------------------------------
def erase(operation, epoch):
    return (
        "INSERT INTO effect (operation, step, epoch, begun, result, beginnings)"
        f" VALUES ('{operation}', 'erase', {epoch}, 1, '{{}}', 1)"
    )


def test_nothing_is_erased_before_its_turn(database, two, sql):
    record = database.operations.operation(two[0])
    assert "waits for its turn" in sql.refused(erase(record.id, record.epoch))
    database.turns.take(two[0], ONE_AN_HOUR, now=NOW)
    sql(erase(record.id, record.epoch))


def test_nothing_is_erased_that_was_never_compared(database, two, sql):
    record = database.operations.operation(two[0])
    database.turns.take(two[0], ONE_AN_HOUR, now=NOW)
    sql("UPDATE server SET baseline = NULL")
    assert "never compared" in sql.refused(erase(record.id, record.epoch))


def test_a_turn_is_opened_with_its_release_and_stays(database, two, sql):
    for change in ("counted = 0", "held = 1", "pool = 'b'", "operation = 'x'"):
        assert "written once" in sql.refused(f"UPDATE turn SET {change}")
    assert "rows stay" in sql.refused("DELETE FROM turn")
    again = (
        "INSERT OR REPLACE INTO turn (number, operation, server, pool, counted, held, waits_for,"
        f" let_go_by, begun_at) VALUES (9, '{two[0]}', 's1', 'a', 0, 0, '', '', 1)"
    )
    assert "rows stay" in sql.refused(again)
    database.turns.take(two[0], ONE_AN_HOUR, now=NOW)
    begun = f"UPDATE turn SET begun_at = NULL WHERE operation = '{two[0]}'"
    assert "begun for ever" in sql.refused(begun)
    database.turns.let_go(two[1], "ann")
    assert "already" in sql.refused(f"UPDATE turn SET let_go_by = '' WHERE operation = '{two[1]}'")
