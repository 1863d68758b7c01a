"""What must never happen, tried by plain SQL through a connection that knows nothing of us."""

import pytest

from provisioner.servers.operation import Outcome
from provisioner.servers.states import Ending, Intent
from provisioner.store import guards
from provisioner.store.triggers.servers import allowed_moves
from provisioner.testing import store
from provisioner.units import ServerName, WallSeconds

NOW = WallSeconds(10.0)


S1 = ServerName("s1")


@pytest.fixture
def request_one():
    return store.instance_request("11111111-1111-1111-1111-111111111111")


@pytest.fixture
def deploying(database, request_one):
    allocation = database.allocations.allocate_and_open(
        request_one, "tiny", store.operation(Intent.DEPLOY, steps=("off", "on")), now=NOW
    )
    return database.operations.operation(allocation.operation)


@pytest.fixture
def active(database, deploying):
    database.effects.begin(deploying.id, "on", now=NOW, dirties=True)
    store.close(database, deploying.server)
    return deploying


@pytest.fixture
def releasing(database, active, request_one):
    database.allocations.end_and_open(
        request_one.key, "deleted", store.operation(Intent.RELEASE), tombstone=True, now=NOW
    )
    return store.running(database, active.server)


COLUMNS = (
    "id, site, instance, name, who, server, pool, phase, wanted, created_at, networks,"
    " known_to_caller, first_boot_asked, ever_powered, end_reason, off_confirmed, needs_reseed,"
    " truth"
)


def allocation(identifier, instance, server, powered=0, how="INSERT"):
    return (
        f"{how} INTO allocation ({COLUMNS}) VALUES ('{identifier}', 'lab', '{instance}', 'i', 'w',"
        f" '{server}', 'a', 'deploying', 'on', 1, '[]', 0, 0, {powered}, '', 0, 0, '')"
    )


# --- 1: one owner --------------------------------------------------------------------------
@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE"])
def test_a_server_has_one_living_allocation(sql, deploying, how):
    assert "UNIQUE" in sql.refused(allocation("x", "other", "s1", how=how))


@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE"])
def test_an_instance_has_one_living_allocation(sql, database, deploying, request_one, how):
    sql("UPDATE server SET state = 'RESERVED' WHERE name = 's2'")
    again = allocation("x", request_one.key.instance, "s2", how=how)
    assert "UNIQUE" in sql.refused(again)


def test_the_indexes_refuse_as_well_as_the_guards(sql, database, deploying, request_one):
    sql(
        "UPDATE server SET state = 'RESERVED' WHERE name = 's2'",
        "DROP TRIGGER guard_allocation_begins",
    )
    assert "UNIQUE constraint" in sql.refused(allocation("x", request_one.key.instance, "s2"))
    assert "UNIQUE constraint" in sql.refused(allocation("x", "other", "s1"))


def test_an_allocation_keeps_its_server_and_its_instance(sql, deploying):
    for column in ("server", "site", "instance", "id"):
        assert "written once" in sql.refused(f"UPDATE allocation SET {column} = 's9'")


def test_an_allocation_needs_a_server_that_is_kept_for_it(sql, database):
    assert "not kept" in sql.refused(allocation("x", "other", "s1"))


def test_an_ended_allocation_does_not_come_back(sql, releasing):
    revived = "UPDATE allocation SET ended_at = NULL, phase = 'active'"
    assert "for ever" in sql.refused(revived)
    assert "rows stay" in sql.refused("DELETE FROM allocation")


def test_a_deleted_instance_gets_no_server(sql, database, releasing, request_one):
    sql("UPDATE server SET state = 'RESERVED' WHERE name = 's2'")
    assert "deleted" in sql.refused(allocation("x", request_one.key.instance, "s2"))
    assert "rows stay" in sql.refused("DELETE FROM tombstone")
    assert "written once" in sql.refused("UPDATE tombstone SET instance = 'y'")
    later = "SELECT site, instance, at + 1 FROM tombstone"
    assert "rows stay" in sql.refused(f"INSERT OR REPLACE INTO tombstone {later}")


def test_an_allocated_server_goes_nowhere_else(sql, active):
    for state in ("AVAILABLE", "RELEASING", "CLEANING", "RETIRED"):
        sql.refused(f"UPDATE server SET state = '{state}'")
    assert "lives" in sql.refused(
        "UPDATE server SET state = 'QUARANTINED'", "UPDATE server SET state = 'CLEANING'"
    )


