"""Faults as they come: caused at the outside of the rack, never inside the product."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.guest import Guest
from provisioner.lab import bmc_ipmi
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.network import links, stranger
from provisioner.lab.qemu import has_kvm
from tests.rack.controls import Controls
from tests.rack.lying.device import PLUGIN
from tests.rack.main_job.service import until

USER_DATA = b"#cloud-config\n"
POSED = "10.66.0.250/24"
MOMENT_S, PROGRESS_S = 0.02, 0.8
"""So long a server gets some megabytes; an agent reports its progress twice a second."""


class Deployment:
    """A create that runs while a test looks on and interferes."""

    def __init__(self, story, guest):
        self.story, self.guest, self._began = story, guest, time.time()
        self._pool = ThreadPoolExecutor(1)
        self._called = self._pool.submit(guest.ask, Verb.CREATE)

    @property
    def name(self):
        return self.guest.spec().name

    def called(self, within_s=900):
        """The entry's answer to create."""
        return self._called.result(within_s)

    def opened(self):
        """Its operation, once there is one."""
        service = self.story.service

        def is_open():
            found = [each for each in service.operations(self.name) if each["kind"] == "deploy"]
            return bool(found) and found[0]["opened_at"] >= self._began

        until(is_open, f"a deployment of {self.name} is opened", within_s=60)
        return service.newest(self.name, "deploy")

    def wait_for(self, stage, within_s=400):
        """Return as soon as this stage has begun."""
        self.opened()
        self.story.service.wait_for_stage(self.name, "deploy", stage, within_s)

    def ended(self, within_s=600):
        self.opened()
        return self.story.service.wait_for_end(self.name, "deploy", within_s)

    def took_its_script(self):
        """Return once the server has its boot script, and with it the token."""
        since = self.opened()["opened_at"]
        path = f"/v1/calls?server={self.name}&since={since}"

        def taken():
            calls = self.story.service.get(path)["calls"]
            return any(each["text"].startswith("script to") for each in calls)

        until(taken, f"{self.name} has its script", within_s=300)


@contextlib.contextmanager
def deployment(story, name, image="wide"):
    """A new instance on this server; CloudStack gives up on it afterwards."""
    story.rest(name)
    with only(story, name):
        folder = story.rack.paths.state / "faults"
        folder.mkdir(exist_ok=True)
        guest = Guest.of(story.site, folder, "omega", image=image, user_data=USER_DATA)
        assert guest.prepare().name == name
    running = Deployment(story, guest)
    try:
        yield running
    finally:
        guest.ask(Verb.DELETE)
        running.called()


@contextlib.contextmanager
def only(story, name):
    """No other server is handed out."""
    others = [each.name for each in story.rack.layout.servers if each.name != name]
    for other in others:
        story.site.command("server", "maintenance", other, "--reason", f"a test wants {name}")
    try:
        yield
    finally:
        for other in others:
            story.site.command("server", "maintenance", other, "--end")


def power_log(story, name):
    """All that the controller wrote down."""
    path = story.rack.paths.power_log(story.server(name))
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def switched_on(story, name, since):
    """Whether the controller has switched its server on since that place of its log."""
    return any(line.get("event") == "on" for line in power_log(story, name)[since:])


def is_fenced(story, name):
    """Its port leads nowhere."""
    return links(story.rack.layout.rack)[f"tap-{name}"].master is None


def boot_script(story, name):
    """What somebody else on the provisioning network gets when asking for a server's script."""
    mac = story.server(name).mac
    url = f"http://10.66.0.1:8080/boot/ipxe?mac={mac}"
    with stranger(story.rack.layout, "br-prov", address=POSED) as namespace:
        argv = ["curl", "-sS", "-w", "\n%{http_code}", url]
        said = subprocess.run(
            argv_inside(namespace, argv), capture_output=True, text=True, timeout=30, check=True
        ).stdout
    text, _, status = said.rpartition("\n")
    return int(status), text


def end_by_force(story, process):
    """SIGKILL to all of it: nginx's worker outlives its master."""
    running = story.rack.record.running(process)
    os.killpg(running.pid, signal.SIGKILL)
    until(lambda: not running.is_alive(), f"{process} is gone", within_s=10)


def in_small_pieces(story, process, enough):
    """Let it work for moments only, until it is enough; it stands still then."""
    running = story.rack.record.running(process)

    def is_enough():
        os.killpg(running.pid, signal.SIGSTOP)
        time.sleep(PROGRESS_S)
        if enough():
            return True
        os.killpg(running.pid, signal.SIGCONT)
        time.sleep(MOMENT_S)
        return False

    until(is_enough, f"{process} did enough", within_s=120)


