"""An instance of a management server whose owner runs custom actions."""

import asyncio
import json
import os

from cloudstack_ext.management_server.cloud import SYSTEM, Cloud, Host
from cloudstack_ext.management_server.entry_point import EntryPoint
from cloudstack_ext.management_server.payload import Action
from cloudstack_ext.management_server.server import ManagementServer
from cloudstack_ext.registration.actions import TIMEOUT_S
from provisioner.adapters.clock import SystemClock
from tests.service.entry.rig import ENTRY

ANSWERED_S = 8.0


class Tenant:
    """An instance, its owner at the UI, and an administrator."""

    def __init__(self, site, folder):
        self.site = site
        argv = ["/usr/bin/env", f"RACKWRIGHT_ENTRY_CONFIG={site.entry_config}", os.fspath(ENTRY)]
        cloud = Cloud(hosts=[Host(name="a", details={"pool": "a", "host": "a"}, owner="one")])
        entry = EntryPoint(argv=argv, folder=folder)
        self.server = ManagementServer(name="one", cloud=cloud, entry=entry, clock=SystemClock())
        self.admin = ManagementServer(
            name="one", cloud=cloud, entry=entry, clock=SystemClock(), caller=SYSTEM
        )
        self.instance = cloud.new_instance(template={"image": "tiny"})
        del self.instance.details["SSH.PublicKey"]  # nobody logs in

    def do(self, job):
        outcome = asyncio.run(job)
        assert outcome.succeeded, self.site.story(outcome.failure)

    def deployed(self):
        self.do(self.server.deploy(self.instance))
        return self

    def run(self, name, server=None, **parameters):
        """What the UI gets: whether it succeeded, and what was printed."""
        action = Action(name=name, parameters=parameters or None)
        act = (server or self.server).act(self.instance, action, wait_s=TIMEOUT_S)
        began = asyncio.run(act)
        sent = (server or self.server).commands.sent[-1]
        assert sent.called.seconds < ANSWERED_S
        return began

    def rows(self, name, server=None, **parameters):
        """The table that the UI shows: flat objects with the same keys."""
        result = self.run(name, server, **parameters)
        assert result.success, self.site.story(result.details)
        body = json.loads(result.details)
        assert (body["status"], body["printmessage"]) == ("success", "true")
        rows = body["message"]
        assert rows
        assert {tuple(row) for row in rows} == {tuple(rows[0])}
        assert all(isinstance(value, str) for row in rows for value in row.values())
        return rows

    def items(self, name, server=None, **parameters):
        rows = self.rows(name, server, **parameters)
        return {row["item"]: row["value"] for row in rows}

    def refused(self, name, server=None, **parameters):
        result = self.run(name, server, **parameters)
        assert not result.success
        exited, _, output = result.details.partition(", Output: ")
        assert exited == "Exit code: 1"
        return json.loads(output)["error"]

    @property
    def machine(self):
        """The server's name, which no tenant reads."""
        query = "SELECT server FROM allocation WHERE instance = ?"
        return self.site.rows(query, self.instance.uuid)[-1][0]