# --- 2: a stale worker ---------------------------------------------------------------------
def test_an_epoch_never_falls(sql, database):
    assert "never falls" in sql.refused("UPDATE server SET epoch = epoch - 1")


def effect(operation, epoch):
    return (
        "INSERT INTO effect (operation, step, epoch, begun, result, beginnings)"
        f" VALUES ('{operation}', 'off', {epoch}, 1, '{{}}', 1)"
    )


def test_no_effect_begins_for_an_older_epoch(sql, deploying):
    sql("UPDATE server SET epoch = epoch + 1")
    assert "newer owner" in sql.refused(effect(deploying.id, deploying.epoch))
    assert "newer owner" in sql.refused(effect(deploying.id, deploying.epoch + 1))


def test_no_effect_begins_for_a_closed_operation(sql, active):
    assert "newer owner" in sql.refused(effect(active.id, active.epoch))
    again = "UPDATE effect SET beginnings = beginnings + 1"
    assert "newer owner" in sql.refused(again)


def test_an_effect_is_done_once_and_stays(sql, database, deploying):
    database.effects.begin(deploying.id, "off", now=NOW)
    database.effects.finish(deploying.id, "off", {}, now=NOW)
    assert "done for ever" in sql.refused("UPDATE effect SET done = NULL")
    assert "rows stay" in sql.refused("DELETE FROM effect")
    anew = effect(deploying.id, deploying.epoch).replace("INSERT", "INSERT OR REPLACE")
    assert "rows stay" in sql.refused(anew)


OPERATION = (
    "{how} INTO operation (id, kind, steps_name, steps, server, epoch, who, parameters, status,"
    " opened_at, brief, detail, note, progress_done, progress_total)"
    " VALUES ('{id}', 'power', 'x', '[]', 's1', {epoch}, 'w', '{{}}', '{status}', 1, '', '', '',"
    " 0, 0)"
)


@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE"])
def test_a_server_has_one_open_operation(sql, deploying, how):
    second = OPERATION.format(how=how, id="x", epoch=deploying.epoch, status="open")
    assert "UNIQUE" in sql.refused(second)
    sql("DROP TRIGGER guard_operation_begins")
    if how == "INSERT":
        assert "UNIQUE constraint" in sql.refused(second)


def test_an_operation_begins_open_and_in_the_servers_epoch(sql, database):
    older = OPERATION.format(how="INSERT", id="x", epoch=0, status="open")
    assert "of its epoch" in sql.refused(older)


def test_a_closed_operation_stays_closed(sql, active):
    assert "closed for ever" in sql.refused(
        f"UPDATE operation SET status = 'open', ended_at = NULL WHERE id = '{active.id}'"
    )
    assert "rows stay" in sql.refused("DELETE FROM operation")


@pytest.mark.parametrize("column", ["steps", "steps_name", "kind", "server", "epoch", "parameters"])
def test_what_an_operation_began_with_stays(sql, deploying, column):
    assert "written once" in sql.refused(
        f"UPDATE operation SET {column} = '[\"x\"]' WHERE id = '{deploying.id}'"
    )


# --- 3: a dirty server ---------------------------------------------------------------------
def test_a_dirty_server_is_not_offered(sql, database):
    assert "offered_is_clean" in sql.refused("UPDATE server SET dirty = 1")


def test_a_server_in_use_is_dirty(sql, deploying):
    assert "in_use_is_dirty" in sql.refused("UPDATE server SET state = 'ACTIVE'")


def test_dirty_is_nothing_but_yes_or_no(sql, deploying):
    for value in ("2", "'no'"):
        assert "ck_server_dirty" in sql.refused(f"UPDATE server SET dirty = {value}")


def test_dirty_is_not_cleared_without_evidence(sql, releasing):
    assert "only with wipe evidence" in sql.refused("UPDATE server SET dirty = 0")
    assert "only with wipe evidence" in sql.refused(
        "UPDATE server SET dirty = 0, evidence = 'made up'"
    )


def test_dirty_is_not_cleared_with_old_evidence(sql, releasing):
    old = "(SELECT hash FROM evidence WHERE server = 's1')"
    assert "only with wipe evidence" in sql.refused(
        f"UPDATE server SET dirty = 0, evidence = {old}"
    )
    assert "only with wipe evidence" in sql.refused(
        "UPDATE server SET evidence = NULL", f"UPDATE server SET dirty = 0, evidence = {old}"
    )