@contextlib.contextmanager
def frozen(story, process):
    """SIGSTOP until the block ends."""
    running = story.rack.record.running(process)
    os.kill(running.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(running.pid, signal.SIGCONT)


@contextlib.contextmanager
def no_packets(story, name):
    """Nothing passes the server's port, in neither direction; the agent cannot tell why."""
    port = ["ip", "-n", story.rack.layout.rack, "link", "set", f"tap-{name}"]
    subprocess.run([*port, "down"], check=True)
    try:
        yield
    finally:
        subprocess.run([*port, "up"], check=True)


def told_to_qemu(story, name, command):
    """One command to the monitor of a server behind IPMI."""
    script = {"execute": "qmp_capabilities"}, {"execute": command}
    given = "".join(json.dumps(each) + "\n" for each in script)
    socket = story.rack.paths.server(story.server(name)) / "hook.qmp"
    argv = ["socat", "-t", "2", "-", f"UNIX-CONNECT:{socket}"]
    subprocess.run(argv, input=given, text=True, capture_output=True, timeout=20, check=True)


@contextlib.contextmanager
def other_disks(story, name, disks):
    """Somebody changed a server's disks while it was off: so it starts until the block ends."""
    rack, server = story.rack, story.server(name)
    changed = replace(server, disks=tuple(disks))
    layout = replace(
        rack.layout,
        servers=tuple(changed if each is server else each for each in rack.layout.servers),
    )
    kvm = has_kvm()
    for disk in changed.disks:
        file = rack.paths.disk(disk)
        if not file.exists():
            file.touch()
            os.truncate(file, disk.source.size_bytes)
    bmc_ipmi.up(layout, rack.paths, rack.record, changed, kvm=kvm)
    try:
        yield
    finally:
        bmc_ipmi.up(rack.layout, rack.paths, rack.record, server, kvm=kvm)


@contextlib.contextmanager
def times(story, **changed):
    """Another configuration of the service, until the block ends."""
    site = replace(story.site, times=story.site.times | changed)
    restart(site)
    try:
        yield
    finally:
        restart(story.site)


def restart(site):
    """With the configuration of this site."""
    site.configure()
    site.stop_serving()
    site.serve()


def hello(story, script):
    """The status that an agent gets who says hello with a script's token."""
    token = re.search(r"rackwright.token=(\S+)", script)[1]
    url = "https://10.66.0.1:8443/agent/v1/hello"
    header = f"authorization: Bearer {token}"
    with stranger(story.rack.layout, "br-prov", address=POSED) as namespace:
        argv = ["curl", "-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H", header, "-d", "{}"]
        said = subprocess.run(
            argv_inside(namespace, [*argv, url]), capture_output=True, timeout=30, check=True
        ).stdout
    return int(said)


def answered(story, name):
    """Bytes of each answer that the blob server gave of a file, as its log has them."""
    lines = (story.rack.paths.logs / "nginx.log").read_text().splitlines()
    return [int(line.split('"')[2].split()[1]) for line in lines if name in line]


@contextlib.contextmanager
def flipped(file, offset):
    """One byte of a file is another one until the block ends."""

    def flip():
        with file.open("r+b") as content:
            content.seek(offset)
            byte = content.read(1)[0]
            content.seek(offset)
            content.write(bytes([byte ^ 0xFF]))

    flip()
    try:
        yield
    finally:
        flip()


@contextlib.contextmanager
def other_guid(story, name):
    """Another board's controller answers at the address."""
    record, process = story.rack.record, f"ipmi_sim-{name}"
    argv = json.loads((story.rack.paths.run / f"{process}.json").read_text())["argv"]
    server = story.server(name)
    lan = story.rack.paths.server(server) / "lan.conf"
    kept = lan.read_text()

    def start(text):
        record.stop(process)
        lan.write_text(text)
        record.start(process, argv)
        controls = Controls(story.rack, server)
        until(controls.answers, "the controller answers", within_s=20)

    start(kept.replace(server.uuid.hex, "0" * 31 + "7"))
    try:
        yield
    finally:
        start(kept)


class Liar:
    """A disk behind nbdkit that can be told to lie."""

    def __init__(self, socket, rules):
        self.socket, self._rules = socket, rules

    def lie(self, **rules):
        hidden = self._rules.with_suffix(".new")
        hidden.write_text(json.dumps(rules))
        hidden.replace(self._rules)


@contextlib.contextmanager
def behind_plugin(story, disk):
    """The same file as before, served by tests/rack/lying/plugin.py, honest at first."""
    folder = story.rack.paths.state / "nbd"
    folder.mkdir(exist_ok=True)
    socket, rules = folder / disk.serial, folder / f"{disk.serial}.json"
    socket.unlink(missing_ok=True)
    liar = Liar(socket, rules)
    liar.lie()
    words = [f"file={story.rack.paths.disk(disk)}", f"rules={rules}"]
    argv = ["nbdkit", "-f", "-U", str(socket), "python", str(PLUGIN), *words]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL) as child:
        try:
            until(socket.exists, "nbdkit listens", within_s=10)
            yield liar
        finally:
            child.terminate()


def ends_in_quarantine(story, code, name="bios1"):
    """Off, cut off, dirty where a tenant had it, with the reason on record."""
    story.service.wait_for_state(name, "QUARANTINED")
    until(lambda: not story.service.open_operations(name), "nothing goes on", within_s=300)
    server = story.service.server(name)
    assert code in {each["code"] for each in story.service.operations(name)[:3]}
    assert Controls(story.rack, story.server(name)).power() == "off"
    assert is_fenced(story, name)
    return server
