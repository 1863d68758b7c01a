"""One site on fakes: a configured service, a rack outside of it, a management server."""

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.by_hand import ByHand
from provisioner.cli.service_client import ServiceClient
from provisioner.ramdisk.record import RamdiskRecord
from tests.service.entry.rig import ENTRY, HTTPS, SOCKET, code_of, one_object
from tests.service.faults.rack import Rack

PROGRAM = Path(__file__).with_name("serve_on_fakes.py")
ROOT = PROGRAM.parents[3]
IMAGES = {"ubuntu-24.04-cuda": "tiny", "tiny": "tiny"}
HTTPS_PORT = 8445
POOL_OF_FAULTS = "faults"
"""Of machines whose names begin with f; all others are in pool a."""
WAIT = 120
"""Seconds that the management server gives, where a test does not say."""
FURNISHED_AT_ONCE = 7
"""More of them starve each other on a busy computer."""
QUICK = {
    "power_read_s": 1.0,
    "power_read_moving_s": 0.5,
    "agent_call_in_s": 60.0,
    "proof_of_life_s": 30.0,
    "proof_settle_s": 3.0,
    "wipe_off_s": 0.2,
    "soft_off_s": 2.0,
}


def address():
    """Of this process alone, so that no two runs meet; all of 127/8 is ours."""
    return f"127.{1 + os.getpid() // 256 % 199}.{os.getpid() % 256}.1"


