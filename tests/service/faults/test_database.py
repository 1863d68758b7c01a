"""The database locked, full, damaged, in use; an old one restored; its marker changed."""

import contextlib
import itertools
import json
import shutil
import sqlite3
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest

from cloudstack_ext.lab.instances import instance_of

pytestmark = pytest.mark.emulated
IMAGE = "s1 agent write_image"
VERBS = ("prepare", "create", "start", "stop", "reboot", "delete")


@pytest.fixture
def callers():
    with ThreadPoolExecutor(8) as pool:
        yield pool


@contextmanager
def locked(site):
    """Another program, a backup perhaps, writes and does not come to an end."""
    path = site.state / "rackwright.db"
    with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


def deployed_once(site):
    assert site.rack.log.count(IMAGE) == 1
    assert site.rack.log.count("s1 is on") == 2
    mine = "SELECT status FROM operation WHERE kind = 'deploy' AND server = 's1'"
    assert site.rows(mine) == [("done",)]


def stays_locked(site, callers, seconds):
    site.start()
    held = site.rack.log.hold(IMAGE)
    create = callers.submit(site.call, "create", "one")
    held.wait()
    with locked(site):
        held.let_go()
        began = time.monotonic()
        assert site.call("status", "one").power == "PowerUnknown"
        assert time.monotonic() - began < 6
        late = site.call("create", "two", wait=3)
        assert (late.exit, late.code) == (1, "DEADLINE")
        assert late.seconds < 3
        assert site.client.ask("GET", "/v1/servers")["servers"]
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
    assert create.result().exit == 0, site.story()
    deployed_once(site)
    # what was begun for a caller that had no more time is there for its next call
    mine = "SELECT server FROM allocation WHERE name = ? AND ended_at IS NULL"
    assert site.rows(mine, instance_of("two").name) == [("s2",)]


def test_what_was_read_before_the_machines_clock_was_set_back_is_not_believed(site):
    """The service ran two hours ahead, ended, and the clock was put right."""
    site.start()
    assert site.call("create", "one").exit == 0
    site.until(lambda: site.call("status", "one").power == "PowerOn", "it is on")
    site.kill()
    with closing(sqlite3.connect(site.state / "rackwright.db", timeout=20)) as connection:
        for table, column in (
            ("reading", "at"),
            ("server", "power_at"),
            ("allocation", "commanded_at"),
        ):
            connection.execute(f"UPDATE {table} SET {column} = {column} + 7200")
        connection.commit()
    machine = site.rack["s1"]
    site.rack.switch_off(machine)
    site.rack.log.until("s1 is off")

    site.start()

    assert site.call("status", "one").power == "PowerUnknown"
    site.until(lambda: site.call("status", "one").power == "PowerOff", "it is off", 120.0)


def test_a_locked_database_is_waited_for(site, callers):
    stays_locked(site, callers, 5)


@pytest.mark.rack_long  # a minute and a half; needs no rack
def test_a_database_that_is_locked_for_longer_than_any_call_waits(site, callers):
    stays_locked(site, callers, 75)


