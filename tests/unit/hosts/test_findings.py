"""Each finding on a host that has it, and its absence on one that nearly has it."""

import re

import pytest

from provisioner.hosts.finding_catalogue import CATALOGUE, Code, Weight
from provisioner.hosts.findings import findings_of
from provisioner.hosts.kernel_log import RULES
from provisioner.hosts.rules_log import MEANINGS
from tests.unit.hosts.built import (
    CONSOLE,
    DISK,
    GIB,
    GPU,
    LINK,
    NIC,
    PORT,
    bar_lines,
    good_host,
)

AUDIO, SECOND, SWITCH, OTHER_SWITCH = "0000:17:00.1", "0000:18:00.0", "0000:19:00.0", "0000:1a:00.0"
H100 = "NVIDIA Corporation GH100 [H100 SXM5 80GB]"
SMI = (
    "index, pci.bus_id, name, serial, uuid, memory.total [MiB], vbios_version, mig.mode.current, "
    "mig.mode.pending, driver_version, gpu_recovery_action\n"
)


def smi(host, *, now="Disabled", pending="Disabled", recovery="None", name="NVIDIA H100 80GB HBM3"):
    host.status.pop("nvidia-smi", None)
    host.rebind(GPU, "nvidia")
    host.commands["nvidia-smi"] = SMI + (
        f"0, 00000000:17:00.0, {name}, 1650000000001, GPU-1, 81559 MiB, 96.00.74.00.01, {now}, "
        f"{pending}, 570.86.10, {recovery}\n"
    )


def second_gpu(host, group=12, address=SECOND):
    host.pci(
        address,
        "0302",
        "10de:2330",
        H100,
        root="pci0000:16",
        bridges=[PORT],
        driver="vfio-pci",
        group=group,
    )


def switches(host, *drivers):
    for address, driver in zip((SWITCH, OTHER_SWITCH), drivers, strict=False):
        host.pci(
            address,
            "0680",
            "10de:22a3",
            "NVIDIA Corporation Device",
            root="pci0000:16",
            driver=driver,
            group=20,
        )


def companion(host, driver):
    host.pci(
        AUDIO,
        "0403",
        "10de:22ba",
        "NVIDIA Corporation Audio",
        root="pci0000:16",
        bridges=[PORT],
        driver=driver,
        group=11,
    )


def companion_slot(host):
    """Another slot's function in the GPU's group."""
    host.pci(
        "0000:18:00.0",
        "0c03",
        "1912:0014",
        "Renesas USB",
        root="pci0000:16",
        bridges=[PORT],
        driver="vfio-pci",
        group=11,
    )


def model(host, ids, name, kind="0302"):
    vendor, device = ids.split(":")
    host.set(GPU, vendor=f"0x{vendor}", device=f"0x{device}", **{"class": f"0x{kind}00"})
    host.lspci[GPU] = f"{GPU} Display [{kind}]: {name} [{ids}]\n\tIOMMU group: 11"


def move_gpu(host, address):
    host.pci(
        address, "0302", "10de:2330", H100, root="pci0001:16", driver="vfio-pci", group=40, **LINK
    )


def no_groups(host):
    host.links = {path: to for path, to in host.links.items() if not path.endswith("/iommu_group")}
    host.links.pop("/sys/class/iommu/dmar0")
    host.rename(GPU, "\n\tIOMMU group: 11", "")


def ungrouped(host, address):
    host.links.pop(f"/sys/bus/pci/devices/{address}/iommu_group")
    if address == GPU:
        host.rename(GPU, "\n\tIOMMU group: 11", "")


def both(*acts):
    def act(host):
        for each in acts:
            each(host)

    return act


def put(mapping, key, value):
    return lambda host: getattr(host, mapping).__setitem__(key, value)


def domain(state, bus="0x17"):
    def act(host):
        host.commands["virsh-list"] = f" Id   Name       State\n-----\n 1    i-2-7-VM   {state}\n"
        host.commands["virsh-domains"] = (
            "<domain type='kvm' id='1'><name>i-2-7-VM</name><uuid>1</uuid><devices>"
            "<hostdev mode='subsystem' type='pci' managed='yes'><source>"
            f"<address domain='0x0000' bus='{bus}' slot='0x00' function='0x0'/></source></hostdev>"
            "</devices></domain>\n"
        )

    return act


def line(words):
    return lambda host: host.line(words)


