"""libvirt without a service manager, for one rack alone.

It runs by hand in the rack's namespace, with folders of its own bound over the machine's: the
machine's libvirt, if it has one, is neither used nor seen.
"""

import json
import os
import shlex
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab import enclosure, libvirt_hook
from provisioner.lab.commands import attempt
from provisioner.lab.layout import LabPaths, Layout, ServerSpec
from provisioner.lab.libvirt_domain import domain
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.processes import Record

LOGGER = "virtlogd"
DAEMON = "libvirtd"
URI = "qemu:///system"
POOL = "default"
"""Where inserted media are put."""
_START_S = 60.0
"""libvirt asks QEMU for its abilities at the first start: 4 s, more on a busy machine."""
_NULL_DEVICE = (1, 3)
_SETTINGS = {
    "libvirtd.conf": 'auth_unix_rw = "none"\nauth_unix_ro = "none"\nunix_sock_rw_perms = "0700"\n',
    # a console that is rolled over is no record
    "virtlogd.conf": "max_size = 0\n",
    "qemu.conf": 'security_driver = "none"\n',
}


def domain_name(layout: Layout, server: ServerSpec) -> str:
    """Names of domains become names of control groups, which the whole machine shares."""
    return f"{layout.prefix}-{server.name}"


def up(
    layout: Layout, paths: LabPaths, record: Record, servers: Sequence[ServerSpec], *, kvm: bool
) -> bool:
    """Start libvirt with its log keeper, its pool for virtual media, and define the servers.

    Answers whether it was started: whoever is connected to the old one must connect anew.
    """
    home = paths.state / "libvirt"
    _write_settings(layout, paths, home, servers)
    view = [*_binds(paths, home, kvm=kvm), *_kept(paths)]
    program = [sys.executable, "-I", "-S", enclosure.__file__, *view, "run"]
    enclosed = ["unshare", "--mount", "--propagation", "private", *program]
    keeper = [*enclosed, "virtlogd", "--pid-file", str(home / "virtlogd.pid")]
    socket = home / "run" / "virtlogd-sock"
    if record.running(LOGGER) is None:
        # only once it is there again has the log keeper the view that libvirt is to share
        socket.unlink(missing_ok=True)
    record.start(LOGGER, argv_inside(layout.rack, keeper))
    record.wait_for(LOGGER, socket.exists, _START_S)
    daemon = ["libvirtd", "--pid-file", str(home / "libvirtd.pid")]
    is_new = record.start(DAEMON, argv_inside(layout.rack, [*same_view(record), *daemon]))
    record.wait_for(DAEMON, lambda: virsh(record, "version")[0] == 0, _START_S)
    _define_pool(paths, record)
    for server in servers:
        _define(layout, paths, record, server, kvm=kvm)
    return is_new


def down(layout: Layout, record: Record, servers: Sequence[ServerSpec]) -> None:
    """Take the mains away from the servers, then end libvirt and its log keeper."""
    if record.running(DAEMON) is not None:
        for server in servers:
            virsh(record, "destroy", domain_name(layout, server))
    record.stop(DAEMON, patience_s=15.0)
    record.stop(LOGGER)


def virsh(record: Record, *arguments: str) -> tuple[int, str]:
    """Status and output of one call to the rack's own libvirt."""
    ended = attempt([*same_view(record), "virsh", "-q", "-c", URI, *arguments])
    return ended.returncode, ended.stdout + ended.stderr


def same_view(record: Record) -> list[str]:
    """In the view of the file system that the log keeper made."""
    keeper = record.running(LOGGER)
    if keeper is None:
        raise OperatorError(ErrorCode.LAB, "libvirt's log keeper does not run; rackwright lab up")
    return ["nsenter", f"--mount=/proc/{keeper.pid}/ns/mnt"]


def _binds(paths: LabPaths, home: Path, *, kvm: bool) -> list[str]:
    pairs = {
        home / "etc": "/etc/libvirt",
        home / "run": "/run/libvirt",
        home / "lib": "/var/lib/libvirt",
        home / "log": "/var/log/libvirt",
        # what QEMU can do, found out once for all racks
        paths.cache / "libvirt": "/var/cache/libvirt",
    }
    if not kvm and Path("/dev/kvm").exists():
        pairs[home / "no-kvm"] = "/dev/kvm"
    return [word for source, target in pairs.items() for word in ("bind", str(source), target)]


def _kept(paths: LabPaths) -> list[str]:
    """What QEMU's own user and the emulators must reach, though a home may be closed."""
    package = Path(libvirt_hook.__file__).parent
    folders = (str(paths.state), sys.prefix, str(package))
    return [word for folder in folders for word in ("keep", folder)]


def _write_settings(
    layout: Layout, paths: LabPaths, home: Path, servers: Sequence[ServerSpec]
) -> None:
    for name in ("etc/hooks", "run", "lib", "log", "pool"):
        (home / name).mkdir(parents=True, exist_ok=True)
    (paths.cache / "libvirt").mkdir(parents=True, exist_ok=True)
    for name, text in _SETTINGS.items():
        (home / "etc" / name).write_text(text)
    _hide_kvm(home / "no-kvm")
    logs = home / "power-logs.json"
    named = {domain_name(layout, server): str(paths.power_log(server)) for server in servers}
    logs.write_text(json.dumps(named))
    hook = home / "etc" / "hooks" / "qemu"
    command = [sys.executable, "-I", "-S", libvirt_hook.__file__, str(logs)]
    hook.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    hook.chmod(0o755)


def _hide_kvm(device: Path) -> None:
    """A character device without any right stands in for /dev/kvm where KVM is not real.

    Readable, libvirt finds "KVM usable now" at each call and asks QEMU anew for its abilities, a
    minute a call; a plain file breaks the /dev that libvirt makes for each domain.
    """
    if not device.exists():
        os.mknod(device, stat.S_IFCHR, os.makedev(*_NULL_DEVICE))
        device.chmod(0)


def _define_pool(paths: LabPaths, record: Record) -> None:
    """Where sushy-emulator puts inserted media."""
    if virsh(record, "pool-info", POOL)[0]:
        folder = paths.state / "libvirt" / "pool"
        _must(record, "pool-define-as", POOL, "dir", "--target", str(folder))
    if "running" not in virsh(record, "pool-list")[1] and POOL not in virsh(record, "pool-list")[1]:
        _must(record, "pool-start", POOL)


def _define(
    layout: Layout, paths: LabPaths, record: Record, server: ServerSpec, *, kvm: bool
) -> None:
    """Define it where our text changed; the boot order, which Redfish changes, is kept."""
    name = domain_name(layout, server)
    text = domain(server, paths, name, kvm=kvm)
    kept = paths.server(server) / "domain.xml"
    is_known = virsh(record, "domuuid", name)[0] == 0
    if is_known and kept.exists() and kept.read_text() == text:
        return
    wanted = kept.with_name(".domain.xml")
    wanted.write_text(text)
    _must(record, "define", str(wanted))
    wanted.replace(kept)


def _must(record: Record, *arguments: str) -> None:
    status, said = virsh(record, *arguments)
    if status:
        raise OperatorError(
            ErrorCode.LAB, f"virsh {arguments[0]} failed: {said.strip().splitlines()[-1]}"
        )
