"""The stages of the main job, in order: from CloudStack's payload to a booted server, and back.

Every verb is proven by looking at the outside: the controller, the serial console, a login,
packets, and the disks' files. A stage answers what was seen, or raises.
"""

import json
import secrets
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.guest import Guest, eventually, make_guests, must
from cloudstack_ext.lab.registration import register
from cloudstack_ext.lab.site import DEBIAN, LabSite
from cloudstack_ext.management_server.entry_point import Called
from cloudstack_ext.power_view import PowerState
from provisioner.lab.canaries import canaries
from provisioner.lab.layout import BLOBS_PORT as BLOBS
from provisioner.lab.layout import HTTPS_PORT, PROVISIONING, SCRIPT_PORT
from provisioner.lab.network import stranger
from provisioner.lab.probes import ping, tcp_answers

CANARIES = 2000
WIPED_S = 900.0
USER_DATA = b"#cloud-config\n# rackwright demo: %s\n"
TINY = "ubuntu-24.04-cuda"
"""As the recordings name their image; the lab's pool maps it to the tiny system."""
SERVICE = str(PROVISIONING.ip)
PORTS = (HTTPS_PORT, SCRIPT_PORT, BLOBS)
CLOSED = (SERVICE, *(f"{SERVICE}:{port}" for port in PORTS))
"""What no tenant may reach: the service itself, agent API, boot scripts, images."""
POSED = "10.66.0.250/24"
"""An address of the provisioning network that nobody has."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One line of the demo.

    Attributes:
        act: Does it and answers what was seen.
        is_long: Agents work meanwhile: their progress is worth a bar.
    """

    name: str
    act: Callable[[], str]
    is_long: bool = False


