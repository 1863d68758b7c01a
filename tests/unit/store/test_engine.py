"""A database that is locked, full, damaged, of a newer release, or in use by another service."""

import re
import sqlite3
import stat

import pytest
import sqlalchemy as sa

from provisioner.errors import ConflictError, ErrorCode, OperatorError, TransientError
from provisioner.servers.model import Power, PowerReading
from provisioner.store import schema
from provisioner.store.engine import open_engine, translated
from provisioner.store.tables import META
from provisioner.testing import store
from provisioner.units import Seconds, ServerName, WallSeconds

READING = {ServerName("s1"): PowerReading(power=Power.ON, at=WallSeconds(1.0), source="loop")}


@pytest.fixture
def impatient(folder):
    engine = open_engine(folder / "rackwright.db", busy_timeout=Seconds(0.05))
    yield engine
    engine.dispose()


def write(engine):
    with translated(), engine.begin() as connection:
        connection.execute(sa.text("UPDATE server SET reason = 'x'"))


def test_a_locked_database_is_busy_and_later_it_works(impatient, folder):
    other = sqlite3.connect(folder / "rackwright.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(TransientError) as caught:
        write(impatient)
    assert caught.value.code is ErrorCode.DATABASE_BUSY
    other.execute("ROLLBACK")
    other.close()
    write(impatient)


def test_readers_do_not_wait_for_a_writer(database, folder):
    other = sqlite3.connect(folder / "rackwright.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert len(database.servers.servers()) == 2
    other.execute("ROLLBACK")
    other.close()


def test_a_full_disk_is_said_and_there_is_room_again_later(database):
    @sa.event.listens_for(database.engine, "begin")
    def _no_room(connection):
        connection.exec_driver_sql("PRAGMA max_page_count=1")  # as small as it is now

    def write_much():
        for _ in range(200):
            database.audit.audit("ann", "wrote", "s1", "x" * 4096)

    with pytest.raises(TransientError) as caught:
        write_much()
    assert caught.value.code is ErrorCode.DATABASE_FULL
    written = len(database.audit.entries(most=1000))
    assert written < 200
    sa.event.remove(database.engine, "begin", _no_room)
    with database.engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    database.audit.audit("ann", "wrote", "s1")
    assert len(database.audit.entries(most=1000)) == written + 1


def test_a_damaged_database_needs_a_person(folder, database, clock):
    database.close()
    path = folder / "rackwright.db"
    path.write_bytes(b"not a database at all" * 1000)
    with pytest.raises(OperatorError) as caught:
        store.open_store(folder, clock)
    assert caught.value.code is ErrorCode.DATABASE_FAILED
    assert "not a database" in caught.value.detail


def test_a_folder_that_is_missing_needs_a_person(tmp_path, clock):
    with pytest.raises(OperatorError, match="DATABASE_FAILED"):
        store.open_store(tmp_path / "nowhere", clock)


def test_one_service_a_database(database, folder, clock):
    with pytest.raises(ConflictError) as caught:
        store.open_store(folder, clock)
    assert caught.value.code is ErrorCode.DATABASE_IN_USE
    database.close()
    store.open_store(folder, clock).close()


def test_a_start_that_failed_gives_the_lock_back(database, folder, clock, sql):
    database.close()
    sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(OperatorError, match="update it"):
        store.open_store(folder, clock)
    sql(f"UPDATE alembic_version SET version_num = '{schema.REVISION}'")
    store.open_store(folder, clock).close()


def test_only_our_own_user_reads_the_database(database, folder):
    database.servers.note_readings(READING)
    for path in folder.glob("rackwright.db*"):
        if not path.name.endswith(".lock"):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_transactions_are_real_ones(folder, clock):
    database = store.open_store(folder, clock)
    with database.engine.connect() as connection:
        values = [
            connection.exec_driver_sql(f"PRAGMA {each}").scalar()
            for each in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")
        ]
    database.close()
    assert values == ["wal", 2, 1, 10_000]


def test_error_texts_carry_no_parameters(database):
    insert = sa.text("INSERT INTO seed (operation, sealed) VALUES (:a, NULL)")

    def wrong():
        with database.engine.begin() as connection:
            connection.execute(insert, {"a": "topsecret"})

    with pytest.raises(sa.exc.IntegrityError) as caught:
        wrong()
    assert "topsecret" not in str(caught.value)


# --- the schema ----------------------------------------------------------------------------
def _shape(path):
    """Every table and index, with the parts of its statement in a fixed order."""
    connection = sqlite3.connect(path)
    query = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'index')"
    found = {(kind, name): sql for kind, name, sql in connection.execute(query)}
    connection.close()
    parts = re.compile(r", (?=CONSTRAINT|\w+ [A-Z]+)")
    return {
        key: sorted(parts.split(re.sub(r"\s+", " ", sql or "").removesuffix(" )")))
        for key, sql in found.items()
        if "alembic" not in key[1]
    }


def test_the_migrations_make_what_the_tables_say(database, folder, tmp_path):
    engine = open_engine(tmp_path / "wanted.db", busy_timeout=Seconds(1.0))
    with engine.begin() as connection:
        META.create_all(connection)
    engine.dispose()
    wanted, found = _shape(tmp_path / "wanted.db"), _shape(folder / "rackwright.db")
    for key in wanted.keys() | found.keys():
        first = [part.rpartition("( ")[2] for part in wanted[key]]
        assert first == [part.rpartition("( ")[2] for part in found[key]], key


def test_the_revision_is_the_newest_migration():
    found = sorted(path.stem for path in (schema.MIGRATIONS / "versions").glob("r*.py"))
    assert found[-1].startswith(f"r{schema.REVISION}_")


def test_a_database_of_the_first_revision_goes_on(database, folder, clock, sql):
    store.enrol(database, "s9")
    database.close()
    sql("DROP TRIGGER guard_server_rebaselines_until_named")
    for column in ("hidden_media", "rebaselines"):
        sql(f"ALTER TABLE server DROP COLUMN {column}")
    for trigger in ("starts_whole_disks", "on_record_before_it_writes"):
        sql(f"DROP TRIGGER guard_effect_{trigger}")
    later = ("needs_reinstall", "off_first", "hostname")
    for column in ("host", "owner", "size", "protection", *later):
        sql(f"ALTER TABLE allocation DROP COLUMN {column}")
    for event in ("insert", "update"):
        sql(f"DROP TRIGGER guard_server_{event}_no_host")
    for table in ("registered", "site_key", "turn", "failure_note", "registration_lease", "host"):
        sql(f"DROP TABLE {table}")
    sql("UPDATE alembic_version SET version_num = '0001'")
    later = store.open_store(folder, clock)
    assert later.servers.server("s9").hidden_media == ()
    later.servers.change("s9", hidden_media=("Disk.Bay.1",))
    assert later.servers.server("s9").hidden_media == ("Disk.Bay.1",)
    later.close()


def test_a_database_of_this_revision_is_not_migrated_again(database, folder, clock, monkeypatch):
    database.close()
    monkeypatch.setattr(schema, "MIGRATIONS", folder / "nowhere")
    store.open_store(folder, clock).close()