def test_dirty_is_not_cleared_with_another_servers_evidence(sql, database, releasing):
    other = store.enrol(database, "s3")
    for kind in (Intent.INSPECT, Intent.CLEAN):
        if kind is Intent.INSPECT:
            database.operations.open(other.name, store.operation(kind), now=NOW)
            store.close(database, other.name)
    record = store.running(database, other.name)
    identifier = database.evidence.append_and_clean(record.id, {})
    assert "only with wipe evidence" in sql.refused(
        f"UPDATE server SET dirty = 0, evidence = '{identifier}' WHERE name = 's1'"
    )
    assert "of another one" in sql.refused(
        f"UPDATE server SET evidence = '{identifier}' WHERE name = 's1'"
    )


def test_dirty_is_not_cleared_while_a_tenant_has_the_server(sql, active, database):
    """Not even with evidence of this very epoch, which another guard would not let in."""
    database.operations.open(active.server, store.operation(Intent.POWER), now=NOW)
    ((operation, epoch),) = sql("SELECT id, epoch FROM operation WHERE status = 'open'")
    last = "coalesce((SELECT hash FROM evidence ORDER BY sequence DESC LIMIT 1), '')"
    proof = {"operation": f"'{operation}'", "epoch": epoch, "server": "'s1'", "hash": "'proof'"}
    proof |= {"sequence": "(SELECT 1 + count(*) FROM evidence)", "previous": last}
    columns = [row[1] for row in sql("PRAGMA table_info(evidence)")]
    values = ", ".join(str(proof.get(name, 1)) for name in columns)
    forged = f"INSERT INTO evidence VALUES ({values})"
    cleared = "UPDATE server SET dirty = 0, evidence = 'proof' WHERE name = 's1'"
    assert "not of a running wipe" in sql.refused(forged)
    assert "only with wipe evidence" in sql.refused(
        "DROP TRIGGER guard_evidence_of_a_wipe", forged, cleared
    )


def test_dirty_is_cleared_with_the_evidence_of_the_running_wipe(sql, database, releasing):
    database.evidence.append_and_clean(releasing.id, {})
    assert sql("SELECT dirty FROM server WHERE name = 's1'") == [(0,)]


def test_a_server_that_was_not_wiped_is_not_offered(sql, database):
    server = store.enrol(database, "s3")
    database.operations.open(server.name, store.operation(Intent.INSPECT), now=NOW)
    store.close(database, server.name)
    offered = "UPDATE server SET state = 'AVAILABLE' WHERE name = 's3'"
    assert "proven wipe" in sql.refused(offered)


def test_a_server_is_not_moved_outside_the_table(sql, releasing):
    for state in ("ACTIVE", "RESERVED", "ENROLLED", "VERIFYING", "RETIRED", "DEPLOYING"):
        assert "no such move" in sql.refused(f"UPDATE server SET state = '{state}'")
    assert sql.refused("UPDATE server SET state = 'BROKEN'")


def test_a_server_is_never_deleted_nor_replaced(sql, active):
    assert "rows stay" in sql.refused("DELETE FROM server")
    assert "written once" in sql.refused("UPDATE server SET name = 's3' WHERE name = 's1'")
    columns = [row[1] for row in sql("PRAGMA table_info(server)")]
    clean = ", ".join({"dirty": "0", "state": "'AVAILABLE'"}.get(each, each) for each in columns)
    replaced = f"INSERT OR REPLACE INTO server SELECT {clean} FROM server WHERE name = 's1'"
    assert "UNIQUE" in sql.refused(replaced)
    sql("DROP TRIGGER guard_server_insert_one_machine")
    assert "ENROLLED" in sql.refused(replaced)


def test_a_server_that_was_powered_for_a_tenant_is_dirty(sql, database, deploying):
    assert "counts as clean" in sql.refused("UPDATE allocation SET ever_powered = 1")


def test_a_server_is_not_handed_out_as_powered_while_it_counts_as_clean(sql, database):
    sql("UPDATE server SET state = 'RESERVED' WHERE name = 's1'")
    assert "counts as clean" in sql.refused(allocation("x", "other", "s1", powered=1))


def test_that_it_was_powered_is_not_forgotten(sql, active):
    assert "was powered on" in sql.refused("UPDATE allocation SET ever_powered = 0")


