"""One server, one CloudStack that knows it by a registration, one tenant: a story, told once."""

import json
import time
from functools import partial

import pytest
from cs import CloudStack

from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.lab.site import LabSite
from cloudstack_ext.lab.tenant import Tenant, make_key
from provisioner.lab.layout import Layout
from provisioner.lab.namespaces import inside
from provisioner.lab.rack import Rack
from provisioner.lab.serial_log import SerialLog
from tests.rack.cloudstack_job.metal import Metal
from tests.rack.main_job.layout import SERVERS
from tests.rack.main_job.service import Service

STORY = "test_cloudstack_job.py"
TIMES = {"proof_settle_s": 45, "wipe_off_s": 5, "reconcile_every_s": 5}
FILE = """\
version: 1
site: lab
endpoint: {endpoint}
zone: zone1
pod: pod1
cluster: {{name: lab-metal}}
pools:
  - {{host: a, tag: lab-a, pool: a}}
images:
  - {{template: Tiny, image: tiny, os: Debian GNU/Linux 12 (64-bit), public: true}}
  - {{template: Ubuntu, image: ubuntu-24.04-cuda, os: Ubuntu 24.04 LTS, public: true}}
sizes:
  - {{name: bm.lab, pool: a, cpu: 2, mhz: 2000, memory_mib: 1024}}
actions:
{actions}"""
ACTIONS = ("reinstall", "reseed", "rescue", "power-cycle", "console-log", "hardware-inventory",
           "health-check", "why", "progress", "certificate")  # fmt: skip


class Story:
    """What there is, and whether it came to a bad end.

    The API server listens in the rack's network, where the service asks it; whoever else asks it
    goes there.
    """

    def __init__(self, site):
        self.site, self.rack, self.broken = site, site.rack, ""
        self.folder = site.rack.paths.state / "cloudstack"
        self.folder.mkdir(parents=True, exist_ok=True)
        self.service = Service(site)
        self.metal = Metal(site, self.folder / "payloads")
        self.cloud = ApiServer(ServerSettings(path_check_s=1.0), extension=self.metal)
        self.key = make_key(self.folder, "alice")

    def there(self, work, *words, **more):
        return inside(self.rack.layout.rack, partial(work, *words, **more))

    def start_cloud(self):
        self.there(self.cloud.start)
        admin, self.file = self.cloud.key, self.folder / "site.yaml"
        lines = "".join(f"  - {{name: {name}, roles: [User], enabled: true}}\n" for name in ACTIONS)
        self.file.write_text(FILE.format(endpoint=self.cloud.endpoint, actions=lines))
        self.admin_key = self.folder / "admin.key"
        self.admin_key.touch(mode=0o600)
        self.admin_key.write_text(f"key = {admin.key}\nsecret = {admin.secret.reveal()}\n")

    def cloudstack(self, verb):
        words = ("cloudstack", verb, str(self.file), "--api-key-file", str(self.admin_key))
        return self.there(self.site.ask, *words)

    def api(self, command, user="alice", **parameters):
        """One call of a user's; a job is waited for."""
        key = self.cloud.keys[user]
        client = CloudStack(
            self.cloud.endpoint, key=key.key, secret=key.secret.reveal(), method="post",
            timeout=60, poll_interval=0.5,
        )  # fmt: skip
        return self.there(getattr(client, command), **parameters)

    def action(self, name, **parameters):
        """What the user interface shows: rows, or the refusal's text."""
        listed = self.api("listCustomActions", "admin", name=name)["extensioncustomaction"]
        given = {"parameters": [parameters]} if parameters else {}
        answer = self.api(
            "runCustomAction", customactionid=listed[0]["id"], resourceid=self.instance.uuid,
            resourcetype="VirtualMachine", fetch_result=True, **given,
        )["customactionresult"]  # fmt: skip
        details = answer["result"]["details"]
        return json.loads(details)["message"] if answer["success"] else details

    def items(self, name, **parameters):
        rows = self.action(name, **parameters)
        assert isinstance(rows, list), rows
        return {row["item"]: row["value"] for row in rows}

    def ended(self, within_s=900):
        """The newest operation's end, as the tenant sees it."""
        until = time.monotonic() + within_s
        while (found := self.items("progress"))["state"] == "goes on":
            assert time.monotonic() < until, found
            time.sleep(2)
        return found

    @property
    def instance(self):
        return self.metal.instance

    @property
    def tenant(self):
        return Tenant(layout=self.rack.layout, instance=self.instance, key=self.key)

    @property
    def console(self):
        (server,) = self.rack.layout.servers
        return SerialLog(self.rack.paths.serial_log(server))

    def kept(self):
        """CloudStack's record of the instance; under the lock while it is changed."""
        return self.cloud.state.instances[self.instance.uuid]


@pytest.fixture(scope="package")
def story(empty_rack):
    """Nothing runs at its beginning, and at its end the rack is as other tests expect it."""
    empty_rack.forget()
    layout = Layout(prefix=empty_rack.layout.prefix, servers=SERVERS[:1])
    rack = Rack(layout, empty_rack.paths)
    told = Story(LabSite(rack=rack, say=print, times=TIMES))
    yield told
    told.cloud.stop()
    rack.forget()
    empty_rack.up()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and item.path.name == STORY and "story" in item.funcargs:
        story = item.funcargs["story"]
        story.broken = story.broken or item.name
    return report
