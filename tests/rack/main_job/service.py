"""The operators' API asked without starting a command: quick enough to catch a moment."""

import http.client
import itertools
import json
import os
import signal
import socket
import time


class _Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(self._path)


class Service:
    """The running service of a site, seen and handled from outside."""

    def __init__(self, site):
        self._site = site

    def get(self, path):
        connection = _Connection(self._site.operators)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            said = json.loads(answer.read())
            assert answer.status == 200, said
            return said
        finally:
            connection.close()

    def runs(self):
        return self._site.rack.record.running("rackwright") is not None

    def server(self, name):
        return self.get(f"/v1/servers/{name}")["server"]

    def state(self, name):
        return self.server(name)["state"]

    def operations(self, name):
        """Of this server, newest first."""
        return self.get(f"/v1/operations?server={name}&most=50")["operations"]

    def open_operations(self, name):
        return [each for each in self.operations(name) if each["status"] == "open"]

    def operation(self, identifier):
        return self.get(f"/v1/operations/{identifier}")["operation"]

    def newest(self, name, kind):
        """The newest operation of this kind, with its stages."""
        found = [each for each in self.operations(name) if each["kind"] == kind]
        assert found, f"{name} has no operation {kind}"
        return self.operation(found[0]["id"])

    def stage(self, name, kind):
        """The stage in which the newest operation of this kind is; "" between two."""
        stages = self.newest(name, kind)["stages"]
        begun = [each for each in stages if each["began_at"] and not each["ended_at"]]
        return begun[-1]["name"] if begun else ""

    def wait_for_stage(self, name, kind, stage, within_s=300):
        """Return in it, or shortly after it where it is over quickly."""

        def reached():
            if not any(each["kind"] == kind for each in self.operations(name)):
                return False
            stages = {each["name"]: each for each in self.newest(name, kind)["stages"]}
            return stages[stage]["began_at"] is not None

        until(reached, f"{name} reaches {stage} of {kind}", within_s=within_s)

    def wait_for_end(self, name, kind, within_s=600):
        """The newest operation of this kind, once it has ended."""
        until(
            lambda: self.newest(name, kind)["status"] != "open",
            f"{kind} of {name} ends",
            within_s=within_s,
        )
        return self.newest(name, kind)

    def wait_for_state(self, name, *states, within_s=600):
        until(
            lambda: self.state(name) in states,
            lambda: f"{name} is {' or '.join(states)}, it is {self.server(name)}",
            within_s=within_s,
        )

    def calls_of(self, operation):
        """What was said to the outside during an operation; what it asks again is one line.

        The script is what the machine fetches, no call of ours.
        """
        server, since = operation["server"], operation["opened_at"]
        found = self.get(f"/v1/calls?server={server}&since={since}&most=1000")["calls"]
        return collapsed(
            (each["door"], each["text"])
            for each in found
            if each["at"] <= operation["ended_at"] and not each["text"].startswith("script to")
        )

    def kill(self):
        """SIGKILL to its process group, as an operator's worst day has it."""
        running = self._site.rack.record.running("rackwright")
        os.killpg(running.pid, signal.SIGKILL)
        until(lambda: not running.is_alive(), "the service is gone", within_s=10)

    def start(self):
        self._site.serve()


def planned(asked):
    """The calls of a dry run's answer."""
    assert asked["dry_run"]
    return collapsed(
        (call["door"], call["text"]) for step in asked["steps"] for call in step["calls"]
    )


def collapsed(calls):
    return [call for call, _ in itertools.groupby(calls)]


def until(seen, what, *, within_s, every_s=0.05):
    """Look again and again."""
    deadline = time.monotonic() + within_s
    while not seen():
        assert time.monotonic() < deadline, f"not so: {what() if callable(what) else what}"
        time.sleep(every_s)
