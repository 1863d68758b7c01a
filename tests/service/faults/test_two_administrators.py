"""Two administrators who register at the same moment, as real processes, and one that is killed."""

import signal
import sqlite3
import subprocess
import time
from collections import Counter
from contextlib import closing

import pytest

from cloudstack_ext.api_server.faults import Fault, FaultKind, When
from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.lab.registration import FILE

pytestmark = pytest.mark.emulated

MADE = Counter(extension=1, cluster=1, host=1, template=2, offering=1)
PAST_S = 600.0


class Administrators:
    """They share one site, one CloudStack and one file."""

    def __init__(self, site, server, folder):
        self.site, self.server, self.running = site, server, []
        self.file, key = folder / "cloudstack.yaml", folder / "admin.key"
        self.file.write_text(FILE.format(endpoint=server.endpoint))
        key.touch(mode=0o600)
        key.write_text(f"key = {server.key.key}\nsecret = {server.key.secret.reveal()}\n")
        socket = ("--socket", str(site.folder / "operators.sock"))
        self.words = (str(self.file), "--api-key-file", str(key), *socket)

    def begin(self, word="apply"):
        """One of them, as a process of its own."""
        made = subprocess.Popen(
            self.site.argv("cloudstack", word, *self.words),
            env=self.site.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.running.append(made)
        return made

    def end(self, process):
        """Exit status and what it said on stderr, line by line."""
        _, said = process.communicate(timeout=180)
        return process.returncode, said.splitlines()

    def until_made(self, kind, process):
        """The first of its kind is there; whoever asked for it has no answer yet."""
        end = time.monotonic() + 180
        while not self.counted()[kind]:
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.05)

    def let_time_pass(self):
        """What waiting would do: everything that our database remembers is older by then."""
        with closing(sqlite3.connect(self.site.state / "rackwright.db", timeout=20)) as database:
            for row in ("registered SET at = at", "registration_lease SET until = until"):
                database.execute(f"UPDATE {row} - {PAST_S}")
            database.commit()

    def counted(self):
        state = self.server.state
        with state.lock:
            return Counter(
                extension=len(state.extensions),
                cluster=len(state.clusters),
                host=len(state.hosts),
                template=sum(not each.removed for each in state.templates.values()),
                offering=sum(not each.removed for each in state.offerings.values()),
            )


@pytest.fixture
def both(site, tmp_path):
    site.start()
    with ApiServer(ServerSettings(path_check_s=1.0)) as server:
        made = Administrators(site, server, tmp_path)
        try:
            yield made
        finally:
            for each in made.running:
                each.kill()
                each.communicate()


def test_the_second_reads_who_applies_and_a_killed_ones_turn_ends_by_itself(both):
    silent = Fault(kind=FaultKind.SILENT, when=When.AFTER, command="registerTemplate")
    both.server.faults.add(silent)
    first = both.begin()
    both.until_made("template", first)

    for word in ("apply", "unregister"):
        status, said = both.end(both.begin(word))
        assert status == 75
        assert len(said) == 1
        assert said[0].startswith("REGISTRATION_BUSY: site lab: operator lab (uid ")
        assert f"(register cloudstack.yaml, process {first.pid} on " in said[0]
        assert (
            "; ask again when that has ended; if it was killed, its turn ends by itself" in said[0]
        )
    left = both.counted()

    first.send_signal(signal.SIGKILL)
    assert first.wait(10) == -signal.SIGKILL
    status, said = both.end(both.begin())
    assert status == 75
    seconds = int(said[0].rpartition(" in ")[2].removesuffix(" s"))
    assert 0 < seconds <= 190
    assert both.counted() == left

    both.let_time_pass()
    status, said = both.end(both.begin())
    assert status == 0, said
    assert both.counted() == MADE
    # what the killed one had asked for was found by its mark
    made = Counter(each.command for each in both.server.calls.all())
    assert made["registerTemplate"] == 2
    status, said = both.end(both.begin("plan"))
    assert status == 0, said


def test_of_two_who_begin_at_the_same_moment_nothing_is_made_twice(both):
    ended = [both.end(each) for each in [both.begin() for _ in range(3)]]
    statuses = [status for status, _ in ended]
    assert 0 in statuses
    for status, said in ended:
        assert status == 0 or (status == 75 and said[-1].startswith("REGISTRATION_BUSY")), said
    assert both.counted() == MADE
    made = Counter(each.command for each in both.server.calls.all())
    assert (made["createExtension"], made["addHost"], made["registerTemplate"]) == (1, 1, 2)
    status, said = both.end(both.begin("unregister"))
    assert status == 0, said
    assert not +both.counted()
    assert both.site.rows("SELECT count(*) FROM registration_lease") == [(0,)]