@contextmanager
def small_disk(folder, size):
    """A file system of its own; needs root."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "rwf", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder):
    """Until nothing more goes in; twice, since the log that is put away makes room again."""
    with (folder / "filler").open("wb", buffering=0) as file:
        for _ in range(2):
            with closing(sqlite3.connect(folder / "rackwright.db", timeout=20)) as other:
                other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            for size in (1 << 20, 4096, 512):
                with contextlib.suppress(OSError):
                    while file.write(bytes(size)) == size:
                        pass


def test_a_full_disk_is_waited_for(make_site, template, tmp_path_factory, callers):
    folder = tmp_path_factory.mktemp("full")
    (folder / "state").mkdir()
    with small_disk(folder / "state", "24m"):
        site = make_site(folder)
        try:
            site.start()
            held = site.rack.log.hold(IMAGE)
            create = callers.submit(site.call, "create", "one")
            held.wait()
            fill(site.state)
            held.let_go()
            time.sleep(2)
            assert not create.done()
            assert site.call("status", "one").power == "PowerUnknown"
            late = site.call("delete", "two", wait=3)
            assert (late.exit, late.code) == (1, "DEADLINE")
            (site.state / "filler").unlink()
            answer = create.result()
            assert answer.exit == 0, site.story(answer.text)
            deployed_once(site)
        finally:
            site.close()


def refuses_to_start(site, status, code):
    ended = site.command("serve")
    assert ended.returncode == status, ended.stderr
    *log, line = ended.stderr.splitlines()
    assert all(json.loads(each)["level"] in {"info", "warning"} for each in log), log
    assert line.startswith(f"{code}: "), line
    return line


def test_a_second_service_on_the_same_database_is_refused_and_the_first_goes_on(site):
    site.start()
    refuses_to_start(site, 3, "DATABASE_IN_USE")
    assert site.call("prepare", "one").exit == 0


@pytest.mark.parametrize("content", [b"", b"no database " * 1000, "newer", "older program"])
def test_a_database_that_is_none_of_ours_is_refused(site, content):
    path = site.state / "rackwright.db"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE alembic_version SET version_num = 'r9999'")
            connection.commit()
    if content == b"":  # a new one: it belongs to no marker, so it is held
        site.start()
        assert site.call("create", "one").code == "SERVICE_HELD"
    else:
        refuses_to_start(site, 4, "DATABASE_FAILED")


def test_a_configuration_with_problems_names_all_of_them(site):
    text = site.config.read_text()
    site.config.write_text(text.replace("[times]", "[times]\nsoon = 1\nreserve_for_s = 'long'"))
    line = refuses_to_start(site, 64, "CONFIG_INVALID")
    assert "times.soon" in line
    assert "times.reserve_for_s" in line


# --- an old memory ------------------------------------------------------------------------------
def remembered(site):
    """All but readings: a held service still looks."""
    parts = ("name, state, epoch, dirty, reason FROM server", "* FROM operation",
             "* FROM allocation", "* FROM tombstone")  # fmt: skip
    return [site.rows(f"SELECT {part}") for part in parts]


def assert_held(site, *, known):
    """It answers, and does nothing: no verb, no operator, no loop touches a machine."""
    since = len(site.rack.log.acts())
    before = remembered(site)
    for verb, instance in zip(VERBS, itertools.cycle((known, "new")), strict=False):
        answer = site.call(verb, instance)
        assert (answer.exit, answer.code) == (1, "SERVICE_HELD")
        assert answer.seconds < 2
    for instance in (known, "new"):
        assert site.call("status", instance).power == "PowerUnknown"
    ended = site.command("server", "provide", "s2")
    assert ended.returncode in {3, 4}
    assert "SERVICE_HELD" in ended.stderr
    assert site.client.ask("GET", "/v1/servers")["servers"]
    assert site.rack.log.acts()[since:] == []
    assert remembered(site) == before


def test_an_old_database_that_was_restored_is_held(site):
    old = site.folder / "old"
    shutil.copytree(site.state, old)
    site.start()
    assert site.call("create", "one").exit == 0
    site.stop()
    for name in ("rackwright.db", "rackwright.db-wal", "rackwright.db-shm"):
        (site.state / name).unlink(missing_ok=True)
    shutil.copy(old / "rackwright.db", site.state)
    site.start()
    # by this memory s1 is free; a tenant runs on it
    assert site.states() == {"s1": "AVAILABLE", "s2": "AVAILABLE"}
    assert_held(site, known="one")
    time.sleep(2.5)  # more than two rounds of the power loop
    assert site.rack["s1"].is_on()
    site.stop()


MARKERS = {
    "of another database": b'{"version": 1, "database": "x", "generation": 0}',
    "cut off": b'{"version": 1, "data',
    "not there": None,
}


@pytest.mark.parametrize("marker", MARKERS)
def test_a_marker_that_does_not_fit_is_held(site, marker):
    path, content = site.state / "marker", MARKERS[marker]
    path.unlink() if content is None else path.write_bytes(content)
    site.start()
    assert_held(site, known="one")
    assert (path.read_bytes() if path.exists() else None) == content


def test_a_marker_left_behind_by_a_crash_after_a_commit_follows(site):
    """The database is ahead: that is no old memory."""
    site.start()
    old = (site.state / "marker").read_bytes()
    assert site.call("prepare", "one").exit == 0
    assert (site.state / "marker").read_bytes() != old
    site.kill()
    (site.state / "marker").write_bytes(old)
    site.start()
    assert site.call("prepare", "two").exit == 0
    assert set(site.states().values()) == {"RESERVED"}


# --- nobody there ------------------------------------------------------------------------------
def test_while_the_service_is_down_status_is_unknown_and_the_others_wait(site, callers):
    site.start()
    assert site.call("prepare", "one").exit == 0
    site.kill()
    down = site.call("status", "one")
    assert (down.exit, down.power) == (0, "PowerUnknown")
    assert down.seconds < 1
    late = site.call("delete", "one", wait=3)
    assert (late.exit, late.code) == (1, "SERVICE_DOWN")
    assert 2 < late.seconds < 3
    waiting = callers.submit(site.call, "delete", "one")
    time.sleep(0.5)
    site.start()
    assert waiting.result().exit == 0
    assert site.states()["s1"] == "AVAILABLE"
    assert site.call("prepare", "one").code == "INSTANCE_DELETED"


def test_a_service_that_has_lost_a_part_of_itself_ends_as_a_whole(site):
    """Half a service would answer for ever from what it knew last; systemd starts a whole one."""
    site.start()
    with closing(sqlite3.connect(site.state / "rackwright.db")) as other:
        other.execute("ALTER TABLE reading RENAME TO gone")
        assert site.process.wait(30) == 1
        assert not site.is_up()
        other.execute("ALTER TABLE gone RENAME TO reading")
    (site.folder / "log").unlink()  # it says why, with a traceback
    site.start()
    assert site.call("prepare", "one").exit == 0
