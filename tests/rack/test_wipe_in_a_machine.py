"""One machine of seven disks, honest and lying, wiped by the agent in the real ramdisk.

The liars are QEMU's disks over nbdkit; what is left is also read from the files behind them.
"""

import json
import random
import subprocess
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from provisioner.ramdisk.build import build, shipped_lock
from provisioner.wipe.blocks import mark_digest
from provisioner.wipe.choose import Choice, choose, leaves, reach
from provisioner.wipe.judge import DiskWipe, WipePolicy, judge
from provisioner.wipe.method import Method, WipeClass
from provisioner.wipe.orders import (
    DiskReference,
    DiskToErase,
    DiskToVerify,
    EraseOrder,
    Erasures,
    Mark,
    MarkOrder,
    RunStatus,
    Surveys,
    Verifications,
    VerifyOrder,
)
from provisioner.wipe.samples import BLOCK_BYTES
from tests.rack.lying.device import PLUGIN
from tests.rack.test_ramdisk import Booted

pytestmark = pytest.mark.rack

MIB = 1 << 20
SIZE = 36 * MIB
"""A little more than both ends."""
EVERYWHERE, MIDDLE = [[0, SIZE]], [[17 * MIB, 18 * MIB]]
KEY = bytes(range(32))
CACHE = Path.home() / ".cache" / "rackwright"
SATA, NVME, SCSI, VIRTIO = "ide-hd,bus=ahci0.{n}", "nvme", "scsi-hd,bus=scsi0.0", "virtio-blk-pci"
M = Method


@dataclass(frozen=True)
class Case:
    """One disk: how it hangs there, what is ordered, and how it lies."""

    device: str
    methods: tuple[Method, ...]
    rules: dict = field(default_factory=dict)
    discard: str = "unmap"


CASES = {
    "HONEST-NVME": Case(NVME, (M.NVME_FORMAT_ERASE,), discard="ignore"),
    "HONEST-SCSI": Case(SCSI, (M.DISCARD, M.OVERWRITE)),
    "NO-DISCARD": Case(VIRTIO, (M.DISCARD, M.OVERWRITE), discard="ignore"),
    "NO-SECURITY": Case(SATA, (M.ATA_ERASE,)),
    "STALE-NVME": Case(NVME, (M.NVME_FORMAT_ERASE,), {"deaf_to_zero": EVERYWHERE}),
    "DEAF-SATA": Case(SATA, (M.OVERWRITE,), {"deaf_to_write": MIDDLE, "deaf_to_zero": MIDDLE}),
    "BROKEN-VIRTIO": Case(VIRTIO, (M.OVERWRITE,), {"fails_write": MIDDLE}),
}


def references():
    models = {NVME: "QEMU NVMe Ctrl", SATA: "QEMU HARDDISK", SCSI: "QEMU QEMU HARDDISK"}
    return {
        serial: DiskReference(serial=serial, wwn=None, bytes=SIZE, model=models.get(case.device))
        for serial, case in CASES.items()
    }


REFERENCES = references()


def content(serial):
    """What the tenant left: nothing that is blank, so that every block is a mark."""
    return random.Random(serial).randbytes(SIZE)


def marks(serial):
    data = content(serial)
    return tuple(
        Mark(offset=at, digest=mark_digest(data[at : at + BLOCK_BYTES], KEY))
        for at in range(0, SIZE, 64 * BLOCK_BYTES)
    )


def orders():
    erase = [DiskToErase(disk=REFERENCES[name], methods=CASES[name].methods) for name in CASES]
    verify = [
        DiskToVerify(
            disk=REFERENCES[name],
            leaves=leaves(CASES[name].methods),
            turns=len(CASES[name].methods),
            marks=marks(name),
        )
        for name in CASES
    ]
    return [
        ("mark", MarkOrder(disks=tuple(REFERENCES.values()), key=KEY.hex()).to_json()),
        ("erase", EraseOrder(disks=tuple(erase), key=KEY.hex()).to_json()),
        ("verify", VerifyOrder(disks=tuple(verify), key=KEY.hex()).to_json()),
        ("power_off", {}),
    ]


@contextmanager
def drives(folder):
    """QEMU's words for all disks; the liars' nbdkits end with it."""
    words = ["-device", "ahci,id=ahci0", "-device", "virtio-scsi-pci,id=scsi0"]
    with ExitStack() as stack:
        for number, (serial, case) in enumerate(CASES.items()):
            file = folder / serial
            file.write_bytes(content(serial))
            source = _nbdkit(stack, folder, serial, case.rules) if case.rules else str(file)
            drive = f"file={source},format=raw,if=none,id=d{number},discard={case.discard}"
            device = case.device.format(n=number)
            words += ["-drive", drive, "-device", f"{device},drive=d{number},serial={serial}"]
        yield words