# --- 10: evidence --------------------------------------------------------------------------
def test_evidence_is_neither_changed_nor_cut_off(sql, database):
    assert "rows stay" in sql.refused("UPDATE evidence SET record = '{}'")
    assert "rows stay" in sql.refused("DELETE FROM evidence")


def evidence(sequence, name, previous, operation, epoch, how="INSERT"):
    return (
        f"{how} INTO evidence (sequence, hash, previous, server, operation, epoch, record)"
        f" VALUES ({sequence}, '{name}', '{previous}', 's1', '{operation}', {epoch}, '{{}}')"
    )


@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE"])
def test_evidence_is_only_appended(sql, releasing, how):
    head = sql("SELECT hash FROM evidence ORDER BY sequence DESC LIMIT 1")[0][0]
    made = {"operation": releasing.id, "epoch": releasing.epoch, "how": how}
    assert "follows the last" in sql.refused(evidence(1, "x", "", **made))
    assert "follows the last" in sql.refused(evidence(4, "x", head, **made))
    assert "follows the last" in sql.refused(evidence(3, "x", "else", **made))
    assert "follows the last" in sql.refused(evidence(3, head, head, **made))


def test_evidence_is_of_a_running_wipe(sql, database, active):
    head = sql("SELECT hash FROM evidence ORDER BY sequence DESC LIMIT 1")[0][0]
    made = evidence(3, "x", head, active.id, active.epoch)
    assert "running wipe" in sql.refused(made)


# --- 15: one machine -----------------------------------------------------------------------
@pytest.mark.parametrize("how", ["UPDATE", "UPDATE OR REPLACE"])
def test_two_servers_do_not_share_a_machine(sql, database, how):
    for columns in ("host, port", "system_uuid", "board_uuid"):
        same = f"({columns}) = (SELECT {columns} FROM server WHERE name = 's1')"
        assert "UNIQUE" in sql.refused(f"{how} server SET {same} WHERE name = 's2'")
    mac = "mac = (SELECT mac FROM nic WHERE server = 's1')"
    assert "UNIQUE" in sql.refused(f"{how} nic SET {mac} WHERE server = 's2'")
    assert "UNIQUE" in sql.refused(f"{how} nic SET {mac}, living = 0 WHERE server = 's2'")


@pytest.mark.parametrize("how", ["INSERT", "INSERT OR REPLACE"])
def test_a_card_is_not_added_to_a_second_server(sql, database, how):
    again = "SELECT 's2', 7, mac, roles, port, {living} FROM nic WHERE server = 's1'"
    for living in (1, 0):
        assert "UNIQUE" in sql.refused(f"{how} INTO nic {again.format(living=living)}")


def test_the_indexes_of_a_machine_refuse_as_well(sql, database):
    sql("DROP TRIGGER guard_server_update_one_machine", "DROP TRIGGER guard_nic_update_living")
    for columns in ("host, port", "system_uuid", "board_uuid"):
        same = f"({columns}) = (SELECT {columns} FROM server WHERE name = 's1')"
        assert "UNIQUE constraint" in sql.refused(f"UPDATE server SET {same} WHERE name = 's2'")
    mac = "mac = (SELECT mac FROM nic WHERE server = 's1')"
    assert "UNIQUE constraint" in sql.refused(f"UPDATE nic SET {mac} WHERE server = 's2'")


# --- 16: an old memory ---------------------------------------------------------------------
def test_a_generation_never_falls_and_belongs_to_one_database(sql, database):
    assert "never falls" in sql.refused("UPDATE site_state SET generation = generation - 1")
    assert "never falls" in sql.refused("UPDATE site_state SET database_id = 'x'")
    assert "rows stay" in sql.refused("DELETE FROM site_state")
    assert "one row" in sql.refused("INSERT OR REPLACE INTO site_state VALUES (1, 'x', 99)")


def test_every_hand_out_and_every_return_raises_the_generation(sql, database, request_one):
    def generation():
        return sql("SELECT generation FROM site_state")[0][0]

    seen = [generation()]
    sql(
        "UPDATE server SET state = 'RESERVED' WHERE name = 's1'",
        allocation("x", request_one.key.instance, "s1"),
    )
    seen.append(generation())
    sql("UPDATE allocation SET ended_at = 2, phase = 'ended'")
    seen.append(generation())
    sql("UPDATE server SET state = 'AVAILABLE' WHERE name = 's1'")
    seen.append(generation())
    assert seen == sorted(set(seen))