@dataclass(slots=True)
class MainJob:
    """All stages, each on what the ones before left.

    Attributes:
        images: What alpha and beta ask for, by names in the pool's map.
        guests: Alpha gets the first server by name, the BIOS one; beta the UEFI one.
    """

    site: LabSite
    images: tuple[str, str] = (TINY, TINY)
    guests: list[Guest] = field(default_factory=list)

    def stages(self) -> Iterator[Stage]:
        """In their order."""
        yield Stage("rack, service, enrolment", self.rise)
        yield Stage("CloudStack registered by a plan", self.registered)
        if DEBIAN in self.images:
            yield Stage("image debian-12", self.debian)
        yield Stage("verified, inspected, wiped", self.available, is_long=True)
        yield Stage("prepare", self.prepare)
        yield Stage("create", self.create, is_long=True)
        yield Stage("power, console, first login", self.first_login)
        yield Stage("host name, address, user data", self.contents)
        yield Stage("status", self.status)
        yield Stage("isolation by packets", self.isolation)
        yield Stage("canaries written and found", self.mark)
        yield Stage("reboot", self.reboot)
        yield Stage("stop", self.stop)
        yield Stage("start", self.start)
        yield Stage("delete", self.delete)
        yield Stage("wiped, verified, signed", self.wiped, is_long=True)
        yield Stage("disks scanned from outside", self.scan)
        yield Stage("evidence verified offline", self.evidence)

    # --- before the first tenant ---------------------------------------------------------------
    def rise(self) -> str:
        """From nothing."""
        self.site.up()
        return "two servers, two controllers, DHCP, blobs, the service"

    def registered(self) -> str:
        """By the commands that an administrator types, against the API server."""
        return register(self.site, self.site.rack.paths.state / "cloudstack")

    def debian(self) -> str:
        """The image with cloud-init."""
        self.site.debian()
        return "built from packages, imported"

    def available(self) -> str:
        """Verification, inspection and the first wipe follow by themselves."""
        self._all_available()
        return "baselines stored, first evidence signed"

    # --- two tenants ----------------------------------------------------------------------------
    def prepare(self) -> str:
        """Two instances, a server kept for each."""
        folder = self.site.rack.paths.state / "demo"
        self.guests = make_guests(self.site, folder, self.images, USER_DATA)
        for guest in self.guests:
            guest.prepare()
        return ", ".join(f"{g.instance.hostname} keeps {g.spec().name}" for g in self.guests)

    def create(self) -> str:
        """Both at once."""
        return ", ".join(str(json.loads(c.output)["message"]) for c in self._all(Verb.CREATE))

    def first_login(self) -> str:
        """On, up, and open to the key of the payload."""
        for guest in self.guests:
            guest.has_power("on")
            guest.tenant.connect()
            guest.is_up()
        return "controllers say on, consoles show the systems, SSH by the payloads' keys"

    def contents(self) -> str:
        """What the seed said is so inside."""
        for guest in self.guests:
            instance, tenant = guest.instance, guest.tenant
            must(tenant.run("hostname").strip() == instance.hostname, "the host name")
            must(f"{instance.address}/24" in tenant.run("ip -4 addr"), "the address")
            must(tenant.user_data() == instance.user_data, "the user data")
        return "as in the payloads"

    def status(self) -> str:
        """As CloudStack's power sync asks."""
        for guest in self.guests:
            guest.has_status(PowerState.ON)
        return "PowerOn for both"

    def isolation(self) -> str:
        """By packets, and each refusal beside the same probe where it must succeed."""
        for guest, other in (self.guests, self.guests[::-1]):
            mine = guest.instance
            closed = (*CLOSED, other.instance.address)
            seen = guest.tenant.looks((mine.gateway, *closed))
            must(seen[mine.gateway], f"{mine.hostname} reaches its own network")
            for each in closed:
                must(not seen[each], f"{mine.hostname} does not reach {each}")
            # an address of their network on the own card: nobody needs a router for that
            seen = guest.tenant.looks(CLOSED, posing_as=POSED)
            must(not any(seen.values()), f"{mine.hostname} with a foreign address reaches nobody")
            rack = self.site.rack.layout.rack
            must(not ping(rack, mine.address), "the rack's side does not reach a tenant")
        with stranger(self.site.rack.layout, "br-prov", address=POSED) as neighbour:
            must(ping(neighbour, SERVICE), "the same probe succeeds from the provisioning network")
            for port in PORTS:
                must(tcp_answers(neighbour, SERVICE, port), f"port {port} answers there")
        return "own network yes; the other tenant, the agent's API, boot files: no"

    def mark(self) -> str:
        """Canaries from inside, found from outside."""
        marks, share = canaries(secrets.token_bytes(16), CANARIES), CANARIES // len(self.guests)
        with ThreadPoolExecutor(len(self.guests)) as pool:
            parts = [marks[n * share : (n + 1) * share] for n in range(len(self.guests))]
            list(pool.map(Guest.write_marks, self.guests, parts))
        must(self._found() == CANARIES, f"{self._found()} of {CANARIES} canaries are on the disks")
        return f"{CANARIES} on {sum(len(g.spec().disks) for g in self.guests)} disks"

    # --- power ----------------------------------------------------------------------------------
    def reboot(self) -> str:
        """Another start on the console."""
        self._start_again(Verb.REBOOT)
        return "the consoles show both starting again"

    def stop(self) -> str:
        """Off, and no answer from their networks."""
        self._all(Verb.STOP)
        for guest in self.guests:
            guest.has_power("off")
            must(not ping(self.site.rack.layout.tenant, guest.instance.address), "silence")
        return "controllers say off, ports lead nowhere"

    def start(self) -> str:
        """The same systems with the same bytes."""
        self._start_again(Verb.START)
        must(self._found() == CANARIES, f"a start changes no disk: {self._found()} canaries")
        return "the same systems, the same canaries"

    # --- given back -----------------------------------------------------------------------------
    def delete(self) -> str:
        """The answer says what is sure by then."""
        return str(json.loads(self._all(Verb.DELETE)[0].output)["message"])

    def wiped(self) -> str:
        """Both servers end AVAILABLE and off; CloudStack hears PowerOff."""
        self._all_available()
        for guest in self.guests:
            guest.has_power("off")
            guest.has_status(PowerState.OFF)
        return "both servers are available again"

    def scan(self) -> str:
        """Nothing that the tenants wrote is left."""
        must(self._found() == 0, f"{self._found()} canaries are still on the disks")
        return f"0 of {CANARIES} canaries left"

    def evidence(self) -> str:
        """By the public key alone, from files."""
        folder = self.site.rack.paths.state / "demo" / "evidence"
        self.site.command("evidence", "export", "--all", str(folder))
        key = str(self.site.rack.paths.service / "evidence.pub")
        checked = self.site.ask("evidence", "verify-chain", str(folder), "--key", key)
        records = self.site.ask("evidence", "show")["records"]
        last = {
            each["document"]["server"]["name"]: each["document"]["reason"]["instance"]
            for each in records
        }
        for guest in self.guests:
            instance = f"{self.site.name}/{guest.instance.uuid}"
            must(last[guest.spec().name] == instance, f"evidence names {instance}")
        return f"{checked['records']} records, one chain"

    # --- all of them ----------------------------------------------------------------------------
    def _all(self, verb: Verb) -> list[Called]:
        with ThreadPoolExecutor(len(self.guests)) as pool:
            return list(pool.map(lambda guest: guest.call(verb), self.guests))

    def _start_again(self, verb: Verb) -> None:
        marks = [guest.console().mark() for guest in self.guests]
        self._all(verb)
        for guest, mark in zip(self.guests, marks, strict=True):
            guest.has_power("on")
            guest.is_up(since=mark)

    def _found(self) -> int:
        return sum(guest.found() for guest in self.guests)

    def _all_available(self) -> None:
        def available() -> bool:
            servers = self.site.ask("server", "list")["servers"]
            for each in servers:
                must(
                    each["state"] not in {"QUARANTINED", "ENROLLED"} or not each["reason"],
                    f"{each['name']} is {each['state']}: {each['reason']}",
                )
            return all(each["state"] == "AVAILABLE" for each in servers)

        eventually(available, "both servers are AVAILABLE", within_s=WIPED_S)
