"""A GPU host from the command to the database: real socket, real store, real SSH."""

import asyncio
import contextlib
import json
import os
import socket
import threading
from dataclasses import replace

import pytest
from click.testing import CliRunner

from cloudstack_ext.main import callbacks
from provisioner.adapters.clock import SystemClock
from provisioner.adapters.ssh import open_shell
from provisioner.cli.group import make_cli
from provisioner.config import OperatorUid, Role
from provisioner.hosts.bundle import MOST_BYTES, read_bundle
from provisioner.operations.desk_hosts import HostBook
from provisioner.operations.host_gather import SshGather
from provisioner.service.identity import ByPeer
from provisioner.service.metrics import Metrics
from provisioner.service.operators import operator_app, operator_table
from provisioner.service.server import on_unix, serve
from provisioner.testing import store
from provisioner.testing.desk import MemoryDesk
from tests.unit.adapters.ssh_machine import fingerprint, make_keys, start
from tests.unit.hosts.built import good_host

pytestmark = pytest.mark.emulated


class Site:
    """The operators' listener with hosts in a real database, and the command that asks it."""

    def __init__(self, folder):
        clock = SystemClock()
        self.socket = folder / "s"
        self.database = store.open_store(folder, clock)
        hosts = HostBook(
            records=self.database.hosts,
            gather=SshGather(open_shell),
            audit=self.database.audit,
            clock=clock,
        )
        desk = replace(MemoryDesk(clock=clock).desk(), hosts=hosts)
        self.stopping, self.loop = asyncio.Event(), asyncio.new_event_loop()
        me = OperatorUid(uid=os.getuid(), name="me", role=Role.ADMIN)
        table = operator_table(desk, clock=clock, metrics=Metrics(), stopping=self.stopping.is_set)
        self.app = operator_app(table, ByPeer({me.uid: me}))

    def serve(self, up):
        listener = on_unix("operators", self.app, self.socket)
        with contextlib.closing(self.loop):
            self.loop.run_until_complete(serve([listener], stopping=self.stopping, started=up.set))

    def run(self, *words):
        given = ["--socket", str(self.socket), "host", *map(str, words)]
        return CliRunner().invoke(make_cli(callbacks()), given)


@pytest.fixture
def site(tmp_path):
    made, up = Site(tmp_path), threading.Event()
    thread = threading.Thread(target=made.serve, args=(up,))
    thread.start()
    assert up.wait(10)
    yield made
    made.loop.call_soon_threadsafe(made.stopping.set)
    thread.join(20)
    made.database.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    return make_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def machine(keys):
    made = start(keys)
    yield made
    made.listener.close()


def ssh(machine, keys, pinned="host"):
    where = ("--address", "127.0.0.1", "--port", machine.port, "--key-file", keys["user"])
    return (*where, "--fingerprint", fingerprint(keys[pinned]))


def test_a_host_is_enrolled_over_ssh_and_looked_at_again(site, machine, keys, tmp_path):
    added = site.run("add", "gpu1", *ssh(machine, keys), "--output", "json")
    assert added.exit_code == 0, added.output
    found = json.loads(added.output)
    assert found["facts"]["origin"]["way"] == "ssh"
    assert found["host"]["access"]["target"]["host_key"].startswith("ssh-ed25519 ")
    assert site.run("inspect", "gpu1").exit_code == 0
    assert machine.lines == ["sh -s", "sh -s"]
    for word in ("show", "findings", "topology"):
        assert site.run(word, "gpu1").exit_code == 0
    assert site.run("bundle", "gpu1", tmp_path / "h.tar.gz").exit_code == 0
    kept = read_bundle((tmp_path / "h.tar.gz").read_bytes(), source="kept")
    assert kept.sha256 != found["facts"]["origin"]["sha256"], "the second look's"


def test_a_machine_with_another_key_is_not_looked_at(site, machine, keys):
    done = site.run("add", "gpu1", *ssh(machine, keys, pinned="other"))
    assert (done.exit_code, done.output.split(":")[0]) == (4, "SSH_HOST_KEY")
    assert machine.lines == []
    site.run("add", "gpu1", *ssh(machine, keys))
    machine.host_key, seen = start(keys, host="other").host_key, len(machine.lines)
    done = site.run("inspect", "gpu1")
    assert (done.exit_code, done.output.split(":")[0]) == (4, "SSH_HOST_KEY")
    assert len(machine.lines) == seen


def test_a_host_that_is_gone_may_come_back(site, machine, keys):
    site.run("add", "gpu1", *ssh(machine, keys))
    machine.listener.shutdown(socket.SHUT_RDWR)  # what waits for a caller waits no more
    machine.listener.close()
    done = site.run("inspect", "gpu1")
    assert (done.exit_code, done.output.split(":")[0]) == (75, "SSH_UNREACHABLE")
    assert site.run("show", "gpu1").exit_code == 0


def test_a_bundle_larger_than_other_bodies_is_taken_and_a_boundless_one_is_not(site, tmp_path):
    host = good_host()
    host.commands["services"] += "".join(f"# {os.urandom(32).hex()}\n" for _ in range(40_000))
    path = tmp_path / "large.tar.gz"
    path.write_bytes(host.packed())
    assert path.stat().st_size > 1024 * 1024
    assert site.run("add", "large", "--bundle", path).exit_code == 0
    path.write_bytes(os.urandom(MOST_BYTES + 1))
    refused = site.run("add", "larger", "--bundle", path)
    assert (refused.exit_code, refused.output.split(":")[0]) == (64, "BUNDLE_INVALID")
    path.write_bytes(os.urandom(MOST_BYTES * 2))
    refused = site.run("add", "larger", "--bundle", path)
    assert (refused.exit_code, refused.output.split(":")[0]) == (64, "PAYLOAD_TOO_LARGE")