class Site:
    """A folder with everything; the service is started, killed and started again.

    Args:
        folder: Short, since sockets lie in it; a copied template keeps its database and keys.
        names: Of the rack's machines.
        times: Differing from QUICK.

    Attributes:
        host: Label of the CloudStack host in payloads of `call`, as a registration gives it; None
            leaves it out, as in the recordings.
    """

    def __init__(self, folder, names, **times):
        self.folder, self.state, self.names = folder, folder / "state", tuple(names)
        self.host = None
        self.blobs = folder / "blobs"
        for each in (self.state, self.blobs / "ramdisk", self.blobs / "images/tiny"):
            each.mkdir(parents=True, exist_ok=True)
        self.config = folder / "rackwright.toml"
        self.entry_config, self.way = folder / "entry.conf", SOCKET
        self.configure(**times)
        (self.blobs / "ramdisk/ramdisk.json").write_text(RAMDISK.to_text())
        for name in ("ramdisk/vmlinuz", "ramdisk/initrd.img"):
            (self.blobs / name).touch()
        for name in ("blocks.json", "image.raw"):
            (self.blobs / "images/tiny" / name).touch()
        self.process = None
        self.rack = Rack(
            folder / "rack.sock",
            names,
            authority=self.state / "ca.pem",
            boot_url=f"http://{address()}:8080",
        )
        self.management = ByHand(
            entry=["/usr/bin/env", f"RACKWRIGHT_ENTRY_CONFIG={self.entry_config}", str(ENTRY)],
            folder=folder / "payloads",
        )
        self.client = ServiceClient(folder / "operators.sock")

    # --- the service ----------------------------------------------------------------------------
    def configure(self, **times):
        lines = "".join(f"{key} = {value}\n" for key, value in (QUICK | times).items())
        self.config.write_text(
            f"""version = 1
[service]
state_dir = "{self.state}"
[extension]
socket = "{self.folder}/extension.sock"
https = {{ address = "{address()}", port = {HTTPS_PORT} }}
sites = [{{ name = "lab", uids = [{os.getuid()}] }}]
[operators]
socket = "{self.folder}/operators.sock"
uids = [{{ uid = {os.getuid()}, name = "lab", role = "admin" }}]
[provisioning]
address = "{address()}"
network = "127.0.0.0/8"
range = ["127.250.0.1", "127.250.0.9"]
blobs_url = "http://{address()}:8081/blobs"
blobs_dir = "{self.blobs}"
[boot]
hosts_dir = "{self.folder}/hosts"
dnsmasq_log = "{self.folder}/dnsmasq.log"
tftp_dir = "{self.folder}/tftp"
interface = "lo"
[ports]
adapter = "rack"
namespace = "fakes"
[times]
{lines}"""
        )
        self.by(self.way)

    def by(self, way):
        """The entry's way to the service: SOCKET or HTTPS."""
        self.way, issued = way, self.state / "entry"
        text = f"socket = {self.folder}/extension.sock\n"
        if way == HTTPS:
            text = (issued / "entry.conf").read_text().replace("/etc/rackwright", str(issued))
        self.entry_config.touch(mode=0o600)
        self.entry_config.write_text(text)

    def argv(self, *words):
        return [sys.executable, str(PROGRAM), *words, "--config", str(self.config)]

    def environ(self):
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            # it starts often: what is compiled is kept, outside of the sources
            "PYTHONPYCACHEPREFIX": str(Path.home() / ".cache/rackwright/pycache"),
            "PYTHONDONTWRITEBYTECODE": "",
            "FAKE_RACK": str(self.folder / "rack.sock"),
        }

    def command(self, *words):
        """A `rackwright` command to its end."""
        return subprocess.run(
            self.argv(*words),
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def start(self, *, limit=180.0):
        """Return when it answers; the seconds that took."""
        began = time.monotonic()
        self.spawn()
        while not self.is_up():
            assert self.process.poll() is None, self.log()[-4000:]
            assert time.monotonic() - began < limit, self.log()[-4000:]
            time.sleep(0.02)
        return time.monotonic() - began

    def spawn(self):
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self.argv("serve"),
                env=self.environ(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def is_up(self):
        """Its listeners are made one after the other, this one last."""
        with socket.socket() as probe:
            return probe.connect_ex((address(), 8080)) == 0

    def kill(self):
        """As a crash does it: the whole group, at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        assert self.process.wait(10) == -signal.SIGKILL

    def stop(self):
        self.process.terminate()
        assert self.process.wait(20) == 0, self.log()[-4000:]

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.rack.stop()

    def log(self):
        path = self.folder / "log"
        return path.read_text() if path.exists() else ""

    def assert_no_traceback(self):
        """What went wrong was expected: one line in the log, no defect of ours."""
        found = [line for line in self.log().splitlines() if "Traceback" in line]
        assert not found, found[0].replace("\\n", "\n")[:4000]

    # --- the management server ------------------------------------------------------------------
    def call(self, verb, instance, *, wait=WAIT, **differs):
        """One verb for one instance, as a management server calls."""
        payload = lab_payload(Verb(verb), instance_of(instance, **differs))
        return self.send(verb, payload if self.host is None else at(self.host, payload), wait)

    def send(self, verb, payload, wait=WAIT):
        return Answered(self.management.call(verb, payload, wait))

    def without_file(self, verb, path, wait="60"):
        """The entry with this path and wait, whatever they are."""
        return Answered(
            self.management.point().door.run([*self.management.entry, verb, path, wait], 60)
        )

    # --- what is remembered ---------------------------------------------------------------------
    def rows(self, query, *values):
        with closing(sqlite3.connect(self.state / "rackwright.db", timeout=20)) as connection:
            return connection.execute(query, values).fetchall()

    def states(self):
        return dict(self.rows("SELECT name, state FROM server"))

    @property
    def image_files(self):
        """Where the one image lies: at the template that this site was copied from."""
        ((folder,),) = self.rows("SELECT folder FROM image")
        return Path(folder)

    def until_state(self, server, state, limit=60.0):
        self.until(lambda: self.states()[server] == state, f"{server} {state}", limit)

    def until(self, condition, what, limit=60.0):
        end = time.monotonic() + limit
        while not condition():
            assert time.monotonic() < end, self.story(what)
            time.sleep(0.1)

    def story(self, what=""):
        operations = self.rows("SELECT kind, status, server, code, brief, detail FROM operation")
        parts = [what, str(self.states()), *map(str, operations[-6:]), *self.rack.log.acts()[-30:]]
        return "\n".join([*parts, self.log()[-3000:]])

    # --- making one -----------------------------------------------------------------------------
    def furnish(self, names=None):
        """Keys, database, pool; machines enrolled, inspected and wiped: the whole walk.

        Args:
            names: Of these machines; None: of all.
        """
        self.init()
        self.start()
        self.add_pools("a", POOL_OF_FAULTS)
        left = list(self.names if names is None else names)
        while left:
            for name in left[:FURNISHED_AT_ONCE]:
                self.enrol(name)
            del left[:FURNISHED_AT_ONCE]
            while set(self.states().values()) != {"AVAILABLE"}:
                assert "QUARANTINED" not in self.states().values(), self.story()
                assert self.process.poll() is None, self.log()[-4000:]
                time.sleep(0.2)
        self.stop()

    def init(self):
        """Keys and database."""
        for words in ((), ("entry", "lab", "--site", "lab", "--out", str(self.state / "entry"))):
            ended = self.command("init", *words)
            assert ended.returncode == 0, ended.stderr

    def add_pools(self, *names, images=IMAGES):
        """Each with this map of images, of which there is only one."""
        image = {
            "root": "ab" * 32,
            "image_bytes": 2**30,
            "data_bytes": 2**20,
            "block_bytes": 4 * 2**20,
            "logical_sector_bytes": 512,
            "source_format": "raw",
            "imported_at": 1.0,
            "folder": str(self.blobs / "images/tiny"),
        }
        self.client.ask("PUT", "/v1/images/tiny", image)
        for name in names:
            self.client.ask("PUT", f"/v1/pools/{name}", {"images": images})

    def enrol(self, name):
        """Its verification goes on after the answer."""
        machine = self.rack[name]
        body = {"server": machine.entry(), "password": machine.board.password}
        self.client.ask("POST", "/v1/servers", body)


class Answered:
    """One answer as the management server reads it: exactly one object on one line."""

    def __init__(self, called):
        self.called, self.exit, self.seconds = called, called.exit, called.seconds
        self.body = one_object(called.output.encode())

    @property
    def code(self):
        return code_of(self.body) if self.exit else ""

    @property
    def text(self):
        return self.body.get("error") or self.body.get("message") or ""

    @property
    def power(self):
        return self.body.get("power_state")


def at(host, payload):
    """The same payload, sent for the host of this label."""
    body = json.loads(payload)
    body["externaldetails"]["host"]["host"] = host
    return json.dumps(body).encode()


def copy_of(template, folder):
    """State and blobs of a furnished site in a new folder; its image lies where it lay."""
    shutil.copytree(template / "state", folder / "state", dirs_exist_ok=True)
    return folder


RAMDISK = RamdiskRecord(
    digest="d" * 64,
    lock_digest="e" * 64,
    kernel_version="6.1",
    kernel_sha256="a" * 64,
    kernel_bytes=1,
    initrd_sha256="b" * 64,
    initrd_bytes=1,
    unpacked_bytes=1,
    modules=1,
    added=(),
)
