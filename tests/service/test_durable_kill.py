"""A real process, killed from outside when the world shows a certain line, and started again."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from provisioner.adapters.clock import SystemClock
from provisioner.testing import store

PROGRAM = Path(__file__).with_name("durable_process.py")
ROOT = PROGRAM.parents[2]
DEPLOY = ["off", "network", "on", "agent", "image", "proof"]
ACTS = [step for step in DEPLOY if step != "agent"]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """Pool a with free servers s1 and s2."""
    folder = tmp_path_factory.mktemp("template")
    database = store.open_store(folder, SystemClock())
    database.catalogue.put_pool(store.pool("a"))
    for name in ("s1", "s2"):
        store.make_available(database, name)
    database.close()
    return folder


class Service:
    """The process and the world it acts on."""

    def __init__(self, folder):
        self.folder = folder
        self.process = None

    def start(self, number="1"):
        (self.folder / "ready").unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(self.folder), number],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def kill(self):
        self.process.kill()
        assert self.process.wait(10) == -signal.SIGKILL, self.log()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(10) == 0, self.log()

    def ask(self, name, what):
        (self.folder / f"{name}.{what}").touch()

    def log(self):
        return (self.folder / "log").read_text()

    def world(self):
        path = self.folder / "world"
        return path.read_text().splitlines() if path.exists() else []

    def until(self, condition, what):
        end = time.monotonic() + 20
        while not condition():
            assert self.process.poll() is None, self.log()
            assert time.monotonic() < end, f"{what}\n{self.world()}\n{self.log()}"
            time.sleep(0.01)

    def until_line(self, line, since=0):
        self.until(lambda: line in self.world()[since:], line)

    def rows(self, query):
        connection = sqlite3.connect(self.folder / "rackwright.db", timeout=20)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()


@pytest.fixture
def service(template, tmp_path):
    found = Service(shutil.copytree(template, tmp_path / "state"))
    yield found
    if found.process is not None and found.process.poll() is None:
        found.process.kill()
        found.process.wait(10)


MOMENTS = [
    "s1 handed over",  # row and hand-over written, not committed
    "i1 create committed",
    "i1 off done",  # acted, not recorded
    "i1 network recorded",  # recorded, the engine knows nothing of it yet
    "i1 agent recorded",
    "i1 image begins",
    "i1 image done",
    "i1 proof recorded",  # all done, the operation not yet closed
]


GOING_ON = "SELECT count(*) FROM workflow_status WHERE status <> 'SUCCESS'"


def assert_no_more_than_words(service):
    """The engine's tables hold ids, names of steps and "done"; nothing is pickled."""
    inputs = [json.loads(row[0]) for row in service.rows("SELECT inputs FROM workflow_input")]
    mine = service.rows("SELECT id FROM operation WHERE allocation IS NOT NULL")
    assert sorted(each["positionalArgs"] for each in inputs) == sorted([each] for (each,) in mine)
    outputs = service.rows("SELECT output, error FROM operation_outputs")
    known = ["done", DEPLOY, ["fence", "wipe"]]
    assert all(json.loads(output) in known and error is None for output, error in outputs)


def test_killed_again_and_again_it_does_each_act_in_order_and_none_twice(service):
    service.ask("i1", "create")
    service.ask("i1", "agent")
    for moment in MOMENTS:
        since = len(service.world())
        service.start()
        service.until_line(moment, since)
        service.kill()
    service.start()
    service.until_line("i1 deploy closed")
    service.ask("i1", "delete")
    service.until_line("i1 wipe begins")
    service.kill()
    service.start("forget")
    service.until_line("i1 release closed")
    service.until(lambda: service.rows(GOING_ON) == [(0,)], "the engine has ended both")
    assert_no_more_than_words(service)
    service.stop()

    done = [line for line in service.world() if line.endswith(" done")]
    wanted = [f"i1 {step} done" for step in [*ACTS, "fence", "wipe"]]
    assert list(dict.fromkeys(done)) == wanted
    twice = {line for line in done if done.count(line) > 1}
    assert twice <= {"i1 off done"}  # killed between act and record, and safe to repeat
    mine = "SELECT kind, status FROM operation WHERE allocation IS NOT NULL"
    assert service.rows(mine) == [("deploy", "done"), ("release", "done")]
    assert service.rows("SELECT state, dirty FROM server WHERE name = 's1'") == [("AVAILABLE", 0)]
    assert service.rows("SELECT count(*) FROM evidence WHERE server = 's1'") == [(2,)]
    assert service.rows("SELECT count(*) FROM workflow_status") == [(0,)]
    assert (service.folder / "stopped").read_text() == "2"


def test_a_stopped_service_goes_on_with_what_waited_and_closes_what_the_engine_lost(service):
    for name in ("i1", "i2"):
        service.ask(name, "create")
    service.start("1")
    for name in ("i1", "i2"):
        service.until_line(f"{name} on recorded")
    service.stop()  # both wait for their agent
    assert service.rows("SELECT status FROM operation WHERE kind = 'deploy'") == [("open",)] * 2
    forget_workflow_of(service, "i2")
    service.ask("i1", "agent")
    service.start("2")  # a release whose deployments have another list of steps

    service.until_line("i2 shut done")  # quarantined: off, its port shut
    service.until_line("i1 deploy closed")
    assert "i1 identity done" not in service.world()
    ended = "SELECT who, status, code FROM operation WHERE kind = 'deploy' ORDER BY who"
    assert service.rows(ended) == [("i1", "done", None), ("i2", "failed", "OPERATION_LOST")]
    assert service.rows("SELECT name, state, dirty FROM server ORDER BY name") == [
        ("s1", "ACTIVE", 1),
        ("s2", "QUARANTINED", 1),
    ]
    service.ask("i1", "delete")
    service.until_line("i1 release closed")
    service.ask("i3", "create")
    service.until_line("i3 on recorded")
    assert "i3 identity done" in service.world()

    service.ask("i3", "delete")  # while its deployment waits: superseded, and released
    service.until_line("i3 release closed")
    service.stop()
    assert "i3 image begins" not in service.world()
    query = "SELECT kind, status FROM operation WHERE who = 'i3' ORDER BY number"
    assert service.rows(query) == [("deploy", "superseded"), ("release", "done")]
    assert service.rows("SELECT state FROM server WHERE name = 's1'") == [("AVAILABLE",)]


def forget_workflow_of(service, who):
    """As a restored copy has it: our row is there, the engine's is not."""
    connection = sqlite3.connect(service.folder / "rackwright.db", timeout=20)
    mine = f"(SELECT id FROM operation WHERE who = '{who}')"
    with connection:
        for table in ("operation_outputs", "workflow_input", "workflow_status"):
            connection.execute(f"DELETE FROM {table} WHERE workflow_uuid IN {mine}")
    connection.close()
