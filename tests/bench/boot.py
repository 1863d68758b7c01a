"""From the kernel's start to the agent's call-in, beside a ramdisk of nothing but busybox.

Both start the same kernel in the same machine, without acceleration. Seconds are those of the
kernel's own clock, as both print them; what passes before it (QEMU's start, loading kernel and
ramdisk) is shown apart.
"""

import re
import subprocess
import tempfile
import time
from pathlib import Path

from tests.bench.figure import Run, beside

ROUNDS = 5
MOST_ABOVE_S = 5.0
PEER = "a ramdisk of busybox alone, same kernel"
LIMIT_S = 300
CALLED_IN = re.compile(r"agent \[([0-9.]+)\] called in as")
BUSYBOX_UP = re.compile(r"busybox \[([0-9.]+)\]")
BUSYBOX = Path("/bin/busybox")
INIT = b"""#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
read -r up rest < /proc/uptime
echo "busybox [$up]"
/bin/busybox poweroff -f
"""
TOKEN = "token-of-this-boot"


def figures():
    """Two figures; the ramdisk is built when it is not in the cache."""
    from provisioner.ramdisk.build import build, shipped_lock

    cache = Path.home() / ".cache" / "rackwright"
    with tempfile.TemporaryDirectory(prefix="rackwright-bench-") as name:
        folder = Path(name)
        build(shipped_lock(), cache, folder / "ramdisk")
        (folder / "busybox.img").write_bytes(_busybox_only())
        ours, bare = [], []
        for _ in range(ROUNDS):
            bare.append(_boot(folder, folder / "busybox.img", "", BUSYBOX_UP))
            ours.append(_ours(folder))
        commands = [
            " ".join(_argv(folder, folder / initrd, "..."))
            for initrd in ("both.img", "busybox.img")
        ]
    up, loading = (
        [
            Run(command=command, values=[each[which] for each in booted])
            for command, booted in zip(commands, (ours, bare), strict=True)
        ]
        for which in (0, 1)
    )
    above = up[0].median - up[1].median
    return [
        beside(
            "kernel's start to the agent's call-in",
            "s",
            up[0],
            PEER,
            up[1],
            limit=f"<= {MOST_ABOVE_S:g} s above",
            holds=above <= MOST_ABOVE_S,
        ),
        beside("loading, before the kernel's start", "s", loading[0], PEER, loading[1]),
    ]


def _ours(folder):
    """With a service that answers the agent over TLS and has one order: power off."""
    from provisioner.ramdisk.record import INITRD_FILE
    from provisioner.ramdisk.site import site_archive
    from tests.unit.agent.scripted_service import SEEN_BY_GUESTS, ScriptedService, make_authority

    authority = make_authority(folder, "site")
    service = ScriptedService(folder / "site.pem")
    service.orders = [{"order": 1, "epoch": 3, "kind": "power_off", "parameters": {}}]
    url = f"https://{SEEN_BY_GUESTS}:{service.port}"
    both = folder / "both.img"
    site = site_archive(authority.read_bytes(), url)
    both.write_bytes((folder / "ramdisk" / INITRD_FILE).read_bytes() + site)
    words = f"rackwright.url={url} rackwright.token={TOKEN} rackwright.now={int(time.time())}"
    try:
        return _boot(folder, both, words, CALLED_IN)
    finally:
        service.stop()


def _busybox_only():
    from provisioner.ramdisk.cpio import archive, file_entry, folder_entry

    entries = [
        folder_entry("bin"),
        file_entry("bin/busybox", BUSYBOX.read_bytes(), permissions=0o755),
        folder_entry("dev"),
        file_entry("init", INIT, permissions=0o755),
        folder_entry("proc"),
    ]
    packed = b"".join(archive(entries, date=0))
    zstd = ["zstd", "-q", "-c", "-3"]
    return subprocess.run(zstd, input=packed, capture_output=True, check=True).stdout


def _argv(folder, initrd, words):
    line = f"console=ttyS0 quiet rackwright.mac=52:54:00:00:00:01 {words}".strip()
    return [
        *("qemu-system-x86_64", "-machine", "q35,graphics=off", "-accel", "tcg"),
        *("-cpu", "qemu64", "-m", "1024", "-display", "none", "-nodefaults"),
        *("-serial", "stdio", "-no-reboot"),
        *("-netdev", "user,id=n0"),
        *("-device", "virtio-net-pci,netdev=n0,mac=52:54:00:00:00:01"),
        *("-kernel", str(folder / "ramdisk" / "vmlinuz"), "-initrd", str(initrd)),
        *("-append", line),
    ]


def _boot(folder, initrd, words, sign):
    """The kernel's seconds at the sign, and the seconds before its clock began."""
    argv = _argv(folder, initrd, words)
    began = time.monotonic()
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as machine:
        try:
            seen = _until(machine, sign, began + LIMIT_S)
            passed = time.monotonic() - began
            machine.wait(60)
        finally:
            machine.kill()
    return seen, max(0.0, passed - seen)


def _until(machine, sign, end):
    console = []
    for line in machine.stdout:
        console.append(line)
        if found := sign.search(line):
            return float(found[1])
        if time.monotonic() > end:
            break
    raise AssertionError("not seen on the console:\n" + "".join(console[-40:]))
