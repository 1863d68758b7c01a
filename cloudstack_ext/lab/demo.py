"""The main job for everyone to see: from CloudStack's payload to a booted server, and back.

Every verb is proven by looking at the outside: the controller, the serial console, a login,
packets, and the disks' files. Run by `./dev demo`; ends non-zero when anything is not as it
must be.
"""

import json
import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.controllers import outside_power
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.management_server import Called, ManagementServer
from cloudstack_ext.lab.payload import LabInstance, lab_payload
from cloudstack_ext.lab.site import DEBIAN, IMAGES, LabSite
from cloudstack_ext.lab.tenant import Tenant, make_key
from cloudstack_ext.power_view import PowerState
from provisioner.cli.progress import reporting
from provisioner.errors import ErrorCode, OperatorError, RackwrightError
from provisioner.lab.canaries import canaries, find
from provisioner.lab.layout import PROVISIONING, ServerSpec
from provisioner.lab.probes import ping
from provisioner.lab.serial_log import SerialLog

WAIT = 1800
"""What a management server gives a verb by default (its setting `wait`)."""
CANARIES = 2000
READY_S = 900.0
WIPED_S = 900.0
USER_DATA = b"#cloud-config\n# rackwright demo: %s\n"


def must(truth: bool, what: str) -> None:  # noqa: FBT001 reads as a sentence
    """Raise unless it is so.

    Raises:
        OperatorError: LAB, saying what is not as it must be.
    """
    if not truth:
        raise OperatorError(ErrorCode.LAB, f"not as it must be: {what}")


@dataclass(slots=True)
class Guest:
    """One instance of the demo.

    Attributes:
        server: Which server it got; known after `prepare`.
        marks: What was written into its disks.
    """

    instance: LabInstance
    tenant: Tenant
    management: ManagementServer
    server: ServerSpec | None = None
    marks: tuple[bytes, ...] = ()

    def call(self, verb: Verb) -> Called:
        """One verb, as the management server sends it; it must succeed."""
        called = self.management.call(verb.value, lab_payload(verb, self.instance), WAIT)
        must(not called.failure, f"{verb} of {self.instance.hostname}: {called.failure}")
        return called

    def spec(self) -> ServerSpec:
        """Its server."""
        assert self.server is not None
        return self.server


