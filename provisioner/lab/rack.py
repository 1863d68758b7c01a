"""The whole virtual rack: up, down, and what of it is there."""

import contextlib
import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab import bmc_ipmi, bmc_redfish, libvirt_daemon, namespaces, network, services
from provisioner.lab.layout import LabPaths, Layout, RawFile, ServerSpec
from provisioner.lab.probes import becomes_so, wait_for_tcp
from provisioner.lab.processes import Record, Running
from provisioner.lab.qemu import has_kvm
from provisioner.servers.model import ControllerProtocol

Say = Callable[[str], None]
_ANSWER_S = 30.0
_LOCK_S = 2.0
_PASSWORD_BYTES = 8
"""16 characters: what IPMI 1.5 can carry."""


class Rack:
    """One rack on this machine; all of it is recorded in its folder, nothing in this object.

    Args:
        layout: What it consists of.
        paths: Where its files are.
        say: Told one line a stage, with its seconds.
    """

    def __init__(self, layout: Layout, paths: LabPaths, *, say: Say = lambda _line: None) -> None:
        self.layout = layout
        self.paths = paths
        self.record = Record(run=paths.run, logs=paths.logs)
        self._say = say

    def up(self) -> None:
        """Start whatever is missing; servers keep their power, ports and disks.

        Raises:
            OperatorError: PERMISSION without root; LAB with the part that did not come up.
        """
        _need_root()
        if self.paths.is_too_long:
            raise OperatorError(
                ErrorCode.LAB, f"{self.paths.state} is too long a path for the sockets below it"
            )
        self._make_folders()
        with self._alone():
            with self._stage("networks"):
                network.up(self.layout)
            with self._stage("disks"):
                self._make_disks()
            with self._stage("DHCP and blobs"):
                services.up(self.layout, self.paths, self.record)
            self._controllers_up(kvm=has_kvm())
            self._need_all()

    def down(self) -> None:
        """End everything that runs and take the networks away; files stay. Safe to repeat."""
        _need_root()
        if not self.paths.state.exists():
            self._sweep()
            return
        with self._alone():
            with self._stage("services ended"):
                services.down(self.record)
            with self._stage("machines off, controllers ended"):
                for server in self._behind(ControllerProtocol.IPMI):
                    bmc_ipmi.down(self.paths, self.record, server)
                redfish = self._behind(ControllerProtocol.REDFISH)
                for server in redfish:
                    self.record.stop(bmc_redfish.process_name(server))
                libvirt_daemon.down(self.layout, self.record, redfish)
                for name in self.record.names():
                    self.record.stop(name)
            with self._stage("networks removed"):
                self._sweep()

    def forget(self) -> None:
        """Remove the rack's files, disks included, after `down`."""
        self.down()
        shutil.rmtree(self.paths.state, ignore_errors=True)

    def processes(self) -> dict[str, Running]:
        """What runs, by name; a server's QEMU is found below its controller."""
        running = {name: self.record.running(name) for name in self.record.names()}
        machines = {
            f"qemu-{server.name}": bmc_ipmi.running(self.paths, server)
            for server in self._behind(ControllerProtocol.IPMI)
        }
        return {name: each for name, each in (running | machines).items() if each is not None}

    def _controllers_up(self, *, kvm: bool) -> None:
        ipmi = self._behind(ControllerProtocol.IPMI)
        redfish = self._behind(ControllerProtocol.REDFISH)
        with self._stage("IPMI controllers"):
            for server in ipmi:
                bmc_ipmi.up(self.layout, self.paths, self.record, server, kvm=kvm)
        with self._stage("libvirt"):
            is_new = bool(redfish) and libvirt_daemon.up(
                self.layout, self.paths, self.record, redfish, kvm=kvm
            )
        with self._stage("Redfish controllers"):
            for server in redfish:
                if is_new:  # its connection to the old libvirt is dead for good
                    self.record.stop(bmc_redfish.process_name(server))
                bmc_redfish.up(self.layout, self.paths, self.record, server)
            for server in redfish:
                wait_for_tcp(
                    self.layout.rack,
                    str(server.controller),
                    server.controller_port,
                    what=f"the controller of {server.name}",
                    within_s=_ANSWER_S,
                )

    def _need_all(self) -> None:
        """All but the service, which may be down while the rack stands."""
        for name in self.record.names():
            if name != services.SERVICE:
                self.record.need(name)

    def _behind(self, protocol: ControllerProtocol) -> list[ServerSpec]:
        return [server for server in self.layout.servers if server.protocol is protocol]

    def _make_folders(self) -> None:
        for folder in (self.paths.state, self.paths.logs, self.paths.run, self.paths.disks):
            folder.mkdir(parents=True, exist_ok=True)
        for server in self.layout.servers:
            self.paths.server(server).mkdir(parents=True, exist_ok=True)
            password = self.paths.password(server)
            if not password.exists():
                password.touch(mode=0o600)
                password.write_text(secrets.token_hex(_PASSWORD_BYTES) + "\n")

    def _make_disks(self) -> None:
        """Once, and never opened for writing here again: what is in them is the servers'."""
        for server in self.layout.servers:
            for disk in server.disks:
                file = self.paths.disk(disk)
                if isinstance(disk.source, RawFile) and not file.exists():
                    with file.open("xb") as new:
                        new.truncate(disk.source.size_bytes)

    def _sweep(self) -> None:
        """Whoever is left in our namespaces is ours: also what a killed run did not record."""
        for namespace in (self.layout.rack, self.layout.tenant):
            for pid in namespaces.dwellers(namespace):
                left = Running.of(pid)
                if left is not None and pid != os.getpid():
                    left.end()
        network.down(self.layout)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One `up` or `down` at a time.

        A command that was killed may leave a child that has not begun its own program: until it
        has, it holds the lock too.
        """
        with (self.paths.state / "lock").open("w") as lock:
            if not becomes_so(lambda: _locked(lock), _LOCK_S):
                brief = "the lab is being started or stopped by another command"
                raise OperatorError(ErrorCode.LAB, brief)
            yield

    @contextlib.contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._say(f"{name:<24} {time.monotonic() - began:5.1f} s")


def _locked(lock: TextIO) -> bool:
    with contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _need_root() -> None:
    if os.geteuid():
        raise OperatorError(
            ErrorCode.PERMISSION, "the lab makes network namespaces and bridges: run it as root"
        )
