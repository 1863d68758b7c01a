"""Machines of the fake rack: what they are, and the agent that each of them boots."""

import contextlib
import hashlib
import http.client
import threading
import time
import urllib.request
import uuid
from dataclasses import replace
from types import SimpleNamespace

from provisioner.agent.blobs import Blobs
from provisioner.agent.calls import Calls, Pace
from provisioner.agent.connection import Connections, pinned_context
from provisioner.agent.link import ServiceLink
from provisioner.agent.loop import AgentLoop
from provisioner.agent.order import OrderFailedError
from provisioner.agent.reports import Reports
from provisioner.agent.settings import parse_settings
from provisioner.hardware.inventory import Firmware
from provisioner.operations.ideal_agent import IdealAgent
from provisioner.servers.model import Power
from provisioner.testing.store import inventory

PACE = Pace(pause=0.1, longest_pause=1.0, refused=5.0, blobs=5.0, report=0.2, beat=2.0)
SCRIPT_EVERY_S = 0.3
SCRIPT_WITHIN_S = 60.0
"""Whoever asks again after an answer that came late has asked for its token twice."""
NAMES = uuid.UUID("6c0dbb8e-2f44-4a0e-9d0c-5b0d0e7a1c11")


class PoweredOff(SystemExit):
    """The machine went off under the agent: no thread of it goes on."""


class Machine:
    """One server outside: its cables, its facts, and what runs on it now.

    Attributes:
        orders: Kind -> function of (machine, parameters, link) in place of the usual one.
        image_s: How long an image takes.
    """

    def __init__(self, rack, name, number):
        self.rack, self.name, self.number = rack, name, number
        self.uuid = str(uuid.uuid5(NAMES, name))
        self.mac = f"52:54:00:66:{number // 256:02x}:{number % 256:02x}"
        self.port = f"port-{name}"
        self.protocol = "ipmi" if number % 2 else "redfish"
        self.firmware = "bios" if number % 2 else "uefi"
        self.orders, self.image_s = {}, 0.0
        self.board = None
        self._boot = 0

    @property
    def here(self):
        """Its own address: the service counts requests by source."""
        return f"127.200.{self.number // 200}.{self.number % 200 + 10}"

    def facts(self):
        found = inventory(self.uuid, self.mac)
        return replace(found, firmware=Firmware(mode=self.firmware))

    def entry(self):
        """As it stands in a manifest."""
        return {
            "name": self.name,
            "pool": "faults" if self.name.startswith("f") else "a",
            "controller": {
                "protocol": self.protocol,
                "address": f"{self.name}.rack",
                "port": 623,
                "user": "admin",
            },
            "firmware": self.firmware,
            "nics": [
                {"mac": self.mac, "roles": ["provisioning", "tenant"], "port": self.port},
            ],
            "root_disk": {"smallest_nvme": True},
        }

    def is_on(self):
        return self.board.power is Power.ON

    def moved(self, power):
        """Called in the rack's loop when the power has moved."""
        self._boot += 1
        self.say(f"is {power}")
        if power is not Power.ON:
            return
        self.board.console = ()
        device = self.board.booted_from[-1]
        if device is not None and device.value == "network":
            threading.Thread(target=self._network_boot, args=(self._boot,), daemon=True).start()
        else:
            self.board.console = (b"starting\r\n", b"tenant login: ")

    def say(self, text):
        """Into the log; where that line is held, wait as long as this boot lasts."""
        held = self.rack.log.add(f"{self.name} {text}")
        boot = self._boot
        while held is not None and not held.released.wait(0.05):
            if boot != self._boot:
                raise PoweredOff

    def _network_boot(self, boot):
        alive = lambda: self._boot == boot and self.is_on()  # noqa: E731
        try:
            words = self._script(alive)
            if words is not None:
                self.say("loads the ramdisk")
                Agent(self, alive, words).run()
        except PoweredOff:
            pass

    def _script(self, alive):
        """iPXE: ask until there is a script; the kernel's words, None where it is turned away."""
        while alive():
            text = self._ask_for_script()
            if "rackwright.token=" in text:
                return next(line for line in text.splitlines() if "rackwright.token=" in line)
            if text.startswith("#!ipxe") and "chain" not in text:
                self.say("is turned away")
                return None
            time.sleep(SCRIPT_EVERY_S)
        return None

    def _ask_for_script(self):
        url = f"{self.rack.boot_url}/boot/ipxe?mac={self.mac}"
        if not self.rack.answers(self):
            return ""
        opener = urllib.request.build_opener(_From(self.here))
        try:
            with opener.open(url, timeout=SCRIPT_WITHIN_S) as answer:
                return answer.read().decode()
        except OSError:
            return ""


