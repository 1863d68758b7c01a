"""A zone to register in: the API server, our client, a memory, and time that passes by itself."""

import asyncio
import time
from copy import deepcopy
from dataclasses import fields, replace
from pathlib import Path

from cloudstack_ext.api_key import ApiKey
from cloudstack_ext.api_server.server import ApiServer
from cloudstack_ext.api_server.settings import ServerSettings
from cloudstack_ext.client import CloudStackClient
from cloudstack_ext.registration.apply import apply
from cloudstack_ext.registration.model import Remembered
from cloudstack_ext.registration.survey import survey
from cloudstack_ext.registration.wanted import parse_wanted
from provisioner.errors import ErrorCode, TransientError
from provisioner.testing.clock import FakeClock
from provisioner.units import WallSeconds

DATABASE = "11111111-1111-4111-8111-111111111111"
FILE = """
version: 1
site: zone1
endpoint: http://127.0.0.1:8080/client/api
zone: zone1
pod: pod1
cluster: {name: metal1}
pools:
  - {host: h200-a, tag: h200-a, pool: h200, more_tags: [gpu]}
  - {host: general-a, tag: general-a, pool: general}
actions:
  - {name: reinstall, roles: [User, DomainAdmin]}
  - {name: why}
  - {name: cordon, roles: [Admin]}
images:
  - {template: Debian 12, image: debian-12, os: Debian GNU/Linux 12 (64-bit), featured: true}
  - {template: Ubuntu, image: ubuntu, os: Ubuntu 24.04 LTS, public: false}
sizes:
  - name: bm.h200x8
    pool: h200
    cpu: 224
    mhz: 2100
    memory_mib: 2097152
    gpucount: 8
    domains: [ROOT/acme]
  - {name: bm.general, pool: general, cpu: 32, mhz: 2400, memory_mib: 262144}
"""


class MemoryRows:
    """Our database's rows, as the store keeps them."""

    def __init__(self, clock):
        self.clock, self.kept, self.last = clock, {}, 0
        self.holds, self.taken_at = 0, None

    async def rows(self):
        return tuple(self.kept.values())

    async def begin(self, kind, name, facts):
        for row in list(self.kept.values()):
            if (row.kind, row.name, row.retired) != (kind, name, False):
                continue
            if row.id is None:
                return self._put(replace(row, facts=dict(facts)))
            self._put(replace(row, retired=True))
        self.last += 1
        return self._put(Remembered(number=self.last, kind=kind, name=name, id=None, facts=facts))

    async def settle(self, number, outside_id, facts, *, retired=False):
        row = self.kept[number]
        self._put(replace(row, id=outside_id, facts=dict(facts), retired=retired))

    async def forget(self, number):
        self.kept.pop(number, None)

    async def hold(self, within=None):
        self.holds += 1
        if self.taken_at == self.holds:
            raise TransientError(ErrorCode.REGISTRATION_BUSY, "site zone1: somebody changes it")

    def _put(self, row):
        self.kept[row.number] = replace(row, at=WallSeconds(self.clock.wall()))
        return row.number


class Zone:
    """One CloudStack and one Rackwright."""

    def __init__(self, text=FILE, *, user="admin", **settings):
        self.clock = FakeClock(wall=time.time())
        self.memory = MemoryRows(self.clock)
        self.wanted = parse_wanted(text, source="f.yaml", folder=Path())
        # a check comes every minute, so that signatures are still good after two of them
        self.server = ApiServer(ServerSettings(path_check_s=60.0, **settings), now=self.clock.wall)
        self.server.state.settings["extension.path.state.check.interval"].value = "60"
        self.user, self.said = user, []

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_error):
        self.server.stop()

    def again(self):
        """Another zone with all that is there, and a memory of all that is remembered."""
        other = Zone(user=self.user)
        for each in fields(self.state):
            if each.name != "lock":
                setattr(other.state, each.name, deepcopy(getattr(self.state, each.name)))
        other.memory.kept, other.memory.last = dict(self.memory.kept), self.memory.last
        other.clock.advance(self.clock.wall() - other.clock.wall())
        return other

    @property
    def state(self):
        return self.server.state

    def want(self, *pairs, text=FILE):
        """Another file."""
        for old, new in pairs:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        self.wanted = parse_wanted(text, source="f.yaml", folder=Path())

    def client(self):
        key = self.server.keys[self.user]
        api_key = ApiKey(key=key.key, secret=key.secret)
        return CloudStackClient(self.server.endpoint, api_key, self.clock)

    def run(self, work):
        """What `work` does with the client."""
        client = self.client()
        try:
            return asyncio.run(work(client))
        finally:
            client.close()

    def survey(self):
        return self.run(self._survey)

    async def _survey(self, client):
        rows = await self.memory.rows()
        return await survey(client, self.wanted, rows, database=DATABASE)

    def plan(self):
        return self.survey().plan

    def apply(self):
        """Plan and walk."""

        async def work(client):
            seen = await self._survey(client)
            await apply(seen, client, self.memory, self.clock, self.said.append)
            return seen.plan

        return self.run(work)

    def calls(self):
        """Names of what was called, lists left out."""
        return [
            each.command
            for each in self.server.calls.all()
            if not each.command.startswith(("list", "query"))
        ]


def steps(plan):
    """Shape of a plan: act, kind, name."""
    return [(step.act.value, step.kind.value, step.name) for step in plan.steps]


def shape(zone):
    """What is there, without ids and times."""
    state = zone.state
    return {
        "extensions": [(each.name, each.details) for each in state.extensions.values()],
        "clusters": [each.name for each in state.clusters.values()],
        "maps": [each.details for each in state.registrations.values()],
        "hosts": sorted(
            (each.name, each.tags, sorted(each.details.items())) for each in state.hosts.values()
        ),
        "actions": sorted((each.name, each.roles, each.enabled) for each in state.actions.values()),
        "templates": sorted(
            (each.name, each.public, each.featured, sorted(each.details.items()))
            for each in state.templates.values()
            if not each.removed
        ),
        "offerings": sorted(
            (each.name, each.memory_mib, each.state.value, sorted(each.details.items()))
            for each in state.offerings.values()
            if not each.removed
        ),
        "memory": sorted(
            (row.kind.value, row.name, row.retired, sorted(row.facts.items()))
            for row in zone.memory.kept.values()
        ),
    }
