"""`rackwright cloudstack plan` for 1,000 servers in 20 pools: how long it takes by itself.

Its own time is that of the process from start to end, less what it waited for the answers of
CloudStack's API, as a relay before the API server notes it: starting Python, asking our service,
reading the answers, planning and printing all count. Service and database are real, and so is the
API server, which we ship.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.registration.actions import ACTIONS
from provisioner.adapters.clock import SystemClock
from provisioner.secret import Secret
from provisioner.testing import store
from tests.bench.figure import Run, beside
from tests.bench.relay import Relay
from tests.service.faults.site import Site

POOLS = [f"p{number:02}" for number in range(20)]
SERVERS_OF_POOL = 50
ROUNDS = 5
MOST_S = 5.0
CHANGES = 2
"""A plan's exit status where something is to be done."""
PATH_CHECK_S = 1.0
"""CloudStack's own is 300 s; a host may be added after one of them."""
IMAGES = ("debian-12", "debian-13", "ubuntu-22.04", "ubuntu-24.04", "rocky-9")
SYSTEM = "Debian GNU/Linux 12 (64-bit)"
PEER = "cs alone, the same calls"
FILE_NAME, KEY_NAME, CALLS_NAME = "cloudstack.yaml", "admin.key", "calls.json"
SAME_CALLS = Path(__file__).with_name("same_calls.py")


def figures():
    """Two figures; some two minutes, most of them until all servers are there."""
    with ExitStack() as stack:
        desk = stack.enter_context(_desk())
        first = desk.measured(CHANGES, "to make; 0 as they should be")
        desk.must_end(0, "Done: ", "apply")
        second = desk.measured(0, "No changes: ")
    return [_shown("nothing registered yet", *first), _shown("all registered", *second)]


def _shown(what, ours, theirs):
    return beside(
        f"cloudstack plan, {len(POOLS) * SERVERS_OF_POOL} servers in {len(POOLS)} pools, {what}",
        "s of its own",
        ours,
        PEER,
        theirs,
        limit=f"each <= {MOST_S:g} s",
        holds=max(ours.values) <= MOST_S,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """An administrator's: registration file, key, and the command.

    Attributes:
        site: Has the service.
        api: CloudStack's API server; `relay` is before it.
        folder: For files.
    """

    site: object
    api: object
    relay: Relay
    folder: Path

    def measured(self, status, says):
        """Our plan, and its calls by `cs` alone, in turn; the first pair is not counted."""
        ours, theirs = [], []
        for _ in range(1 + ROUNDS):
            before = len(self.api.calls.all())
            ours.append(self.must_end(status, says, "plan"))
            calls = [(each.command, dict(each.parameters)) for each in self.api.calls.all()]
            (self.folder / CALLS_NAME).write_text(json.dumps(calls[before:]))
            theirs.append(self._own_seconds(self._peer(), 0, ""))
        return (
            Run(command=" ".join(self._argv("plan")), values=ours[1:]),
            Run(command=" ".join(self._peer()), values=theirs[1:]),
        )

    def must_end(self, status, says, verb):
        """Seconds of its own that a command takes which ends like this."""
        return self._own_seconds(self._argv(verb), status, says)

    def _own_seconds(self, argv, status, says):
        self.relay.waiting.waited_s, began = 0.0, time.monotonic()
        ended = subprocess.run(
            argv, env=self.site.environ(), capture_output=True, text=True, check=False, timeout=300
        )
        passed = time.monotonic() - began
        assert (ended.returncode, says in ended.stdout) == (status, True), ended
        return passed - self.relay.waiting.waited_s

    def _argv(self, verb):
        files = [str(self.folder / FILE_NAME), "--api-key-file", str(self.folder / KEY_NAME)]
        command = [sys.executable, "-m", "cloudstack_ext.main", "cloudstack", verb]
        return [*command, *files, "--config", str(self.site.config)]

    def _peer(self):
        files = [str(self.folder / KEY_NAME), str(self.folder / CALLS_NAME)]
        return [sys.executable, str(SAME_CALLS), self.endpoint, *files]

    @property
    def endpoint(self):
        """Of the relay."""
        there = urlsplit(self.api.endpoint)
        return there._replace(netloc=f"127.0.0.1:{self.relay.port}").geturl()

    def write_files(self):
        """What an administrator writes."""
        pools = [{"host": name, "tag": name, "pool": name} for name in POOLS]
        images = [{"template": name, "image": name, "os": SYSTEM} for name in IMAGES]
        shape = {"cpu": 224, "mhz": 2100, "memory_mib": 2097152, "gpucount": 8}
        wanted = {
            "version": 1,
            "site": "lab",
            "endpoint": self.endpoint,
            "zone": "zone1",
            "pod": "pod1",
            "cluster": {"name": "metal"},
            "pools": pools,
            "images": images,
            "sizes": [{"name": f"bm.{name}", "pool": name, **shape} for name in POOLS],
            "actions": [
                {"name": name, "roles": ["Admin" if action.admin_only else "User"]}
                for name, action in ACTIONS.items()
            ],
        }
        (self.folder / FILE_NAME).write_text(json.dumps(wanted))
        key, secret = self.api.key.key, self.api.key.secret.reveal()
        (self.folder / KEY_NAME).touch(mode=0o600)
        (self.folder / KEY_NAME).write_text(f"key = {key}\nsecret = {secret}\n")


@contextmanager
def _desk():
    """Everything runs: service with servers and pools, relay, API server with nothing in it."""
    folder = Path(tempfile.mkdtemp(prefix="rwb-"))
    site = Site(folder, [])
    try:
        site.init()
        _enrol_all(site)
        site.start()
        site.add_pools(*POOLS, images=dict.fromkeys(IMAGES, "tiny"))
        with ApiServer(ServerSettings(path_check_s=PATH_CHECK_S)) as api:
            there = urlsplit(api.endpoint)
            with Relay(there.hostname, there.port) as relay:
                desk = Desk(site=site, api=api, relay=relay, folder=folder)
                desk.write_files()
                yield desk
    finally:
        site.close()
        shutil.rmtree(folder)


def _enrol_all(site):
    """By the store itself, with the facts of their hardware; nobody has verified them yet."""
    database = store.open_store(site.state, SystemClock())
    try:
        for pool in POOLS:
            for number in range(SERVERS_OF_POOL):
                server = store.new_server(f"{pool}-{number:02}", pool=pool)
                facts = store.inventory(str(uuid.uuid4()), server.nics[0].mac, gpus=8)
                password = Secret(f"password of {server.name}")
                database.servers.enrol(replace(server, baseline=facts), password)
    finally:
        database.close()
