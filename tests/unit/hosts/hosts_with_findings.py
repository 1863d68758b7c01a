"""Hosts that have a finding of their own, and hosts that nearly have it."""

from provisioner.hosts.finding_catalogue import Code
from tests.unit.hosts.built import DISK, GPU, NIC, bar_lines
from tests.unit.hosts.changes import (
    GPU_HAS,
    amd,
    both,
    display_class,
    line,
    log,
    move_gpu,
    no_groups,
    node_memory,
    pages,
    put,
    services,
    smi,
    tools_without,
)

HOSTS = {
    Code.FACTS_WITHOUT_ROOT: (
        lambda host: setattr(host, "head", host.head.replace("uid 0", "uid 1000")),
        None,
        ("host",),
    ),
    Code.TEXT_MALFORMED: (
        lambda host: host.set(DISK, numa_node="north"),
        lambda host: host.set(DISK, numa_node="-1"),
        ("host",),
    ),
    Code.HOST_IS_VIRTUAL: (
        lambda host: host.files.__setitem__(
            "/proc/cpuinfo", host.files["/proc/cpuinfo"].replace("vmx", "vmx hypervisor")
        ),
        lambda host: host.files.__setitem__(
            "/proc/cpuinfo", host.files["/proc/cpuinfo"].replace("vmx", "vmx hypervisors")
        ),
        ("host",),
    ),
    Code.SYSTEM_UUID_MISSING: (
        put("files", "/sys/class/dmi/id/product_uuid", "00000000-0000-0000-0000-000000000000\n"),
        both(
            lambda host: host.files.pop("/sys/class/dmi/id/product_uuid"),
            lambda host: setattr(host, "head", host.head.replace("uid 0", "uid 1000")),
        ),
        ("host",),
    ),
    Code.IOMMU_FIRMWARE_OFF: (
        both(no_groups, put("commands", "acpi-tables", "APIC\nFACP\n")),
        put("commands", "acpi-tables", "APIC\n"),
        ("host",),
    ),
    Code.IOMMU_OFF: (no_groups, lambda host: host.links.pop("/sys/class/iommu/dmar0"), ("host",)),
    Code.IOMMU_ARGUMENT_FOREIGN: (
        both(amd, line("intel_iommu=on")),
        line("intel_iommu=on"),
        ("host",),
    ),
    Code.AMD_IOMMU_ON_IGNORED: (
        both(amd, line("amd_iommu=on")),
        both(amd, line("amd_iommu=pgtbl_v2")),
        ("host",),
    ),
    Code.ACS_OVERRIDE: (
        line("pcie_acs_override=downstream"),
        line("pci=config_acs=1@0000:16:01.0"),
        ("host",),
    ),
    Code.UNSAFE_INTERRUPTS: (
        line("vfio_iommu_type1.allow_unsafe_interrupts=1"),
        line("vfio_iommu_type1.allow_unsafe_interrupts=0"),
        ("host",),
    ),
    Code.RMRR_DEVICE: (
        put(
            "files",
            "/sys/kernel/iommu_groups/11/reserved_regions",
            "0x00000000dc315000 0x00000000dc321fff direct\n",
        ),
        put(
            "files",
            "/sys/kernel/iommu_groups/11/reserved_regions",
            "0x00000000fee00000 0x00000000feefffff msi\n",
        ),
        GPU_HAS,
    ),
    Code.RMRR_RELAXED: (
        log("[0.05] DMAR: Intel-IOMMU: assuming all RMRRs are relaxable. This can lead to loss"),
        log("[0.05] DMAR: RMRR base: 0x1"),
        ("host",),
    ),
    Code.INTEL_GPU_UNSUPPORTED: (
        log("[14.7] i915 0000:17:00.0: Your graphics device 56c0 is not properly supported"),
        log("[14.7] i915 0000:17:00.0: [drm] Initialized i915"),
        GPU_HAS,
    ),
    Code.PARAMETER_IGNORED: (
        log("[3.5] i915: unknown parameter 'max_vfs' ignored"),
        log("[3.5] i915: parameter 'max_vfs' set"),
        ("host",),
    ),
    Code.MODULE_REFUSED: (
        log("[3.5] Loading of unsigned module is rejected"),
        log("[3.5] nvidia: module verification failed: signature missing"),
        ("host",),
    ),
    Code.SECURE_BOOT_ON: (
        put("commands", "secure-boot", "SecureBoot enabled\n"),
        put("commands", "secure-boot", "SecureBoot disabled\n"),
        ("host",),
    ),
    Code.UPGRADES_UNATTENDED: (both(smi, services("active")), services("active"), ("host",)),
    Code.LOADER_UNKNOWN: (
        put("files", "/proc/cmdline", "root=/dev/sda1 ro\n"),
        put("files", "/proc/cmdline", "initrd=\\EFI\\debian\\initrd root=/dev/sda1\n"),
        ("host",),
    ),
    Code.SAVED_ENTRY_MISSING: (
        put("files", "/boot/grub/grubenv", "# GRUB Environment Block\n"),
        lambda host: host.files.pop("/boot/grub/grubenv"),
        ("host",),
    ),
    Code.NODE_WITHOUT_MEMORY: (node_memory(0), node_memory(2048), ("node 1",)),
    Code.NUMA_UNKNOWN: (
        lambda host: host.set(GPU, numa_node="-1"),
        lambda host: host.set(NIC, numa_node="-1"),
        GPU_HAS,
    ),
    Code.HUGEPAGES_UNUSED: (pages(64), pages(0), ("host",)),
    Code.AGENT_MISSING: (
        put("commands", "packages", "pci.ids 1\n"),
        lambda host: host.commands.pop("packages"),
        ("host",),
    ),
    Code.TOOL_MISSING: (tools_without("xmlstarlet"), tools_without("update-initramfs"), ("host",)),
    Code.PCI_IDS_OLD: (
        lambda host: host.rename(GPU, "GH100 [H100 SXM5 80GB]", "Device"),
        lambda host: host.rename(NIC, "MT27800 Family [ConnectX-5]", "Device"),
        GPU_HAS,
    ),
    Code.PCI_DOMAIN: (
        lambda host: move_gpu(host, "0001:d6:00.0"),
        lambda host: move_gpu(host, "0000:d6:00.0"),
        ("0001:d6:00.0",),
    ),
    Code.CLASS_NOT_DISCOVERED: (
        display_class,
        both(
            display_class,
            put(
                "commands",
                "discovery-script",
                "5" * 64 + "  /usr/share/gpudiscovery.sh\n731: Display controller\n",
            ),
        ),
        GPU_HAS,
    ),
    Code.GUEST_CPU_MODE_UNSET: (
        put("commands", "agent-properties", "zone=1\n"),
        put("commands", "agent-properties", "guest.cpu.mode=host-model\n"),
        ("host",),
    ),
    Code.UEFI_PROPERTIES_MISSING: (
        lambda host: host.files.pop("/etc/cloudstack/agent/uefi.properties"),
        both(
            lambda host: host.files.pop("/etc/cloudstack/agent/uefi.properties"),
            lambda host: host.set(GPU, resource=bar_lines((0x9C000000, 2**24, "memory"))),
        ),
        ("host",),
    ),
}
"""Code -> change that makes it, change that nearly makes it, what it is about."""