@dataclass(slots=True)
class Demo:
    """All stages, in order.

    Attributes:
        lines: What the closing table shows: stage, seconds, what was seen.
    """

    site: LabSite
    quick: bool
    lines: list[tuple[str, float, str]] = field(default_factory=list)

    def run(self) -> None:
        """From nothing to wiped with proof."""
        with self.stage("rack, service, enrolment") as seen:
            self.site.up()
            seen("two servers, two controllers, DHCP, blobs, the service")
        if not self.quick:
            with self.stage("image debian-12") as seen:
                self.site.image(DEBIAN)
                self.site.pool({**IMAGES, DEBIAN: DEBIAN})
                seen("built from packages, imported")
        with self.stage("verified, inspected, wiped") as seen:
            self._all_available()
            seen("baselines stored, first evidence signed")
        guests = self._guests()
        self._deploy(guests)
        self._look_inside(guests)
        self._isolation(guests)
        self._mark(guests)
        self._power_verbs(guests)
        self._give_back(guests)

    # --- the stages ------------------------------------------------------------------------
    def _guests(self) -> list[Guest]:
        """Alpha gets the first server by name, the BIOS one; beta the UEFI one."""
        folder = self.site.rack.paths.state / "demo"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        images = ["ubuntu-24.04-cuda", "ubuntu-24.04-cuda" if self.quick else DEBIAN]
        guests = []
        for name, image in zip(("alpha", "beta"), images, strict=True):
            key = make_key(folder, name)
            instance = instance_of(
                f"{name}-{secrets.token_hex(2)}",
                image=image,
                ssh_key=key.with_suffix(".pub").read_text().strip(),
                user_data=USER_DATA % name.encode(),
            )
            tenant = Tenant(layout=self.site.rack.layout, instance=instance, key=key)
            management = ManagementServer(entry=self.site.entry(), folder=folder / "payloads")
            guests.append(Guest(instance=instance, tenant=tenant, management=management))
        while guests[1].instance.vlan == guests[0].instance.vlan:
            other = instance_of(f"beta-{secrets.token_hex(2)}", image=images[1])
            kept = guests[1].instance
            guests[1].instance = replace(other, ssh_key=kept.ssh_key, user_data=kept.user_data)
            guests[1].tenant = replace(guests[1].tenant, instance=guests[1].instance)
        return guests

    def _deploy(self, guests: list[Guest]) -> None:
        with self.stage("prepare") as seen:
            for guest in guests:
                guest.call(Verb.PREPARE)
                guest.server = self._server_of(guest)
            seen(", ".join(f"{g.instance.hostname} keeps {g.spec().name}" for g in guests))
        with self.stage("create") as seen, self._progress():
            with ThreadPoolExecutor(len(guests)) as pool:
                called = list(pool.map(lambda guest: guest.call(Verb.CREATE), guests))
            seen(", ".join(json.loads(each.output)["message"] for each in called))
        with self.stage("power, console, first login") as seen:
            for guest in guests:
                self._is(guest, "on")
                guest.tenant.connect()
                self._until(guest.tenant.answers, f"a login into {guest.instance.hostname}")
                log = SerialLog(self.site.rack.paths.serial_log(guest.spec()))
                log.wait_for(r"RACKWRIGHT-\w+-READY", within_s=READY_S)
            seen("controllers say on, consoles show the systems, SSH by the payloads' keys")

    def _look_inside(self, guests: list[Guest]) -> None:
        with self.stage("host name, address, user data") as seen:
            for guest in guests:
                instance, tenant = guest.instance, guest.tenant
                must(tenant.run("hostname").strip() == instance.hostname, "the host name")
                must(f"{instance.address}/24" in tenant.run("ip -4 addr"), "the address")
                must(tenant.user_data() == instance.user_data, "the user data")
            seen("as in the payloads")
        with self.stage("status") as seen:
            for guest in guests:
                self._says(guest, PowerState.ON)
            seen("PowerOn for both")

    def _isolation(self, guests: list[Guest]) -> None:
        with self.stage("isolation by packets") as seen:
            rack = self.site.rack.layout
            for guest, other in (guests, guests[::-1]):
                tenant, mine = guest.tenant, guest.instance
                must(tenant.reaches(mine.gateway), f"{mine.hostname} reaches its own network")
                must(
                    not tenant.reaches(other.instance.address),
                    f"{mine.hostname} does not reach {other.instance.hostname}",
                )
                service = str(PROVISIONING.ip)
                must(not tenant.reaches(service), "no tenant reaches the service")
                for port in (8443, 8080, 8081):
                    must(not tenant.opens(service, port), f"no tenant reaches port {port}")
                must(not ping(rack.rack, mine.address), "the rack's side does not reach a tenant")
            must(ping(rack.rack, str(PROVISIONING.ip)), "the same probe succeeds where it should")
            seen("own network yes; the other tenant, the agent's API, boot files: no")

    def _mark(self, guests: list[Guest]) -> None:
        with self.stage("canaries written and found") as seen:
            marks = canaries(secrets.token_bytes(16), CANARIES)
            half = CANARIES // len(guests)
            for n, guest in enumerate(guests):
                guest.marks = marks[n * half : (n + 1) * half]
            with ThreadPoolExecutor(len(guests)) as pool:
                list(pool.map(self._write_marks, guests))
            found = sum(self._found(guest) for guest in guests)
            must(found == CANARIES, f"{found} of {CANARIES} canaries are on the disks' files")
            seen(f"{found} on {sum(len(g.spec().disks) for g in guests)} disks")

    def _power_verbs(self, guests: list[Guest]) -> None:
        with self.stage("reboot") as seen:
            boots = [SerialLog(self.site.rack.paths.serial_log(g.spec())).mark() for g in guests]
            self._both(guests, Verb.REBOOT)
            self._come_back(guests, boots)
            seen("the consoles show both starting again")
        with self.stage("stop") as seen:
            self._both(guests, Verb.STOP)
            for guest in guests:
                self._is(guest, "off")
                must(not ping(self.site.rack.layout.tenant, guest.instance.address), "silence")
            seen("controllers say off, ports lead nowhere")
        with self.stage("start") as seen:
            boots = [SerialLog(self.site.rack.paths.serial_log(g.spec())).mark() for g in guests]
            self._both(guests, Verb.START)
            self._come_back(guests, boots)
            found = sum(self._found(guest) for guest in guests)
            must(found == CANARIES, f"a start changes nothing on the disks: {found} canaries")
            seen("the same systems, the same canaries")

    def _give_back(self, guests: list[Guest]) -> None:
        with self.stage("delete") as seen:
            called = self._both(guests, Verb.DELETE)
            seen(json.loads(called[0].output)["message"])
        with self.stage("wiped, verified, signed") as seen, self._progress():
            self._all_available()
            for guest in guests:
                self._is(guest, "off")
                self._says(guest, PowerState.OFF)
            seen("both servers are available again")
        with self.stage("disks scanned from outside") as seen:
            left = sum(self._found(guest) for guest in guests)
            must(left == 0, f"{left} canaries are still on the disks")
            seen(f"0 of {CANARIES} canaries left")
        with self.stage("evidence verified offline") as seen:
            seen(self._evidence(guests))

    def _evidence(self, guests: list[Guest]) -> str:
        folder = self.site.rack.paths.state / "demo" / "evidence"
        self.site.command("evidence", "export", "--all", str(folder))
        key = str(self.site.rack.paths.service / "evidence.pub")
        checked = self.site.ask("evidence", "verify-chain", str(folder), "--key", key)
        records = self.site.ask("evidence", "show")["records"]
        last = {
            each["document"]["server"]["name"]: each["document"]["reason"]["instance"]
            for each in records
        }
        for guest in guests:
            instance = f"lab/{guest.instance.uuid}"
            must(last[guest.spec().name] == instance, f"evidence names {instance}")
        return f"{checked['records']} records, one chain"

    # --- looking -----------------------------------------------------------------------------
    def _server_of(self, guest: Guest) -> ServerSpec:
        """By the MAC that prepare answered: the management server took it into its NIC."""
        mac = guest.management.mac_of(guest.instance.nic_uuid)
        return next(each for each in self.site.rack.layout.servers if each.mac == mac)

    def _write_marks(self, guest: Guest) -> None:
        disks = guest.tenant.disks()
        must(len(disks) == len(guest.spec().disks), "the tenant sees all disks of its server")
        share = len(guest.marks) // len(disks)
        for n, (disk, size) in enumerate(disks):
            last = n == len(disks) - 1
            part = guest.marks[n * share : None if last else (n + 1) * share]
            guest.tenant.write(disk, size, part)

    def _found(self, guest: Guest) -> int:
        files = [self.site.rack.paths.disk(disk) for disk in guest.spec().disks]
        return len(find(files, guest.marks))

    def _is(self, guest: Guest, wanted: str) -> None:
        power = outside_power(self.site.rack, guest.spec())
        must(power == wanted, f"the controller of {guest.spec().name} says {power}, not {wanted}")

    def _says(self, guest: Guest, wanted: PowerState) -> None:
        def agrees() -> bool:
            return guest.call(Verb.STATUS).power_state() is wanted

        self._until(agrees, f"status of {guest.instance.hostname} is {wanted}", within_s=90.0)

    def _both(self, guests: list[Guest], verb: Verb) -> list[Called]:
        with ThreadPoolExecutor(len(guests)) as pool:
            return list(pool.map(lambda guest: guest.call(verb), guests))

    def _come_back(self, guests: list[Guest], boots: list[int]) -> None:
        for guest, mark in zip(guests, boots, strict=True):
            self._is(guest, "on")
            log = SerialLog(self.site.rack.paths.serial_log(guest.spec()))
            log.wait_for(r"RACKWRIGHT-\w+-READY", since=mark, within_s=READY_S)
            self._until(guest.tenant.answers, f"a login into {guest.instance.hostname}")

    def _all_available(self) -> None:
        def available() -> bool:
            servers = self.site.ask("server", "list")["servers"]
            for each in servers:
                must(
                    each["state"] not in {"QUARANTINED", "ENROLLED"} or not each["reason"],
                    f"{each['name']} is {each['state']}: {each['reason']}",
                )
            return all(each["state"] == "AVAILABLE" for each in servers)

        self._until(available, "both servers are AVAILABLE", within_s=WIPED_S)

    def _until(self, seen: Callable[[], bool], what: str, *, within_s: float = READY_S) -> None:
        until = time.monotonic() + within_s
        while not seen():
            must(time.monotonic() < until, f"{what}, within {within_s:.0f} s")
            _pause(2.0)

    # --- showing ------------------------------------------------------------------------------
    @contextmanager
    def stage(self, name: str) -> Iterator[Callable[[str], None]]:
        """One line at its end, with its seconds and what was seen."""
        began, said = time.monotonic(), [""]
        yield lambda text: said.__setitem__(0, text)
        seconds = time.monotonic() - began
        self.lines.append((name, seconds, said[0]))
        print(f"{name:<32} {seconds:7.1f} s  {said[0]}", flush=True)  # noqa: T201 its output

    @contextmanager
    def _progress(self) -> Iterator[None]:
        """A bar of the bytes that the agents acknowledged, while the stage runs."""
        ended: list[bool] = []
        with reporting("table") as report, ThreadPoolExecutor(1) as pool:

            def follow() -> None:
                while not ended:
                    open_now = self.site.ask("operation", "list", "--open")["operations"]
                    sums = [each["progress_bytes"] for each in open_now]
                    done, total = (sum(each[n] for each in sums) for n in (0, 1))
                    names = " and ".join(f"{e['server']} {e['kind']}" for e in open_now)
                    report(names or "waiting", done, total)
                    _pause(1.0)

            running = pool.submit(follow)
            try:
                yield
            finally:
                ended.append(True)
                running.result()

    def table(self) -> str:
        """What a reader keeps."""
        total = sum(seconds for _, seconds, _ in self.lines)
        rule = "-" * 72
        rows = [f"{name:<32} {seconds:7.1f} s  {seen}" for name, seconds, seen in self.lines]
        return "\n".join([rule, *rows, rule, f"{'all of it':<32} {total:7.1f} s"])


def _pause(seconds: float) -> None:
    time.sleep(seconds)


def main(words: list[str]) -> int:
    """Run it; 0 when everything is as it must be."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

    def say(line: str) -> None:
        print(line, flush=True)  # noqa: T201 its output

    demo = Demo(site=LabSite.of(os.environ, say), quick="--quick" in words)
    keep = "--keep" in words
    demo.site.rack.forget()
    try:
        demo.run()
    except RackwrightError as error:
        say(f"{error}\n{error.detail}".rstrip())
        return error.exit_code
    except KeyboardInterrupt:
        say("interrupted; cleaning up")
        return 130
    finally:
        if not keep:
            demo.site.down()
    say(demo.table())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
