"""The rack's services: DHCP and TFTP, blobs, and Rackwright itself, each in the namespace."""

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from provisioner.boot import dnsmasq, ipxe, nginx
from provisioner.lab import enclosure
from provisioner.lab.layout import (
    BLOBS_PORT,
    HTTPS_PORT,
    LEASES,
    PROVISIONING,
    PROVISIONING_BRIDGE,
    SCRIPT_URL,
    SERVICE_UID,
    LabPaths,
    Layout,
)
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.probes import tcp_answers, wait_for_tcp
from provisioner.lab.processes import Record

DHCP = "dnsmasq"
BLOBS = "nginx"
SERVICE = "rackwright"
_LOADERS = Path("/usr/lib/ipxe")
_START_S = 30.0
_STOP_S = 30.0


def up(layout: Layout, paths: LabPaths, record: Record) -> None:
    """Start DHCP and blobs with the configuration that production gets as well."""
    _make_folders(paths)
    for loader in (dnsmasq.BIOS_LOADER, dnsmasq.UEFI_LOADER):
        shutil.copyfile(_LOADERS / loader, paths.tftp / loader)
    (paths.tftp / dnsmasq.FIRST_SCRIPT).write_text(ipxe.ask(SCRIPT_URL))
    dhcp = paths.state / "dhcp" / "dnsmasq.conf"
    dhcp.write_text(dnsmasq.configuration(_dhcp(paths)))
    argv = ["dnsmasq", "--keep-in-foreground", f"--conf-file={dhcp}"]
    record.start(DHCP, argv_inside(layout.rack, argv))
    blobs = paths.state / "nginx" / "nginx.conf"
    blobs.write_text(nginx.configuration(_blobs(paths)))
    record.start(BLOBS, argv_inside(layout.rack, ["nginx", "-c", str(blobs)]))
    wait_for_tcp(
        layout.rack, str(PROVISIONING.ip), BLOBS_PORT, what="the blob server", within_s=_START_S
    )


def down(record: Record) -> None:
    """End them; the service first, so that it sees its surroundings to the end."""
    stop_service(record)
    for name in (BLOBS, DHCP):
        record.stop(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceStart:
    """How the service is started, and what others need to know of it.

    Attributes:
        argv: The command line of its unit: `rackwright serve --config FILE`.
        readable: Folders of the program and its data that a user who is not root must be able
            to reach; the rack's own folder is always among them.
        extension: Unix socket for verbs, as `operators` is for operators.
        operators_url: "" where it listens on the socket only.
        entry: The argv that is ready for a verb, configuration included.
        evidence_key: Public key, PEM.
    """

    argv: tuple[str, ...]
    readable: tuple[str, ...]
    extension: str
    operators: str
    operators_url: str
    provisioning_url: str
    ca: str
    database: str
    entry: tuple[str, ...]
    evidence_key: str


def start_service(
    layout: Layout,
    paths: LabPaths,
    record: Record,
    service: ServiceStart,
    *,
    environ: Mapping[str, str] | None = None,
) -> bool:
    """Start it as its unit would: an own numeric user, one capability; False: it runs already."""
    (paths.state / "service.json").write_text(json.dumps(asdict(service), indent=1))
    folders = [*service.readable, str(paths.state)]
    kept = [word for folder in folders for word in ("keep", folder)]
    program = [sys.executable, "-I", "-S", enclosure.__file__, *kept, "run"]
    argv = ["unshare", "--mount", "--propagation", "private", *program, *as_service(service.argv)]
    started = record.start(SERVICE, argv_inside(layout.rack, argv), environ=environ)
    address = str(PROVISIONING.ip)

    def answers() -> bool:
        return tcp_answers(layout.rack, address, HTTPS_PORT, within_s=1.0)

    record.wait_for(SERVICE, answers, _START_S)
    return started


def stop_service(record: Record) -> None:
    """End it cleanly; safe to repeat."""
    record.stop(SERVICE, patience_s=_STOP_S)


def known_service(paths: LabPaths) -> ServiceStart | None:
    """As it was started last in this rack."""
    try:
        kept = json.loads((paths.state / "service.json").read_text())
    except FileNotFoundError:
        return None
    lists = {name: tuple(kept[name]) for name in ("argv", "readable", "entry")}
    return ServiceStart(**(kept | lists))


def as_service(argv: Sequence[str]) -> list[str]:
    """The command with the service's rights: moving ports is the only thing that needs any."""
    number = str(SERVICE_UID)
    return [
        "setpriv",
        f"--reuid={number}",
        f"--regid={number}",
        "--clear-groups",
        "--inh-caps=-all,+net_admin",
        "--ambient-caps=-all,+net_admin",
        "--bounding-set=-all,+net_admin",
        "--no-new-privs",
        *argv,
    ]


def _make_folders(paths: LabPaths) -> None:
    """The service owns what it writes; DHCP's log is there before, since it must read it."""
    for folder in (paths.hosts, paths.blobs, paths.service):
        folder.mkdir(parents=True, exist_ok=True)
        os.chown(folder, SERVICE_UID, SERVICE_UID)
    paths.service.chmod(0o750)
    for folder in (paths.tftp, paths.state / "nginx"):
        folder.mkdir(parents=True, exist_ok=True)
    paths.dhcp_log.touch(mode=0o644)


def _dhcp(paths: LabPaths) -> dnsmasq.DhcpServer:
    """Root: the folder may lie in a home that is closed to others."""
    home = paths.state / "dhcp"
    return dnsmasq.DhcpServer(
        interface=PROVISIONING_BRIDGE,
        address=PROVISIONING.ip,
        first=LEASES[0],
        last=LEASES[1],
        netmask=PROVISIONING.netmask,
        hosts=paths.hosts,
        tftp=paths.tftp,
        lease_file=home / "leases",
        log_file=paths.dhcp_log,
        pid_file=home / "dnsmasq.pid",
        user="root",
    )


def _blobs(paths: LabPaths) -> nginx.BlobServer:
    return nginx.BlobServer(
        address=str(PROVISIONING.ip),
        port=BLOBS_PORT,
        blobs=paths.blobs,
        run=paths.state / "nginx",
        logs=paths.logs,
        user="root",
    )
