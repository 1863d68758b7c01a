"""What is known of a GPU host: frozen values with their source and time. Pure.

Every value may be Unknown, which says why; None says that there is none. `read_facts` in
reading.py makes them of a bundle's texts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from provisioner.hardware.gpu import Accelerator, Gpu
from provisioner.hardware.numa import NumaNode
from provisioner.hardware.pci import PciDevice
from provisioner.hardware.unknown import NOT_SAID, Problem, Unknown
from provisioner.units import WallSeconds


class Way(StrEnum):
    """How the texts came."""

    BUNDLE = "bundle"
    SSH = "ssh"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where all of this is from.

    Attributes:
        taken_at: By the host's clock.
        sha256: Of the bundle.
        by_root: Else what only root may read is missing.
    """

    way: Way
    taken_at: WallSeconds
    sha256: str
    by_root: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Board and firmware.

    Attributes:
        is_virtual: It is itself a guest.
        tables: IOMMU tables of the firmware: DMAR (Intel), IVRS (AMD), IORT (Arm).
        bmc_version: Firmware of the controller; None: it has none that the kernel sees.
    """

    system_uuid: str | Unknown | None = NOT_SAID
    serial: str | Unknown | None = NOT_SAID
    maker: str | Unknown | None = NOT_SAID
    product: str | Unknown | None = NOT_SAID
    board: str | Unknown = NOT_SAID
    bios_vendor: str | Unknown = NOT_SAID
    bios_version: str | Unknown = NOT_SAID
    bios_date: str | Unknown = NOT_SAID
    bmc_version: str | Unknown = NOT_SAID
    is_uefi: bool | Unknown = NOT_SAID
    secure_boot: bool | Unknown = NOT_SAID
    is_virtual: bool | Unknown = NOT_SAID
    tables: tuple[str, ...] | Unknown = NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class Processors:
    """CPUs, and memory by NUMA node.

    Attributes:
        vendor: As the kernel has it: GenuineIntel, AuthenticAMD; of Arm its implementer.
        address_bits: Physical; what a guest's firmware makes its PCI window of.
        memory_mib: That the kernel has.
    """

    architecture: str | Unknown = NOT_SAID
    vendor: str | Unknown = NOT_SAID
    model: str | Unknown = NOT_SAID
    sockets: int | Unknown = NOT_SAID
    threads: int | Unknown = NOT_SAID
    address_bits: int | Unknown = NOT_SAID
    memory_mib: int | Unknown = NOT_SAID
    nodes: tuple[NumaNode, ...] = ()


class Loader(StrEnum):
    """What started the kernel."""

    GRUB = "GRUB"
    SYSTEMD_BOOT = "systemd-boot"


@dataclass(frozen=True, slots=True, kw_only=True)
class BootEntry:
    """One entry of a boot menu.

    Attributes:
        source: The file that has it.
        kernel: As the entry names it; "" where it names none.
    """

    title: str
    identifier: str
    kernel: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostBoot:
    """How the running kernel was started, and what else could be.

    Attributes:
        loader: In use, by what it left behind; files of another one that lie about say nothing.
        loader_evidence: What it was known by.
        saved_entry: Of GRUB's environment; None: none is saved.
        initramfs_tools: That are installed.
        built_in: Modules that are part of this kernel, so that options of modprobe do nothing.
    """

    kernel: str | Unknown = NOT_SAID
    command_line: tuple[str, ...] | Unknown = NOT_SAID
    boot_id: str | Unknown = NOT_SAID
    loader: Loader | Unknown = NOT_SAID
    loader_evidence: str = ""
    entries: tuple[BootEntry, ...] = ()
    saved_entry: str | Unknown | None = NOT_SAID
    initramfs_tools: tuple[str, ...] | Unknown = NOT_SAID
    built_in: tuple[str, ...] | Unknown = NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class Reserved:
    """A range that firmware keeps mapped for the members of a group (RMRR)."""

    group: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IommuGroup:
    """What the IOMMU cannot keep apart: all of it goes to one guest, or none.

    Attributes:
        kind: Of its default domain: DMA, identity.
        members: Addresses of PCI functions.
    """

    number: int
    kind: str | Unknown
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Iommu:
    """The unit that keeps guests' devices to guests' memory.

    Attributes:
        enabled: There are groups: the only sign that counts.
        units: As the kernel names them: dmar0, ivhd0.
        unsafe_interrupts: VFIO was told to do without interrupt remapping.
    """

    enabled: bool | Unknown = NOT_SAID
    units: tuple[str, ...] = ()
    groups: tuple[IommuGroup, ...] = ()
    reserved: tuple[Reserved, ...] = ()
    unsafe_interrupts: bool | Unknown = NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class Framebuffer:
    """Memory that the boot console holds.

    Attributes:
        owner: BOOTFB, efifb, simpledrm: as /proc/iomem or the framebuffer names itself.
        device: PCI function whose memory it is; None: of none.
    """

    owner: str
    device: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDevice:
    """A device that a libvirt domain has.

    Attributes:
        address: Of the PCI function, or the uuid of the mediated device.
        managed: libvirt binds and gives back by itself.
    """

    address: str
    managed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A libvirt domain."""

    name: str
    uuid: str
    running: bool | Unknown
    devices: tuple[HostDevice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryScript:
    """CloudStack's own discovery of GPUs.

    Attributes:
        classes: Of PCI, in lspci's words, that it looks at.
    """

    path: str
    sha256: str
    classes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudAgent:
    """CloudStack's agent on this host.

    Attributes:
        version: Of its package; None: it is not installed.
        active: Its service runs.
        properties: Those keys that say how guests are made.
        script: None: it is not there.
        has_uefi_properties: Without them no guest starts with UEFI.
    """

    version: str | Unknown | None = NOT_SAID
    active: bool | Unknown = NOT_SAID
    properties: Mapping[str, str] | Unknown = NOT_SAID
    script: DiscoveryScript | Unknown | None = NOT_SAID
    has_uefi_properties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSystem:
    """Distribution, tools and services.

    Attributes:
        distribution: Name and version, as os-release has them.
        tools: Name -> path of those that are there.
        services: Unit -> active state; units that are not installed are left out.
        packages: Name -> version.
    """

    distribution: str | Unknown = NOT_SAID
    identifier: str | Unknown = NOT_SAID
    tools: Mapping[str, str] | Unknown = NOT_SAID
    services: Mapping[str, str] | Unknown = NOT_SAID
    packages: Mapping[str, str] | Unknown = NOT_SAID


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line of the kernel's log that a rule of ours knows.

    Attributes:
        rule: Which one (kernel_log.py).
        subject: What it is about: a PCI address, a parameter; "" where it names nothing.
    """

    rule: str
    subject: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFacts:
    """All of it.

    Attributes:
        log: None of the rules' lines, where the log was read; Unknown where it was not.
        problems: Texts that are not what they should be, all of them.
    """

    origin: Origin
    machine: Machine = field(default_factory=Machine)
    cpu: Processors = field(default_factory=Processors)
    system: HostSystem = field(default_factory=HostSystem)
    boot: HostBoot = field(default_factory=HostBoot)
    iommu: Iommu = field(default_factory=Iommu)
    pci: tuple[PciDevice, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    accelerators: tuple[Accelerator, ...] = ()
    framebuffers: tuple[Framebuffer, ...] | Unknown = NOT_SAID
    domains: tuple[Domain, ...] | Unknown = NOT_SAID
    agent: CloudAgent = field(default_factory=CloudAgent)
    log: tuple[LogLine, ...] | Unknown = NOT_SAID
    problems: tuple[Problem, ...] = ()
    version: int = 1

    def device(self, address: str) -> PciDevice | None:
        """One function by its address."""
        return next((each for each in self.pci if each.address == address), None)
