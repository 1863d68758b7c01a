"""How fast a disk is overwritten and read back, beside dd and beside its own limits."""

import subprocess
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from provisioner.agent.erase import erase_targets
from provisioner.agent.marks import survey_targets
from provisioner.agent.targets import Target
from provisioner.agent.tool import NOT_THERE, ToolEnded
from provisioner.agent.verify import verify_targets
from provisioner.wipe.commands import OVERWRITE_BLOCK_BYTES
from provisioner.wipe.method import Leaves, Method
from provisioner.wipe.orders import (
    DiskReference,
    DiskToErase,
    DiskToVerify,
    EraseOrder,
    VerifyOrder,
)
from tests.bench.figure import Run, beside
from tests.rack.lying.device import device

MIB = 1 << 20
ROUNDS = 5
DISK_BYTES = 2048 * MIB
KEY = bytes(range(32))
SLOW_DISKS = 8
SLOW_BYTES = 64 * MIB
SLOWEST, OTHERS = "64M", "128M"
"""Bits a second: 8 and 16 MB/s, so that the disks and not this machine are the limit."""


class Silent:
    """order.Link of nobody."""

    def progress(self, done_bytes, total_bytes, *, disk="", note=""):
        pass

    def fetch(self, url, *, start=0, length=None):
        raise AssertionError(url)

    def journal(self, line):
        pass


def figures():
    """All figures of a wipe, each beside its peer or limit of the same run. Needs root."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="rackwright-bench-") as folder:
        return [*_one_disk(Path(folder)), _eight_disks(Path(folder))]


def _one_disk(folder):
    path = folder / "disk"
    argv = [
        "dd",
        "if=/dev/zero",
        f"of={path}",
        f"bs={OVERWRITE_BLOCK_BYTES}",
        f"count={DISK_BYTES // OVERWRITE_BLOCK_BYTES}",
        "oflag=direct",
        "conv=fsync,notrunc",
    ]
    _fill(path)
    target = _target(path, DISK_BYTES)
    ours, theirs, reading = [], [], []
    for _ in range(ROUNDS):
        theirs.append(_seconds(lambda: subprocess.run(argv, check=True, capture_output=True)))
        marks = survey_targets([target], KEY, 128, _no_tools).disks[0].marks
        ours.append(_seconds(lambda: _erase([target])))
        reading.append(_seconds(lambda marks=marks: _verify(target, marks)))
    command = f"agent.erase.erase_targets: overwrite {DISK_BYTES} bytes in a file"
    speed = Run(command=command, values=[DISK_BYTES / MIB / each for each in ours])
    peer = Run(command=" ".join(argv), values=[DISK_BYTES / MIB / each for each in theirs])
    overwriting = Run(command=command, values=ours)
    verifying = Run(
        command="agent.verify.verify_targets: 13809 samples, both ends, marks, canaries",
        values=reading,
    )
    share = verifying.median / overwriting.median
    return [
        beside(
            "overwrite",
            "MiB/s",
            speed,
            "dd, same block size, direct, fsync",
            peer,
            limit="ratio >= 0.95",
            holds=speed.median >= 0.95 * peer.median,
        ),
        beside(
            "verification",
            "s",
            verifying,
            "the overwrite before it",
            overwriting,
            limit="<= 5 % of the overwrite or <= 30 s",
            holds=share <= 0.05 or verifying.median <= 30,
        ),
    ]


def _eight_disks(folder):
    """Eight disks, each with a speed of its own, against the slowest of them alone."""
    with ExitStack() as stack:
        targets = []
        for number in range(SLOW_DISKS):
            rate = SLOWEST if number == 0 else OTHERS
            words = ("--filter=rate", "memory", str(SLOW_BYTES), f"rate={rate}")
            loop = stack.enter_context(device(folder / f"slow{number}", *words))
            targets.append(_target(Path(loop), SLOW_BYTES, serial=f"S{number}"))
        # a bucket lets the first second through at full speed
        _erase(targets)
        alone, together = [], []
        for _ in range(3):
            alone.append(_seconds(lambda: _erase(targets[:1])))
            together.append(_seconds(lambda: _erase(targets)))
    disks = f"of {SLOW_BYTES} bytes, nbdkit --filter=rate rate={SLOWEST}"
    erase = "agent.erase.erase_targets:"
    ours = Run(command=f"{erase} {SLOW_DISKS} disks {disks} once and {OTHERS}", values=together)
    theirs = Run(command=f"{erase} one disk {disks}", values=alone)
    return beside(
        "eight disks at once",
        "s",
        ours,
        "the slowest of them alone",
        theirs,
        limit="ratio <= 1.15",
        holds=ours.median <= 1.15 * theirs.median,
    )


def _fill(path):
    with path.open("wb") as file:
        for _ in range(DISK_BYTES // MIB):
            file.write(b"\xa5\x5a" * (MIB // 2))


def _target(path, size, *, serial="S"):
    reference = DiskReference(serial=serial, wwn=None, bytes=size, model="bench")
    return Target(reference=reference, path=str(path), unit=str(path))


def _erase(targets):
    disks = tuple(
        DiskToErase(disk=target.reference, methods=(Method.OVERWRITE,)) for target in targets
    )
    order = EraseOrder(disks=disks, key=KEY.hex())
    erasures = erase_targets(order, targets, Silent(), _no_tools)
    assert all(run.status == "done" for disk in erasures.disks for run in disk.runs)


def _verify(target, marks):
    disk = DiskToVerify(disk=target.reference, leaves=Leaves.ZERO, turns=1, marks=marks)
    order = VerifyOrder(disks=(disk,), key=KEY.hex())
    (seen,) = verify_targets(order, [target], Silent(), _no_tools).disks
    assert (seen.unwiped, seen.marks_left, seen.canaries_left, seen.error) == (0, 0, 0, "")


def _no_tools(argv, limit_s):
    """Disks in files have no log to read."""
    return ToolEnded(status=NOT_THERE)


def _seconds(act):
    begun = time.monotonic()
    act()
    return time.monotonic() - begun