# --- once ----------------------------------------------------------------------------------
def test_an_image_name_stands_for_the_same_bytes_for_ever(sql, database):
    sql("INSERT INTO image VALUES ('tiny', 'aa', 1, 1, 1, 512, 'raw', 1, '/x')")
    assert "written once" in sql.refused("UPDATE image SET root = 'bb'")
    other = "VALUES ('tiny', 'bb', 1, 1, 1, 512, 'raw', 1, '/x')"
    assert "rows stay" in sql.refused(f"INSERT OR REPLACE INTO image {other}")


def test_a_call_from_the_future_makes_no_other_one_old(sql, database):
    row = "INSERT INTO call (at, server, door, text, outcome) VALUES ({at}, 's1', 'x', 'y', 'ok')"
    sql(row.format(at="strftime('%s', 'now') - 6 * 86400"))
    sql(row.format(at="strftime('%s', 'now') - 8 * 86400"))
    sql(row.format(at="1e12"))
    sql("DELETE FROM call WHERE at < strftime('%s', 'now') - 7.5 * 86400")
    assert "rows stay" in sql.refused("DELETE FROM call WHERE at < strftime('%s', 'now')")
    assert database.calls.forget(WallSeconds(1e11)) == 0


def test_audit_and_calls_are_append_only(sql, database):
    database.audit.audit("ann", "quarantine", "s1")
    database.calls.call(S1, "controller", "power off", "ok")
    for table in ("audit", "call"):
        assert "rows stay" in sql.refused(f"DELETE FROM {table}")
        assert "rows stay" in sql.refused(f"UPDATE {table} SET at = 0")
        assert "rows stay" in sql.refused(
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table} WHERE number = 1"
        )


# --- the guards themselves -----------------------------------------------------------------
def test_a_guard_that_was_taken_away_stands_again_at_the_next_start(sql, database, folder, clock):
    sql(
        "DROP TRIGGER guard_server_dirty_until_proven",
        "DROP TRIGGER guard_evidence_unchanged",
        "CREATE TRIGGER guard_evidence_unchanged BEFORE UPDATE ON evidence WHEN false"
        " BEGIN SELECT 1; END",
        "CREATE TRIGGER guard_of_an_older_release BEFORE UPDATE ON evidence WHEN false"
        " BEGIN SELECT 1; END",
    )
    database.close()
    store.open_store(folder, clock).close()
    found = {row[0] for row in sql("SELECT name FROM sqlite_master WHERE type = 'trigger'")}
    assert found == set(guards.guards())
    assert "rows stay" in sql.refused("UPDATE evidence SET record = '{}'")


def test_the_guard_of_moves_is_the_table_of_moves(database):
    assert len(allowed_moves()) > 20
    assert Outcome(ending=Ending.DONE) == store.DONE


# --- what a reinstall, reseed or rescue leaves behind ---------------------------------------
def begun(operation, step, epoch):
    return (
        "INSERT INTO effect (operation, step, epoch, begun, result, beginnings)"
        f" VALUES ('{operation}', '{step}', {epoch}, 10, '{{}}', 1)"
    )


def opened(database, kind, *steps):
    new = store.operation(kind, steps=steps)
    database.operations.open(S1, new, now=NOW)
    return new.id, database.servers.server(S1).epoch


def test_a_root_disk_that_may_be_half_written_is_not_started(sql, database, active):
    operation, epoch = opened(database, Intent.POWER, "off-gracefully", "on")
    sql("UPDATE allocation SET needs_reinstall = 1")
    assert "half written" in sql.refused(begun(operation, "on", epoch))
    sql("UPDATE allocation SET needs_reinstall = 0")
    sql(begun(operation, "on", epoch))


def test_nothing_is_written_that_does_not_count_as_half_written_first(sql, database, active):
    operation, epoch = opened(database, Intent.REINSTALL, "write-image")
    assert "half written" in sql.refused(begun(operation, "write-image", epoch))
    database.effects.begin(operation, "write-image", now=NOW, marks=("needs_reinstall",))


def test_a_rescue_system_is_somebody_s(sql, database, active):
    sql("UPDATE server SET state = 'RESCUE' WHERE name = 's1'")
    sql("UPDATE server SET state = 'ACTIVE' WHERE name = 's1'")
    sql("UPDATE allocation SET ended_at = 20, phase = 'ended'")
    assert "of nobody" in sql.refused("UPDATE server SET state = 'RESCUE' WHERE name = 's1'")
