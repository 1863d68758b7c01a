"""What the virtual rack consists of: servers, networks and addresses, as values."""

import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Interface, IPv6Interface
from pathlib import Path

from provisioner.servers.model import ControllerProtocol, FirmwareMode
from provisioner.units import MacAddress, ServerName, Vlan

PROVISIONING_BRIDGE = "br-prov"
PROVISIONING = IPv4Interface("10.66.0.1/24")
PROVISIONING_V6 = IPv6Interface("fd66::1/64")
"""iPXE waits 13 s for a router advertisement, so the network has one."""
LEASES = (IPv4Address("10.66.0.100"), IPv4Address("10.66.0.200"))
CONTROLLER_BRIDGE = "br-oob"
CONTROLLER_NETWORK = IPv4Interface("10.67.0.1/24")
"""Each controller has an address of its own, as in a rack; nothing is plugged in here."""
HTTPS_PORT = 8443
SCRIPT_PORT = 8080
BLOBS_PORT = 8081
SCRIPT_URL = f"http://{PROVISIONING.ip}:{SCRIPT_PORT}/boot/ipxe"
BLOBS_URL = f"http://{PROVISIONING.ip}:{BLOBS_PORT}/blobs"
SERVICE_UID = 866001
"""Numeric, without a name on any Debian: the service owns its folders and nothing else."""
_MIB = 1 << 20
_LONGEST_STATE_PATH = 60
"""A Unix socket's path ends at 107 characters, and the longest one is 40 below the folder."""


class DiskBus(StrEnum):
    """How a disk is attached; libvirt knows no NVMe disk."""

    NVME = "nvme"
    SATA = "sata"
    SCSI = "scsi"
    VIRTIO = "virtio"


@dataclass(frozen=True, slots=True, kw_only=True)
class RawFile:
    """A sparse file that is made once and keeps its inode.

    Attributes:
        honours_discard: False is QEMU's discard=ignore: success is said, nothing happens.
    """

    file: str
    size_bytes: int
    honours_discard: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class NbdSocket:
    """A block device that another program serves over a Unix socket.

    Attributes:
        file: Where that program keeps the bytes, below the folder of disks.
        size_bytes: As it says when QEMU connects.
    """

    socket: Path
    file: str
    size_bytes: int


DiskSource = RawFile | NbdSocket


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSpec:
    """One disk of a server.

    Attributes:
        wwn: 16 hex digits, for SCSI, and SATA without libvirt; None for the others.
    """

    bus: DiskBus
    serial: str
    source: DiskSource
    wwn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSpec:
    """One server and its controller.

    Attributes:
        disks: The first one is the boot disk.
        user: Of the controller; its password is made once and kept in a file.
    """

    name: ServerName
    firmware: FirmwareMode
    protocol: ControllerProtocol
    controller: IPv4Address
    controller_port: int
    mac: MacAddress
    serial: str
    disks: tuple[DiskSpec, ...]
    memory_mib: int = 1024
    threads: int = 1
    user: str = "admin"

    @property
    def tap(self) -> str:
        """The server's switch port."""
        return f"tap-{self.name}"

    @property
    def uuid(self) -> uuid.UUID:
        """The same at every start: SMBIOS, the controller's GUID and Redfish all say it."""
        return uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.lab.rackwright.invalid")