def log(text):
    return lambda host: host.log(text)


def amd(host):
    host.files["/proc/cpuinfo"] = host.files["/proc/cpuinfo"].replace(
        "GenuineIntel", "AuthenticAMD"
    )
    host.files["/proc/cmdline"] = host.files["/proc/cmdline"].replace("intel_iommu=on ", "")


def acs(text):
    return lambda host: host.rename(PORT, "SrcValid+", text)


def vga(text):
    return lambda host: host.set(GPU, boot_vga=text)


def width(now, most="16"):
    return lambda host: host.set(GPU, current_link_width=now, max_link_width=most)


def aer(address, count, kind="nonfatal"):
    total = "COR" if kind == "correctable" else kind.upper()
    return lambda host: host.set(
        address, **{f"aer_dev_{kind}": f"DLP {count}\nTOTAL_ERR_{total} {count}"}
    )


def pages(count):
    path = "/sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages"
    return put("files", path, f"{count}\n")


def node_memory(kib):
    return put("files", "/sys/devices/system/node/node1/meminfo", f"Node 1 MemTotal: {kib} kB\n")


def tools_without(name):
    def act(host):
        lines = host.commands["tools"].splitlines(keepends=True)
        host.commands["tools"] = "".join(each for each in lines if not each.startswith(name))

    return act


def services(state):
    text = "\nId=unattended-upgrades.service\nLoadState=loaded\nActiveState="
    return lambda host: host.commands.__setitem__(
        "services", host.commands["services"] + f"{text}{state}\n"
    )


def display_class(host):
    model(host, "1002:740f", "AMD Aldebaran/MI200 [Instinct MI210]", kind="0380")