def _nbdkit(stack, folder, serial, rules):
    socket, told = folder / f"{serial}.socket", folder / f"{serial}.json"
    told.write_text(json.dumps(rules))
    argv = ["nbdkit", "-f", "-U", str(socket), "python", str(PLUGIN)]
    child = subprocess.Popen([*argv, f"file={folder / serial}", f"rules={told}"])
    stack.callback(child.wait, 10)
    stack.callback(child.terminate)
    until = time.monotonic() + 10
    while not socket.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    return f"nbd:unix:{socket}"


@dataclass(frozen=True)
class Wiped:
    folder: Path
    surveys: dict
    erased: dict
    verified: dict

    def verdict(self, serial):
        survey = self.surveys[serial]
        methods = CASES[serial].methods
        best = max((reach(each, survey.capabilities) for each in methods), key=WipeClass.rank)
        wipe = DiskWipe(
            disk=REFERENCES[serial],
            survey=survey,
            choice=Choice(methods=methods, reaches=best),
            erased=self.erased[serial],
            verified=self.verified[serial],
        )
        return judge(wipe, WipePolicy())

    def texts(self, serial):
        return " / ".join(finding.text for finding in self.verdict(serial).findings)

    def left(self, serial):
        """Blocks of the tenant that the file behind the disk still holds."""
        data, now = content(serial), (self.folder / serial).read_bytes()
        return [
            at
            for at in range(0, SIZE, BLOCK_BYTES)
            if now[at : at + BLOCK_BYTES] == data[at : at + BLOCK_BYTES]
        ]


@pytest.fixture(scope="module")
def wiped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wipe")
    ramdisk = folder / "ramdisk"
    build(replace(shipped_lock(), compression_level=1), CACHE, ramdisk)
    with drives(folder) as words:
        booted = Booted(ramdisk, folder, arguments=words, orders=orders(), limit_s=400)
    answers = [booted.results()[number] for number in (1, 2, 3)]
    assert [answer["error"] for answer in answers] == [None] * 3, booted.console[-2000:]
    kinds = (Surveys, Erasures, Verifications)
    read = [kind.from_json(each["result"]) for kind, each in zip(kinds, answers, strict=True)]
    by_serial = [{disk.disk.serial: disk for disk in each.disks} for each in read]
    return Wiped(folder, *by_serial)


def test_every_disk_says_what_it_can_do(wiped):
    assert choose(
        wiped.surveys["HONEST-NVME"].capabilities, at_least=1, wipe_class=WipeClass.CLEAR
    ).methods == (M.NVME_FORMAT_ERASE,)
    for serial in ("NO-SECURITY", "HONEST-SCSI", "NO-DISCARD"):
        capabilities = wiped.surveys[serial].capabilities
        chosen = choose(capabilities, at_least=1, wipe_class=WipeClass.CLEAR)
        assert chosen.methods == (M.OVERWRITE,)
    assert wiped.surveys["HONEST-NVME"].log.passed
    assert len(wiped.surveys["HONEST-NVME"].marks) == 128


@pytest.mark.parametrize("serial", ["HONEST-NVME", "HONEST-SCSI", "NO-DISCARD"])
def test_an_honest_disk_is_proven_and_its_file_holds_nothing(wiped, serial):
    assert wiped.texts(serial) == ""
    assert wiped.verdict(serial).reached is WipeClass.CLEAR
    assert wiped.verified[serial].samples == SIZE // BLOCK_BYTES
    assert wiped.left(serial) == []


def test_an_ignored_discard_is_seen_by_its_canaries(wiped):
    discard, overwrite = wiped.erased["NO-DISCARD"].runs
    assert (discard.status, discard.canaries_left) == (RunStatus.DONE, 64)
    assert overwrite.canaries_left == 0


def test_qemus_security_erase_says_success_and_erases_nothing(wiped):
    (run,) = wiped.erased["NO-SECURITY"].runs
    assert run.status is RunStatus.NO_EFFECT
    assert "no security feature, and said success" in wiped.texts("NO-SECURITY")
    assert wiped.left("NO-SECURITY")


def test_a_format_that_left_everything_is_seen_at_once_and_by_reading_back(wiped):
    assert "reported success and left" in wiped.texts("STALE-NVME")
    assert "old owner's data are still there" in wiped.texts("STALE-NVME")
    assert wiped.left("STALE-NVME")


def test_a_deaf_range_is_found(wiped):
    assert "samples are not wiped, the first at byte" in wiped.texts("DEAF-SATA")
    left = wiped.left("DEAF-SATA")
    assert (left[0], left[-1]) == (17 * MIB, 18 * MIB - BLOCK_BYTES)


def test_a_disk_that_fails_to_write_is_failed(wiped):
    codes = {finding.code for finding in wiped.verdict("BROKEN-VIRTIO").findings}
    assert "DISK_FAILED" in codes


@pytest.mark.parametrize("serial", ["NO-SECURITY", "STALE-NVME", "DEAF-SATA", "BROKEN-VIRTIO"])
def test_no_liar_reaches_any_class(wiped, serial):
    assert wiped.verdict(serial).reached is WipeClass.NONE