BIOS1 = ServerSpec(
    name=ServerName("bios1"),
    firmware=FirmwareMode.BIOS,
    protocol=ControllerProtocol.IPMI,
    controller=IPv4Address("10.67.0.11"),
    controller_port=623,
    mac=MacAddress("52:54:00:66:01:01"),
    serial="SN-bios1",
    disks=(
        DiskSpec(
            bus=DiskBus.NVME,
            serial="NVME-bios1",
            source=RawFile(file="bios1-nvme.raw", size_bytes=1024 * _MIB),
        ),
        DiskSpec(
            bus=DiskBus.SATA,
            serial="SATA-bios1",
            wwn="5000c50015ea7101",
            source=RawFile(file="bios1-sata.raw", size_bytes=512 * _MIB),
        ),
    ),
)
UEFI1 = ServerSpec(
    name=ServerName("uefi1"),
    firmware=FirmwareMode.UEFI,
    protocol=ControllerProtocol.REDFISH,
    controller=IPv4Address("10.67.0.12"),
    controller_port=443,
    mac=MacAddress("52:54:00:66:01:02"),
    serial="SN-uefi1",
    threads=2,
    disks=(
        DiskSpec(
            bus=DiskBus.SATA,
            serial="SATA-uefi1",
            source=RawFile(file="uefi1-sata.raw", size_bytes=3072 * _MIB),
        ),
        DiskSpec(
            bus=DiskBus.SCSI,
            serial="SCSI-uefi1",
            wwn="5000c50015ea7201",
            source=RawFile(file="uefi1-scsi.raw", size_bytes=512 * _MIB, honours_discard=False),
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The whole rack.

    Attributes:
        prefix: Of its namespaces; another prefix is another rack on the same machine.
    """

    prefix: str = "rackwright"
    servers: tuple[ServerSpec, ...] = (BIOS1, UEFI1)

    @property
    def rack(self) -> str:
        """The namespace of controllers, switch ports, DHCP, blobs and the service."""
        return f"{self.prefix}-rack"

    @property
    def tenant(self) -> str:
        """The namespace of the tenants' gateways and of whoever looks from there."""
        return f"{self.prefix}-tenant"

    def server(self, name: str) -> ServerSpec:
        """By its name; KeyError where there is none."""
        return {str(each.name): each for each in self.servers}[name]


def tenant_bridge(vlan: Vlan) -> str:
    """The bridge that stands for a VLAN: this kernel may have no 802.1Q."""
    return f"br-v{vlan}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabPaths:
    """Where the rack keeps its files.

    Attributes:
        state: Goes away with `forget`: disks, logs, passwords, the service's own folder.
        cache: Outlives it: what is slow to make and the same every time.
    """

    state: Path
    cache: Path

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> "LabPaths":
        """Below the user's cache folder."""
        home = environ.get("XDG_CACHE_HOME") or f"{environ.get('HOME', '/root')}/.cache"
        cache = Path(home) / "rackwright"
        return cls(state=cache / "lab", cache=cache)

    @property
    def is_too_long(self) -> bool:
        """Whether sockets below `state` would not fit into the kernel's structure."""
        return len(os.fsencode(self.state)) > _LONGEST_STATE_PATH

    @property
    def disks(self) -> Path:
        """One file a disk, or what a block device behind a socket keeps."""
        return self.state / "disks"

    @property
    def logs(self) -> Path:
        """One file a process."""
        return self.state / "log"

    @property
    def run(self) -> Path:
        """Records of running processes."""
        return self.state / "run"

    @property
    def hosts(self) -> Path:
        """The DHCP server's hosts folder; the service writes it."""
        return self.state / "dhcp" / "hosts"

    @property
    def dhcp_log(self) -> Path:
        """The service reads it."""
        return self.logs / "dnsmasq.log"

    @property
    def tftp(self) -> Path:
        """The two loaders."""
        return self.state / "tftp"

    @property
    def blobs(self) -> Path:
        """Served below /blobs/; the service writes it."""
        return self.state / "blobs"

    @property
    def service(self) -> Path:
        """The service's own folder: database, keys, sockets."""
        return self.state / "service"

    def server(self, spec: ServerSpec) -> Path:
        """What belongs to one server: password, logs, settings of its controller."""
        return self.state / "servers" / spec.name

    def serial_log(self, spec: ServerSpec) -> Path:
        """Everything the serial port ever said; it only grows."""
        return self.server(spec) / "serial.log"

    def power_log(self, spec: ServerSpec) -> Path:
        """One JSON object a line: what the controller was told and what became of it."""
        return self.server(spec) / "power.log"

    def password(self, spec: ServerSpec) -> Path:
        """Of the controller; one line, mode 0600."""
        return self.server(spec) / "password"

    def disk(self, disk: DiskSpec) -> Path:
        """The file with the disk's bytes."""
        return self.disks / disk.source.file
