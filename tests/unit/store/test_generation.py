"""An old memory: a database that is older than its marker, or another one, is held."""

import json
import shutil

import pytest

from provisioner.errors import ConflictError, OperatorError
from provisioner.servers.model import Power, PowerReading, State
from provisioner.servers.states import Intent
from provisioner.testing import store
from provisioner.units import ServerName, WallSeconds

NOW, UNTIL = WallSeconds(10.0), WallSeconds(1810.0)
S1 = ServerName("s1")


def marker(folder):
    return json.loads((folder / "marker").read_text())


def reserve(database):
    return database.allocations.reserve(store.instance_request(), until=UNTIL, now=NOW)


def reopened(database, folder, clock):
    database.close()
    return store.open_store(folder, clock)


def test_the_marker_follows_each_hand_out_and_each_return(database, folder, sql):
    before = marker(folder)["generation"]
    allocation = reserve(database)
    after_hand_out = marker(folder)["generation"]
    database.allocations.end_and_open(allocation.key, "over", None, tombstone=False, now=NOW)
    assert before < after_hand_out < marker(folder)["generation"]
    assert sql("SELECT generation FROM site_state") == [(marker(folder)["generation"],)]


def test_what_hands_out_nothing_leaves_the_marker_alone(database, folder):
    before = (folder / "marker").stat().st_mtime_ns
    reading = PowerReading(power=Power.OFF, at=NOW, source="loop")
    database.servers.note_readings({S1: reading})
    assert (folder / "marker").stat().st_mtime_ns == before


def test_a_restart_is_not_held(database, folder, clock):
    reserve(database)
    again = reopened(database, folder, clock)
    assert again.generation.held is None
    again.close()


def test_an_older_copy_is_held_and_looks_only(database, folder, clock, tmp_path):
    database.close()
    shutil.copytree(folder, tmp_path / "backup")
    living = store.open_store(folder, clock)
    reserve(living)
    living.close()
    shutil.copy(tmp_path / "backup" / "rackwright.db", folder)
    restored = store.open_store(folder, clock)
    assert "an older copy was restored" in restored.generation.held.reason
    assert restored.servers.server(S1).state is State.AVAILABLE
    reading = PowerReading(power=Power.ON, at=NOW, source="loop")
    restored.servers.note_readings({S1: reading})
    with pytest.raises(OperatorError, match="SERVICE_HELD"):
        reserve(restored)
    assert restored.servers.server(S1).state is State.AVAILABLE
    assert restored.servers.server(S1).power == reading
    restored.close()


def test_a_held_service_frees_nothing_either(database, folder, clock):
    allocation = reserve(database)
    (folder / "marker").unlink()
    held = reopened(database, folder, clock)
    with pytest.raises(OperatorError, match="SERVICE_HELD"):
        held.allocations.end_and_open(allocation.key, "x", None, tombstone=True, now=NOW)
    assert held.allocations.allocation(allocation.key).ended_at is None
    held.close()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "missing"),
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"database": "other", "generation": 1}', "another database"),
    ],
)
def test_a_marker_that_is_not_this_databases_is_a_reason(database, folder, clock, content, reason):
    (folder / "marker").unlink()
    if content is not None:
        (folder / "marker").write_text(content)
    again = reopened(database, folder, clock)
    assert reason in again.generation.held.reason
    again.close()


def test_a_marker_left_behind_by_a_crash_is_brought_up(database, folder, clock):
    old = (folder / "marker").read_text()
    reserve(database)
    newest = marker(folder)
    (folder / "marker").write_text(old)
    again = reopened(database, folder, clock)
    assert again.generation.held is None
    assert marker(folder) == newest
    again.close()


def test_the_first_marker_is_made_once_and_never_for_a_used_database(database, folder, clock):
    with pytest.raises(ConflictError, match="ALREADY_INITIALISED"):
        database.generation.first_marker()
    (folder / "marker").unlink()
    again = reopened(database, folder, clock)
    with pytest.raises(ConflictError, match="ALREADY_INITIALISED"):
        again.generation.first_marker()
    again.close()


def test_a_marker_that_cannot_be_written_stops_the_next_hand_out(database, folder, caplog):
    (folder / "marker.new").mkdir()
    first = reserve(database)
    assert first.server == "s1"
    assert "cannot be written" in caplog.text
    with pytest.raises(OperatorError, match="DATABASE_FAILED"):
        reserve(database)
    (folder / "marker.new").rmdir()
    assert reserve(database).server == "s2"
    assert marker(folder)["generation"] > 0


def test_a_deployment_that_is_refused_because_held_was_not_opened(database, folder, clock):
    (folder / "marker").unlink()
    held = reopened(database, folder, clock)
    new = store.operation(Intent.DEPLOY)
    with pytest.raises(OperatorError, match="SERVICE_HELD"):
        held.allocations.allocate_and_open(store.instance_request(), "tiny", new, now=NOW)
    with pytest.raises(ConflictError, match="OPERATION_UNKNOWN"):
        held.operations.operation(new.id)
    held.close()
