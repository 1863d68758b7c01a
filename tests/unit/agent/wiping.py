"""One disk in a file, taken through mark, erase, verify and judge as a server's disks are."""

import os
import random
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from provisioner.agent.erase import erase_targets
from provisioner.agent.marks import survey_targets
from provisioner.agent.targets import Target
from provisioner.agent.tool import NOT_THERE, ToolEnded
from provisioner.agent.verify import verify_targets
from provisioner.wipe.choose import choose, leaves
from provisioner.wipe.judge import DiskWipe, WipePolicy, judge
from provisioner.wipe.orders import (
    DiskReference,
    DiskToErase,
    DiskToVerify,
    EraseOrder,
    VerifyOrder,
)

KEY = bytes(range(32))
MIB = 1 << 20


class Journal:
    """order.Link that remembers."""

    def __init__(self):
        self.lines = []
        self.reached = []

    def progress(self, done_bytes, total_bytes, *, disk="", note=""):
        self.reached.append((done_bytes, total_bytes))

    def journal(self, line):
        self.lines.append(line)

    def fetch(self, url, *, start=0, length=None):
        raise AssertionError(url)


def no_tools(argv, limit_s):
    return ToolEnded(status=NOT_THERE)


@lru_cache(maxsize=8)
def tenant_data(length, seed=1):
    """Text, which no method may leave behind."""
    words = random.Random(seed).choices(["alpha", "beta", "gamma", "delta"], k=length // 4)
    return " ".join(words).encode()[:length]


@dataclass
class OneDisk:
    """A disk in a file."""

    path: Path
    run: object = no_tools
    serial: str = "S1"
    unit: str = ""
    link: Journal = field(default_factory=Journal)

    @property
    def reference(self):
        with self.path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
        return DiskReference(serial=self.serial, wwn=None, bytes=size, model="file")

    @property
    def target(self):
        return Target(
            reference=self.reference, path=str(self.path), unit=self.unit or str(self.path)
        )

    def survey(self, most=64):
        return survey_targets([self.target], KEY, most, self.run).disks[0]

    def erase(self, *methods, canaries=16):
        order = EraseOrder(
            disks=(DiskToErase(disk=self.reference, methods=methods),),
            key=KEY.hex(),
            canaries=canaries,
        )
        return erase_targets(order, [self.target], self.link, self.run, pause=_none).disks[0]

    def verify(self, *methods, marks=(), turns=None, seed=1, canaries=16, samples=None):
        disk = DiskToVerify(
            disk=self.reference,
            leaves=leaves(methods),
            turns=len(methods) if turns is None else turns,
            marks=marks,
        )
        given = {} if samples is None else {"samples": samples}
        order = VerifyOrder(disks=(disk,), key=KEY.hex(), canaries=canaries, **given)
        generator = random.Random(seed)
        return verify_targets(order, [self.target], self.link, self.run, generator).disks[0]

    def wipe(self, policy=None, methods=None):
        """All of it; answers the verdict."""
        policy = policy or WipePolicy()
        survey = self.survey()
        choice = choose(survey.capabilities, at_least=policy.at_least, wipe_class=policy.wipe_class)
        methods = methods or choice.methods
        erased = self.erase(*methods)
        verified = self.verify(*methods, marks=survey.marks)
        return judge(
            DiskWipe(
                disk=self.reference, survey=survey, choice=choice, erased=erased, verified=verified
            ),
            policy,
        )


def disk_of(path, size=4 * MIB, *, used=MIB, run=None):
    """A disk with a tenant's text at its beginning."""
    path.write_bytes(tenant_data(used))
    os.truncate(path, size)
    return OneDisk(path, **({"run": run(path)} if run else {}))


def _none(_seconds):
    return None
