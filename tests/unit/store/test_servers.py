"""Enrolment, change, identity, readings."""

from dataclasses import replace

import pytest

from provisioner.errors import ConflictError, ErrorCode
from provisioner.secret import Secret
from provisioner.servers.model import (
    ControllerIdentity,
    ExcludedDisk,
    Maintenance,
    Power,
    PowerReading,
    State,
)
from provisioner.servers.states import Intent
from provisioner.testing import store
from provisioner.units import ServerName, WallSeconds

NOW = WallSeconds(10.0)
S1 = ServerName("s1")
PASSWORD = Secret("correct horse")


def retire(database, name):
    database.operations.open(name, store.operation(Intent.RETIRE), now=NOW)
    store.close(database, name)


def test_a_server_comes_back_as_it_was_enrolled(database):
    record = replace(
        store.new_server("s9"),
        kernel_arguments="nomodeset",
        console="ttyS1",
        excluded_disks=(ExcludedDisk(wwn="0x1", name="san"),),
        identity=ControllerIdentity(system_uuid="0000aaaa", certificate_sha256="cc"),
        maintenance=Maintenance(reason="new", by="ann", since=NOW),
        health=("fan 3 slow",),
        baseline=store.inventory("4c4c4544", "52:54:00:00:00:99", gpus=1),
    )
    database.servers.enrol(record, PASSWORD)
    assert database.servers.server(record.name) == record
    assert database.servers.servers()[-1] == record
    assert database.servers.password(record.name).reveal() == "correct horse"


def test_servers_come_by_name(database):
    for name in ("b", "a"):
        store.enrol(database, name)
    assert [each.name for each in database.servers.servers()] == ["a", "b", "s1", "s2"]


def test_an_unknown_server_is_a_conflict(database):
    for call in (database.servers.server, database.servers.password):
        with pytest.raises(ConflictError, match="SERVER_UNKNOWN"):
            call(ServerName("s7"))


def same(field, database, record):
    other = database.servers.server(S1)
    if field == "name":
        return replace(record, name=S1)
    if field == "identity":
        text = other.identity.system_uuid.upper()
        return replace(record, identity=ControllerIdentity(system_uuid=text))
    if field == "controller":
        where = replace(other.controller, user="other", host=other.controller.host.upper())
        return replace(record, controller=where)
    if field == "baseline":
        return replace(record, baseline=replace(other.baseline, memory_bytes=1))
    return replace(record, nics=other.nics)


@pytest.mark.parametrize("field", ["name", "identity", "controller", "baseline", "nics"])
def test_what_another_server_has_is_taken(database, field):
    record = same(field, database, store.new_server("s9"))
    with pytest.raises(ConflictError) as caught:
        database.servers.enrol(record, PASSWORD)
    assert caught.value.code is ErrorCode.SERVER_EXISTS
    assert [each.name for each in database.servers.servers()] == ["s1", "s2"]


@pytest.mark.parametrize("field", ["identity", "controller", "baseline", "nics"])
def test_what_another_server_has_is_not_taken_later_either(database, field):
    mine = store.enrol(database, "s9")
    wanted = same(field, database, mine)
    with pytest.raises(ConflictError, match="SERVER_EXISTS"):
        database.servers.change(mine.name, **{field: getattr(wanted, field)})
    assert database.servers.server(mine.name) == mine


def test_a_new_server_is_enrolled_and_nothing_else(database):
    with pytest.raises(ValueError, match="ENROLLED"):
        database.servers.enrol(replace(store.new_server("s9"), state=State.AVAILABLE), PASSWORD)


@pytest.mark.parametrize("field", ["state", "dirty", "epoch", "power"])
def test_what_only_moves_change_is_not_changed(database, field):
    with pytest.raises(ValueError, match=field):
        database.servers.change(S1, **{field: None})


def test_a_changed_password_is_sealed_like_the_first(database, folder):
    database.servers.change(S1, password=Secret("hunter9"))
    assert database.servers.password(S1).reveal() == "hunter9"
    assert b"hunter9" not in b"".join(each.read_bytes() for each in folder.iterdir())


def test_a_retired_machine_comes_back_under_its_name_dirty_and_newer(database):
    before = database.servers.server(S1)
    retire(database, S1)
    epoch = database.servers.server(S1).epoch
    again = replace(store.new_server("s1"), nics=before.nics)
    database.servers.enrol(again, PASSWORD)
    after = database.servers.server(S1)
    assert (after.state, after.dirty) == (State.ENROLLED, True)
    assert after.epoch > epoch
    assert after.baseline is None


def test_a_retired_machine_comes_back_under_another_name_dirty(database):
    before = database.servers.server(S1)
    retire(database, S1)
    again = replace(store.new_server("s9"), nics=before.nics, controller=before.controller)
    database.servers.enrol(again, PASSWORD)
    assert database.servers.server(again.name).dirty


def test_a_retired_machine_that_shows_who_it_is_only_later_is_dirty_then(database):
    before = database.servers.server(S1)
    retire(database, S1)
    again = store.enrol(database, "s9")
    assert not again.dirty
    database.servers.change(again.name, identity=before.identity)
    assert database.servers.server(again.name).dirty


def test_the_name_of_a_retired_machine_is_not_for_another_one(database):
    retire(database, S1)
    with pytest.raises(ConflictError, match="SERVER_EXISTS"):
        database.servers.enrol(store.new_server("s1"), PASSWORD)


def test_a_retired_machine_leaves_its_address_to_others(database):
    before = database.servers.server(S1)
    retire(database, S1)
    heir = replace(store.new_server("s9"), controller=before.controller)
    database.servers.enrol(heir, PASSWORD)
    assert not database.servers.server(heir.name).dirty


def test_a_retired_server_is_not_revived_by_changing_its_cards(database):
    before = database.servers.server(S1)
    retire(database, S1)
    database.servers.change(S1, nics=before.nics)
    heir = store.enrol(database, "s9")
    database.servers.change(heir.name, nics=before.nics)
    assert database.servers.server(heir.name).nics == before.nics


# --- readings ------------------------------------------------------------------------------
def reading(power, at, source="loop"):
    return PowerReading(power=power, at=WallSeconds(at), source=source)


def test_the_newest_reading_stands_in_the_server(database, sql):
    database.servers.note_readings({S1: reading(Power.ON, 100.0)})
    database.servers.note_readings({S1: reading(Power.OFF, 99.0, "operation x")})
    assert database.servers.server(S1).power == reading(Power.ON, 100.0)
    assert noted(sql, "s1") == [100.0, 99.0]


def noted(sql, server):
    query = f"SELECT at FROM reading WHERE server = '{server}' ORDER BY number"
    return [at for (at,) in sql(query)]


def test_a_cycle_is_one_transaction_and_old_readings_go(database, sql):
    readings = {S1: reading(Power.OFF, 1.0), ServerName("s2"): reading(Power.ON, 1.0)}
    database.servers.note_readings(readings)
    database.servers.note_readings({S1: reading(Power.OFF, 5000.0)})
    database.servers.note_readings({})
    assert noted(sql, "s2") == []
    assert database.servers.server(ServerName("s2")).power.power is Power.ON


def test_power_that_was_not_read_is_unknown_with_its_reason(database):
    silent = PowerReading(power=Power.UNKNOWN, at=NOW, source="loop", why="no answer")
    database.servers.note_readings({S1: silent})
    assert database.servers.server(S1).power == silent
