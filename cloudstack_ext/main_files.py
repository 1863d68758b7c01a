"""Files that the service writes for dnsmasq and nginx, from its own settings, at each start."""

import os
import pwd
import shutil
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from urllib.parse import urlsplit

from provisioner.boot import dnsmasq, ipxe, nginx
from provisioner.config import Settings

LOADERS = Path("/usr/lib/ipxe")
"""Of Debian's package ipxe; another build of iPXE may lie in tftp_dir before."""
HTTP_PORT = 80


def write_boot_files(settings: Settings) -> None:
    """Configurations below the state folder; iPXE's loaders and first script for TFTP.

    The units' own start (PartOf=rackwright.service) takes a new configuration.
    """
    state = settings.service.state_dir
    _replace(state / "dnsmasq" / "dnsmasq.conf", dnsmasq.configuration(_dhcp(settings)))
    _replace(state / "nginx" / "nginx.conf", nginx.configuration(_blobs(settings)))
    settings.boot.hosts_dir.mkdir(parents=True, exist_ok=True)
    settings.boot.tftp_dir.mkdir(parents=True, exist_ok=True)
    for loader in (dnsmasq.BIOS_LOADER, dnsmasq.UEFI_LOADER):
        place = settings.boot.tftp_dir / loader
        if not place.exists() and (LOADERS / loader).exists():
            shutil.copyfile(LOADERS / loader, place)
    script = ipxe.ask(f"{settings.provisioning.http_url()}/boot/ipxe")
    first = settings.boot.tftp_dir / dnsmasq.FIRST_SCRIPT
    if not first.exists() or first.read_text() != script:
        _replace(first, script)


def _dhcp(settings: Settings) -> dnsmasq.DhcpServer:
    rack, home = settings.provisioning, settings.service.state_dir / "dnsmasq"
    return dnsmasq.DhcpServer(
        interface=settings.boot.interface,
        address=IPv4Address(rack.address),
        first=IPv4Address(rack.range[0]),
        last=IPv4Address(rack.range[1]),
        netmask=IPv4Network(rack.network).netmask,
        hosts=settings.boot.hosts_dir,
        tftp=settings.boot.tftp_dir,
        lease_file=home / "leases",
        log_file=settings.boot.dnsmasq_log,
        pid_file=home / "dnsmasq.pid",
        user=_own_user(),
        router_advertisements=rack.router_advertisements,
    )


def _blobs(settings: Settings) -> nginx.BlobServer:
    url = urlsplit(settings.provisioning.blobs_url)
    home = settings.service.state_dir / "nginx"
    home.mkdir(parents=True, exist_ok=True)
    return nginx.BlobServer(
        address=settings.provisioning.address,
        port=url.port or HTTP_PORT,
        blobs=settings.provisioning.blobs_dir,
        run=home,
        logs=settings.boot.dnsmasq_log.parent,
        user=_own_user(),
    )


def _own_user() -> str:
    """They read what the service wrote, so they work with its rights; the lab's uid has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return "root"


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}")
    new.write_text(text)
    new.replace(path)
