"""A management server over an extension in memory, in virtual time."""

import asyncio
import json
import sys
import threading
from pathlib import Path

from cloudstack_ext.management_server.cloud import Cloud, Extension, Host, Settings
from cloudstack_ext.management_server.entry_point import Called, EntryPoint, ended
from cloudstack_ext.management_server.server import ManagementServer
from provisioner.testing.clock import FakeClock

EXECUTABLE = sys.executable
"""Any: it is looked at, never started."""
LIMIT_S = 20


class Script:
    """`Door` in memory: what is answered to which verb; everything else is an empty success.

    Attributes:
        says: Verb -> (exit, output), or a list of them, the last one for ever.
        asked: (verb, payload, wait) of each call.
        held: Verbs whose calls wait until they are let go.
    """

    def __init__(self, **says):
        self.says, self.asked, self.held = says, [], {}
        self.killed = False

    def run(self, argv, wait):
        verb, path = argv[-3], argv[-2]
        self.asked.append((verb, json.loads(Path(path).read_text()), int(argv[-1])))
        if verb in self.held:
            entered, gate = self.held[verb]
            entered.set()
            assert gate.wait(LIMIT_S)
        answer = self.says.get(verb, (0, ""))
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        if isinstance(answer, Called):
            return answer
        return ended(answer[0], answer[1].encode(), 0.1)

    def kill_all(self):
        self.killed = True

    def hold(self, verb):
        """From now on; returns (wait until it is called, let it go)."""
        entered, gate = threading.Event(), threading.Event()
        self.held[verb] = entered, gate

        def let_go():
            del self.held[verb]
            gate.set()

        return entered.wait, let_go

    def payloads(self, verb):
        return [payload for name, payload, _ in self.asked if name == verb]


class World:
    """A server, a second one when asked for, one pool and its instances."""

    def __init__(self, folder, **says):
        self.script, self.clock, self.folder = Script(**says), FakeClock(), folder
        self.host = Host(
            name="pool-a",
            tags=("a",),
            details={"pool": "a", "node_class": "x"},
            resourcemap={"pool": "rack7"},
        )
        details = {"region": "lab", "endpoint": "https://metald.example:8443"}
        self.cloud = Cloud(hosts=[self.host], extension=Extension(details=details))
        self.server = self.another("one")

    def another(self, name):
        entry = EntryPoint(argv=[EXECUTABLE], folder=self.folder / name, door=self.script)
        return ManagementServer(name=name, cloud=self.cloud, entry=entry, clock=self.clock)

    def settings(self, **values):
        self.cloud.settings = Settings(**values)

    def instance(self, **named):
        return self.cloud.new_instance(template={"image": "debian"}, **named)

    def run(self, what):
        return asyncio.run(asyncio.wait_for(what, LIMIT_S))

    def running(self, **named):
        instance = self.instance(**named)
        assert self.run(self.server.deploy(instance)).succeeded
        self.forget()
        return instance

    def stopped(self, **named):
        instance = self.running(**named)
        assert self.run(self.server.stop(instance)).succeeded
        self.forget()
        return instance

    def forget(self):
        self.script.asked.clear()
        self.server.commands.sent.clear()

    def verbs(self):
        """What was sent but for `status`, which is asked all the time."""
        return [verb for verb, _, _ in self.script.asked if verb != "status"]

    def ping(self, times=1):
        for _ in range(times):
            self.run(self.server.ping(self.host))
            self.clock.advance(self.cloud.settings.ping_interval_s)


async def called(wait):
    """Until the door has been entered, without holding the loop."""
    assert await asyncio.get_running_loop().run_in_executor(None, wait, LIMIT_S)