ON_DISK = "[1.0] {}: BAR 5 [mem size 0x00080000]: can't assign; no space"
XID = "[9.0] NVRM: Xid (PCI:0000:17:00): 79, pid=1, GPU has fallen off the bus."
GPU_HAS = (GPU,)
HAS = {
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
        lambda host: host.files.pop("/sys/class/dmi/id/product_uuid"),
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
    Code.GROUP_MISSING: (
        lambda host: ungrouped(host, GPU),
        lambda host: ungrouped(host, NIC),
        GPU_HAS,
    ),
    Code.GROUP_WITH_CRITICAL: (
        lambda host: host.group(DISK, 11),
        lambda host: host.group(PORT, 11),
        GPU_HAS,
    ),
    Code.GROUP_NOT_VIABLE: (
        lambda host: companion(host, "snd_hda_intel"),
        lambda host: companion(host, "vfio-pci"),
        GPU_HAS,
    ),
    Code.GROUP_OF_GPUS: (lambda host: second_gpu(host, 11), second_gpu, GPU_HAS),
    Code.ACS_OFF_ABOVE: (both(companion_slot, acs("SrcValid-")), acs("SrcValid-"), GPU_HAS),
    Code.CONSOLE_GPU: (vga("1"), vga("0"), GPU_HAS),
    Code.FRAMEBUFFER_ON_GPU: (
        put(
            "files",
            "/proc/iomem",
            "3a000000000-3bfffffffff : 0000:17:00.0\n  3a000000000-3a0002fffff : BOOTFB\n",
        ),
        put(
            "files",
            "/proc/iomem",
            "3a000000000-3bfffffffff : 0000:17:00.0\n  3a000000000-3a0002fffff : vfio-pci\n",
        ),
        GPU_HAS,
    ),
    Code.NOUVEAU_ON_GPU: (
        lambda host: host.rebind(GPU, "nouveau"),
        lambda host: host.rebind(GPU, None),
        GPU_HAS,
    ),
    Code.BOUND_BY_MODEL: (
        line("vfio-pci.ids=10de:2330,10de:22ba"),
        line("vfio-pci.ids=10de:2331"),
        ("host",),
    ),
    Code.OVERRIDE_NOT_FOLLOWED: (
        both(
            lambda host: host.set(GPU, driver_override="vfio-pci"),
            lambda host: host.rebind(GPU, None),
        ),
        lambda host: host.set(GPU, driver_override="vfio-pci"),
        GPU_HAS,
    ),
    Code.VFIO_BUILT_IN: (
        put(
            "files",
            "/lib/modules/6.1.0-26-amd64/modules.builtin",
            "kernel/drivers/vfio/pci/vfio-pci.ko\n",
        ),
        put(
            "files", "/lib/modules/6.1.0-26-amd64/modules.builtin", "kernel/drivers/vfio/vfio.ko\n"
        ),
        ("host",),
    ),
    Code.GPU_IN_USE: (domain("running"), domain("shut off"), GPU_HAS),
    Code.UNBIND_HANGS: (
        log("[9.0] NVRM: Attempting to remove device 0000:17:00.0 with non-zero usage count!"),
        log("[9.0] NVRM: remove 0000:17:00.0"),
        GPU_HAS,
    ),
    Code.GPU_LOST: (
        log("[9.0] vfio-pci 0000:17:00.0: Unable to change power state from D3cold to D0"),
        log("[9.0] vfio-pci 0000:17:00.0: resetting"),
        GPU_HAS,
    ),
    Code.NO_RESET: (
        lambda host: host.set(GPU, reset_method=None),
        lambda host: host.set(GPU, reset_method="bus"),
        GPU_HAS,
    ),
    Code.BAR_UNASSIGNED: (
        lambda host: host.set(
            GPU, resource=bar_lines((0x9C000000, 2**24, "memory"), (0, 128 * GIB, "wide"))
        ),
        lambda host: host.set(
            GPU, resource=bar_lines((0x9C000000, 2**24, "memory"), (0, 1, "memory"))
        ),
        GPU_HAS,
    ),
    Code.SRIOV_NO_ROOM: (
        log("[9.0] i915 0000:17:00.0: not enough MMIO resources for SR-IOV"),
        log("[9.0] i915 0000:17:00.0: SR-IOV on"),
        GPU_HAS,
    ),
    Code.LINK_NARROW: (
        width("8"),
        both(width("8"), lambda host: host.set(PORT, max_link_width="8", current_link_width="8")),
        GPU_HAS,
    ),
    Code.AER_ERRORS: (aer(PORT, 3), aer(PORT, 3, "correctable"), GPU_HAS),
    Code.XID_LOGGED: (log(XID), log("[9.0] NVRM: loading NVIDIA UNIX Open Kernel Module"), GPU_HAS),
    Code.RECOVERY_ADVISED: (lambda host: smi(host, recovery="Drain and Reset"), smi, GPU_HAS),
    Code.MODEL_UNKNOWN: (
        lambda host: model(host, "10de:ffff", "NVIDIA Corporation Device"),
        None,
        GPU_HAS,
    ),
    Code.MODEL_AMBIGUOUS: (
        lambda host: model(host, "10de:25b6", "NVIDIA Corporation GA107GL [A2 / A16]"),
        both(
            lambda host: model(host, "10de:25b6", "NVIDIA Corporation GA107GL [A2 / A16]"),
            lambda host: smi(host, name="NVIDIA A2"),
        ),
        GPU_HAS,
    ),
    Code.BOARD_OF_SEVERAL: (
        lambda host: model(host, "1002:7408", "AMD Aldebaran/MI200 [Instinct MI250X]"),
        lambda host: model(host, "1002:738c", "AMD Arcturus GL-XL [Instinct MI100]"),
        GPU_HAS,
    ),
    Code.VFS_ON: (
        lambda host: host.set(GPU, sriov_numvfs="4"),
        lambda host: host.set(NIC, sriov_numvfs="4"),
        GPU_HAS,
    ),
    Code.VF_LIMIT: (
        log("[9.0] [0:e5:0:0][amdgv] VF number 8 to be enabled exceeds the vf limit 1"),
        log("[9.0] amdgv VF number 1"),
        ("host",),
    ),
    Code.MIG_ON: (lambda host: smi(host, now="Enabled", pending="Enabled"), smi, GPU_HAS),
    Code.MIG_PENDING: (lambda host: smi(host, pending="Enabled"), smi, GPU_HAS),
    Code.NVSWITCH_THERE: (
        lambda host: switches(host, "vfio-pci"),
        lambda host: host.pci(
            SWITCH,
            "0680",
            "8086:22a3",
            "Intel Corporation Device",
            root="pci0000:16",
            driver=None,
            group=20,
        ),
        ("host",),
    ),
    Code.NVSWITCH_SPLIT: (
        lambda host: switches(host, "vfio-pci", "nvidia"),
        lambda host: switches(host, "vfio-pci", "vfio-pci"),
        ("host",),
    ),
    Code.FABRIC_MANAGER_DIFFERS: (
        put(
            "commands",
            "fabric-manager",
            "fabric manager NVIDIA GPU driver interface version 590 don't match with 580\n",
        ),
        put("commands", "fabric-manager", "Connected to 1 node.\n"),
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
ALSO = {
    # what the change that makes one brings with it
    Code.NVSWITCH_SPLIT: {"NVSWITCH_THERE"},
}


def test_a_good_host_has_no_findings():
    host = good_host()
    assert host.facts().problems == ()
    assert host.codes() == []


@pytest.mark.parametrize("code", HAS)
def test_a_host_that_has_it(code):
    make, _, subjects = HAS[code]
    host = good_host()
    make(host)
    found = host.codes()
    assert tuple(subject for each, subject in found if each == code) == subjects
    assert {each for each, _ in found} - {code} <= ALSO.get(code, set())


@pytest.mark.parametrize("code", [code for code, row in HAS.items() if row[1] is not None])
def test_a_host_that_nearly_has_it(code):
    host = good_host()
    HAS[code][1](host)
    assert code not in {each for each, _ in host.codes()}


def test_every_code_has_a_host_that_has_it():
    assert set(HAS) == set(Code) == set(CATALOGUE)


def test_every_rule_of_the_log_means_something():
    assert set(MEANINGS) == set(RULES)


@pytest.mark.parametrize(
    ("text", "code", "subject"),
    [
        ("[0.0] AMD-Vi: Unknown option - 'on'", Code.AMD_IOMMU_ON_IGNORED, "host"),
        ("[0.0] Warning: PCIe ACS overrides enabled; This may allow", Code.ACS_OVERRIDE, "host"),
        (
            "vfio-pci 0000:04:00.1: DMAR: Device is ineligible for IOMMU domain attach due to",
            Code.RMRR_DEVICE,
            "0000:04:00.1",
        ),
        ("[0.3] DMAR-IR: IRQ remapping was disabled", Code.UNSAFE_INTERRUPTS, "host"),
        (
            "vfio-pci 0000:c3:00.0: BAR 0: can't reserve [mem 0x1-0x2 64bit pref]",
            Code.FRAMEBUFFER_ON_GPU,
            "0000:c3:00.0",
        ),
        (ON_DISK.format("pci 0000:c5:00.0"), Code.BAR_UNASSIGNED, "0000:c5:00.0"),
        (
            "[4.1] pci 0000:c5:00.0: VF BAR 5 [mem size 0x00080000]: failed to assign",
            Code.BAR_UNASSIGNED,
            "0000:c5:00.0",
        ),
        ("[9.0] NVRM: Xid (PCI:0001:C5:00): 119, pid=2, Timeout", Code.XID_LOGGED, "0001:c5:00.0"),
    ],
)
def test_lines_of_the_log(text, code, subject):
    host = good_host()
    host.log(text)
    assert (code, subject) in host.codes()


def test_a_line_that_comes_again_and_again_is_one_finding():
    host = good_host()
    for number in range(1000):
        host.log(XID.replace("9.0", f"{number}.0"))
    assert [each for each, _ in host.codes()] == [Code.XID_LOGGED]


def test_what_blocks_comes_first_and_each_says_which_text_said_what():
    host = good_host()
    host.line("pcie_acs_override=downstream")
    host.set(GPU, numa_node="-1")
    host.log(XID)
    found = findings_of(host.facts())
    assert [each.weight for each in found] == [Weight.BLOCKS, Weight.WARNS, Weight.NOTES]
    assert all(each.evidence and each.meaning and each.remedy for each in found)
    first = found[0].evidence[0]
    assert (first.text, first.says) == ("/proc/cmdline", "pcie_acs_override=downstream")


def test_texts_in_the_catalogue_are_sentences():
    for code, entry in CATALOGUE.items():
        for text in (entry.meaning, entry.remedy):
            assert re.fullmatch(r"\S.*\.", text), (code, text)
            assert "|" not in text


@pytest.mark.parametrize("address", [CONSOLE, NIC])
def test_the_console_or_a_network_card_in_the_group_is_named(address):
    host = good_host()
    host.group(address, 11)
    found = [each for each in findings_of(host.facts()) if each.code is Code.GROUP_WITH_CRITICAL]
    assert [each.evidence[0].says.startswith(address) for each in found] == [True]
