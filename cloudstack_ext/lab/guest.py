"""One instance of the lab, seen from all sides: CloudStack, its tenant, the rack's outside."""

import secrets
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.controllers import outside_power
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import LabInstance, lab_payload
from cloudstack_ext.lab.site import LabSite
from cloudstack_ext.lab.tenant import Tenant, make_key
from cloudstack_ext.management_server.by_hand import ByHand
from cloudstack_ext.management_server.entry_point import Called
from cloudstack_ext.power_view import PowerState
from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab.canaries import find
from provisioner.lab.layout import ServerSpec
from provisioner.lab.probes import becomes_so
from provisioner.lab.serial_log import SerialLog

WAIT = 1800
"""What a management server gives a verb by default (its setting `wait`)."""
READY_S = 900.0
"""A cloud image under emulation on a busy machine."""
LOOK_S = 2.0
READY = r"RACKWRIGHT-\w+-READY"
"""What both images write on their console once they are up."""


def must(truth: bool, what: str) -> None:  # noqa: FBT001 reads as a sentence
    """Raise unless it is so.

    Raises:
        OperatorError: LAB, saying what is not as it must be.
    """
    if not truth:
        raise OperatorError(ErrorCode.LAB, f"not as it must be: {what}")


def eventually(seen: Callable[[], bool], what: str, *, within_s: float = READY_S) -> None:
    """Look again and again; raises like `must` when it does not become so in time."""
    must(becomes_so(seen, within_s, every_s=LOOK_S), f"{what}, within {within_s:.0f} s")


@dataclass(slots=True)
class Guest:
    """One instance.

    Attributes:
        server: Which server it got; known after `prepare`.
        marks: What its tenant wrote onto its disks.
    """

    site: LabSite
    instance: LabInstance
    tenant: Tenant
    management: ByHand
    server: ServerSpec | None = None
    marks: tuple[bytes, ...] = ()

    @classmethod
    def of(cls, site: LabSite, folder: Path, name: str, *, image: str, user_data: bytes) -> "Guest":
        """A new one with a key pair of its own; nothing is asked for it yet."""
        key = make_key(folder, name)
        hostname = f"{name}-{secrets.token_hex(2)}"
        instance = instance_of(
            hostname,
            number=site.numbers.of(hostname),
            image=image,
            ssh_key=key.with_suffix(".pub").read_text().strip(),
            user_data=user_data,
        )
        return cls(
            site=site,
            instance=instance,
            tenant=Tenant(layout=site.rack.layout, instance=instance, key=key),
            management=ByHand(entry=site.entry(), folder=folder / "payloads"),
        )

    def ask(self, verb: Verb, *, wait: int = WAIT) -> Called:
        """One verb, as the management server sends it."""
        return self.management.call(verb.value, lab_payload(verb, self.instance), wait)

    def call(self, verb: Verb) -> Called:
        """The same; it must succeed."""
        called = self.ask(verb)
        must(not called.failure, f"{verb} of {self.instance.hostname}: {called.failure}")
        return called

    def prepare(self) -> ServerSpec:
        """The server that is kept for it, by the MAC that the answer put into its NIC."""
        self.call(Verb.PREPARE)
        mac = self.management.mac_of(self.instance.nic_uuid)
        self.server = next(each for each in self.site.rack.layout.servers if each.mac == mac)
        return self.server

    def spec(self) -> ServerSpec:
        """Its server."""
        assert self.server is not None
        return self.server

    def console(self) -> SerialLog:
        """What its server's serial port said."""
        return SerialLog(self.site.rack.paths.serial_log(self.spec()))

    def is_up(self, *, since: int = 0) -> None:
        """Its system says so on the console, and takes a login."""
        self.console().wait_for(READY, since=since, within_s=READY_S)
        eventually(self.tenant.answers, f"a login into {self.instance.hostname}")

    def has_power(self, wanted: str) -> None:
        """Its controller says so, asked by another tool than the service's."""
        power = outside_power(self.site.rack, self.spec())
        must(power == wanted, f"the controller of {self.spec().name} says {power}, not {wanted}")

    def has_status(self, wanted: PowerState) -> None:
        """CloudStack is told so, soon."""

        def agrees() -> bool:
            return self.call(Verb.STATUS).power_state() is wanted

        eventually(agrees, f"status of {self.instance.hostname} is {wanted}", within_s=90.0)

    def write_marks(self, marks: tuple[bytes, ...]) -> None:
        """Spread over all disks of its server, from inside its system."""
        disks = self.tenant.disks()
        must(len(disks) == len(self.spec().disks), "the tenant sees all disks of its server")
        share = len(marks) // len(disks)
        for number, (disk, size) in enumerate(disks):
            end = len(marks) if number == len(disks) - 1 else (number + 1) * share
            self.tenant.write(disk, size, marks[number * share : end])
        self.marks = marks

    def found(self) -> int:
        """How many of its marks lie on its disks' files, looked at from outside."""
        files = [self.site.rack.paths.disk(disk) for disk in self.spec().disks]
        return len(find(files, self.marks))


def make_guests(
    site: LabSite, folder: Path, images: Sequence[str], user_data: bytes
) -> list[Guest]:
    """Alpha, beta and so on, each in a network of its own; the folder is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return [
        Guest.of(site, folder, name, image=image, user_data=user_data % name.encode())
        for name, image in zip(("alpha", "beta", "gamma"), images, strict=False)
    ]