class _From(urllib.request.HTTPHandler):
    def __init__(self, address):
        super().__init__()
        self._address = address

    def http_open(self, request):
        source = (self._address, 0)

        def connection(host, **named):
            return http.client.HTTPConnection(host, source_address=source, **named)

        return self.do_open(connection, request)


class Agent:
    """The real agent's loop on a machine that can be switched off under it."""

    def __init__(self, machine, alive, words):
        self.machine, self.alive = machine, alive
        settings = parse_settings(words, "")
        connections = _Connections(pinned_context(machine.rack.authority), machine.here)
        calls = _Calls(settings, connections, PACE, alive)
        self.reports = Reports(calls, PACE)
        self.loop = AgentLoop(
            calls,
            self.reports,
            ServiceLink(Blobs(settings, connections, PACE), self.reports),
            orders={kind: self._order(kind, act) for kind, act in ORDERS.items()},
            last_acts={"power_off": self._switch_off, "rescue": self._let_go},
        )

    def run(self):
        threading.Thread(target=self._report, daemon=True).start()
        self.loop.run(self.machine.facts(), str(uuid.uuid4()))

    def _report(self):
        with contextlib.suppress(PoweredOff):
            self.reports.send_for_ever()

    def _order(self, kind, usual):
        def order(parameters, link):
            self.machine.say(f"agent {kind}")
            found = self.machine.orders.get(kind, usual)(self.machine, parameters, link)
            if not self.alive():
                raise PoweredOff
            self.machine.rack.log.add(f"{self.machine.name} agent {kind} done")
            return found

        return order

    def _switch_off(self):
        self.machine.rack.switch_off(self.machine)
        raise PoweredOff

    def _let_go(self):
        """The service has its answer: nothing of ours runs any more, and the machine stays on."""
        self.machine.rack.log.add(f"{self.machine.name} runs a rescue system")
        raise PoweredOff


class _Calls(Calls):
    def __init__(self, settings, connections, pace, alive):
        super().__init__(settings, connections, pace)
        self._alive = alive

    def once(self, method, path, body=None):
        try:
            self._look()
            return super().once(method, path, body)
        finally:
            self._look()

    def _look(self):
        if not self._alive():
            raise PoweredOff


class _Connections(Connections):
    def __init__(self, context, address):
        super().__init__(context)
        self._address = address

    def to(self, target):
        connection = super().to(target)
        connection.source_address = (self._address, 0)
        return connection


# --- what the agent is told to do --------------------------------------------------------------
def _inspect(machine, _parameters, _link):
    return {"facts": machine.facts().to_json()}


def _read_nonce(machine, _parameters, _link):
    return {"nonce": machine.board.nonce.hex() if machine.board.nonce else None}


def _write_image(machine, parameters, link):
    whole = parameters["image_bytes"]
    boot, ends = machine._boot, time.monotonic() + machine.image_s
    while (left := ends - time.monotonic()) > 0 and machine._boot == boot:
        link.progress(int(whole * (1 - left / machine.image_s)), whole, note="writing")
        time.sleep(min(left, 0.5))
    link.progress(whole, whole)
    return {"image_bytes": whole, "written_bytes": whole, "zeroed_bytes": 0, "blocks": 1}


def _write_seed(_machine, parameters, link):
    content = link.fetch(parameters["url"], length=parameters["bytes"])
    if hashlib.sha256(content).hexdigest() != parameters["sha256"]:
        raise OrderFailedError("SEED_INVALID", "not the seed that was announced")
    return {"partition": "/dev/nvme0n1p9", "start_bytes": 0, "bytes": len(content)}


def _wipe(kind):
    """As a disk that keeps what it promises."""

    def order(_machine, parameters, _link):
        return IdealAgent(None).result(SimpleNamespace(kind=kind, parameters=parameters), "")

    return order


ORDERS = {
    "inspect": _inspect,
    "read_nonce": _read_nonce,
    "write_image": _write_image,
    "write_seed": _write_seed,
    "rescue": lambda *_: {"host_key": f"SHA256:{'H' * 43}"},
    "set_boot_order": lambda *_: {"changed": True, "detail": ""},
    "mark": _wipe("mark"),
    "erase": _wipe("erase"),
    "verify": _wipe("verify"),
    "power_off": lambda *_: {},
    "reboot": lambda *_: {},
}
