"""Facts of recorded hosts, and of single texts: what is said, what is not, what cannot be read."""

import json

import pytest

from provisioner.hardware.gpu import Mig
from provisioner.hardware.lspci import merged, parse_lspci
from provisioner.hardware.pci import Acs, Link, address_of
from provisioner.hardware.unknown import MALFORMED, NOT_SAID, Unknown
from provisioner.hosts.facts import Domain, Framebuffer, HostDevice, Loader
from provisioner.hosts.findings import findings_of
from provisioner.hosts.topology import NOT_KNOWN, topology_of
from provisioner.store.codec import plain
from tests.unit.hosts.built import BUNDLES, CONSOLE, DISK, GPU, NIC, PORT, facts_of, good_host

RECORDED = {
    "azure-nd96amsr-a100": {"FACTS_WITHOUT_ROOT", "LOADER_UNKNOWN", "NVSWITCH_THERE", "PCI_DOMAIN"},
    "dell-xe9680-h200-mig": {"MIG_ON", "NVSWITCH_THERE", "PCI_IDS_OLD"},
    "gigabyte-g292-mi210": {"AMD_IOMMU_ON_IGNORED", "CLASS_NOT_DISCOVERED"},
    "hpe-dl380-a2-mdev": {"MODEL_AMBIGUOUS", "VFS_ON"},
    "nvidia-dgx2-v100": {"BOUND_BY_MODEL", "NVSWITCH_THERE", "PCI_IDS_OLD"},
    "proxmox-8-flex170": {"AGENT_MISSING", "INTEL_GPU_UNSUPPORTED", "PARAMETER_IGNORED"},
    "quanta-s74g-gh200": {"GROUP_MISSING", "PCI_DOMAIN"},
    "supermicro-421ge-h100": set(),
    "supermicro-421ge-l40s-vgpu": {"GPU_IN_USE", "VFIO_BUILT_IN", "VFS_ON"},
    "supermicro-8125gs-mi300x": {"AMD_IOMMU_ON_IGNORED", "BAR_UNASSIGNED", "PCI_IDS_OLD"},
    "supermicro-820gh-gaudi2": set(),
    "supermicro-epyc7401-t4-console": {
        "CLASS_NOT_DISCOVERED",
        "CONSOLE_GPU",
        "FRAMEBUFFER_ON_GPU",
        "GROUP_WITH_CRITICAL",
        "HUGEPAGES_UNUSED",
        "IOMMU_ARGUMENT_FOREIGN",
        "NODE_WITHOUT_MEMORY",
        "NOUVEAU_ON_GPU",
    },
}


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_hosts(name):
    facts = facts_of(name)
    assert facts.problems == ()
    assert {str(each.code) for each in findings_of(facts)} == RECORDED[name]
    json.dumps(plain(facts))


def test_every_recorded_host_is_in_the_table():
    assert {path.name for path in BUNDLES.iterdir() if path.is_dir()} == set(RECORDED)


def test_a_gpu_in_all_its_facts():
    device = good_host().facts().device(GPU)
    assert (device.pci_class, device.ids(), device.subsystem) == (
        "030200",
        "10de:2330",
        "10de:16c1",
    )
    assert (device.driver, device.driver_override, device.reset_methods) == (
        "vfio-pci",
        None,
        ("flr", "bus"),
    )
    assert (device.root, device.bridges, device.numa_node, device.iommu_group) == (
        "pci0000:16",
        (PORT,),
        0,
        11,
    )
    assert device.link == device.link_most == Link(gigatransfers=32.0, width=16)
    assert (device.vfs_total, device.vfs, device.slot, device.boot_vga) == (32, 0, "4", None)
    assert [(each.number, each.bytes, each.is_64bit) for each in device.bars] == [
        (0, 2**24, False),
        (2, 128 * 2**30, True),
    ]
    assert good_host().facts().device(PORT).acs is Acs.ON


def test_groups_with_their_members():
    host = good_host()
    host.group(DISK, 11)
    host.files["/sys/kernel/iommu_groups/11/type"] = "identity\n"
    iommu = host.facts().iommu
    assert (iommu.enabled, iommu.units, iommu.unsafe_interrupts) == (True, ("dmar0",), NOT_SAID)
    members = {each.number: each.members for each in iommu.groups}
    assert members == {1: (CONSOLE,), 3: (NIC,), 10: (PORT,), 11: (DISK, GPU)}
    assert [each.kind for each in iommu.groups if each.number == 11] == ["identity"]


def test_mig_links_memory_and_serial_of_nvidia():
    one, other = facts_of("dell-xe9680-h200-mig").gpus
    assert one.tool.mig == Mig(
        enabled=True, pending=True, instances=("1g.18gb", "1g.18gb", "2g.35gb", "3g.71gb")
    )
    assert other.tool.mig == Mig(enabled=False, pending=False)
    assert (one.memory_mib, one.memory_is_measured, one.tool.vbios) == (
        143771,
        True,
        "96.00.A5.00.03",
    )
    assert (one.tool.serial, other.tool.serial) == ("1650000000083", NOT_SAID)
    assert (one.tool.nvlinks, other.tool.nvlinks) == (NOT_SAID, 17)


def test_numa_of_a_machine_in_eight_parts():
    nodes = facts_of("dell-xe9680-h200-mig").cpu.nodes
    assert [(each.number, each.cpus) for each in nodes] == [(number, 14) for number in range(8)]
    assert nodes[4].distances == (21, 21, 21, 21, 10, 12, 12, 12)
    nodes = facts_of("supermicro-epyc7401-t4-console").cpu.nodes
    assert [each.memory_mib for each in nodes] == [0, 31584, 0, 0, 0, 32214, 0, 0]
    assert {page.size_kib: page.total for page in nodes[1].hugepages} == {2048: 512}


def test_vgpus_of_either_framework():
    facts = facts_of("supermicro-421ge-l40s-vgpu")
    used, free = (facts.device(f"0000:17:00.{number}") for number in (4, 5))
    assert (used.physical_function, used.vgpu_type, used.vgpu_types) == (GPU, 1155, ())
    assert (free.vgpu_type, free.vgpu_types[2].name) == (0, "NVIDIA L40S-24Q")
    assert facts.gpus[0].virtual_functions == ("0000:17:00.4", "0000:17:00.5")
    types = facts_of("hpe-dl380-a2-mdev").device("0000:17:01.7").mdev_types
    assert [(each.identifier, each.name, each.available) for each in types] == [
        ("nvidia-742", "NVIDIA A2-1B", 0),
        ("nvidia-746", "NVIDIA A2-4Q", 1),
        ("nvidia-754", "NVIDIA A2-4C", 1),
    ]


def test_domains_with_their_devices():
    used, unused = facts_of("supermicro-421ge-l40s-vgpu").domains
    assert (used.running, unused.running) == (True, False)
    assert used.devices == (HostDevice(address="0000:17:00.4", managed=False),)
    (domain,) = facts_of("hpe-dl380-a2-mdev").domains
    assert domain.devices[0].address == "7b0e6a70-1d4e-4c5c-9b54-000000000009"
    assert isinstance(domain, Domain)


def test_amd_says_its_memory_and_serial_in_sys():
    (gpu,) = facts_of("gigabyte-g292-mi210").gpus
    assert (gpu.model, gpu.memory_mib, gpu.memory_is_measured) == ("MI210", 65520, True)
    assert (gpu.tool.serial, gpu.tool.vbios) == ("0000000000000210", "113-D67301V-073")


def test_other_accelerators_are_named_as_what_they_are():
    facts = facts_of("supermicro-820gh-gaudi2")
    assert facts.gpus == ()
    assert [(each.kind.value, each.name) for each in facts.accelerators] == [
        ("accelerator", "Gaudi 2"),
        ("accelerator", "Intel Corporation 4xxx Series QAT"),
    ]


@pytest.mark.parametrize(
    ("name", "loader", "evidence"),
    [
        ("supermicro-421ge-h100", Loader.GRUB, "/proc/cmdline: BOOT_IMAGE="),
        ("proxmox-8-flex170", Loader.SYSTEMD_BOOT, "EFI variable LoaderInfo: systemd-boot 252"),
        ("azure-nd96amsr-a100", NOT_SAID, ""),
    ],
)
def test_the_boot_loader_in_use_is_known_by_what_it_left(name, loader, evidence):
    boot = facts_of(name).boot
    assert boot.loader == loader
    assert boot.loader_evidence.startswith(evidence)


def test_files_of_another_loader_that_lie_about_say_nothing():
    host = good_host()
    host.files["/boot/efi/loader/entries/old.conf"] = "title Old\nlinux /vmlinuz-old\n"
    boot = host.facts().boot
    assert boot.loader is Loader.GRUB
    assert [(each.title, each.identifier, each.source) for each in boot.entries] == [
        ("Debian GNU/Linux", "gnulinux-simple-1", "grub.cfg"),
        ("Old", "old", "/boot/efi/loader/entries/old.conf"),
    ]


def test_machine_and_agent():
    facts = good_host().facts()
    machine = facts.machine
    assert (machine.maker, machine.product, machine.board) == (
        "Supermicro",
        "SYS-421GE-TNRT",
        "Supermicro X13DEG-OA 1.01",
    )
    assert (machine.bios_version, machine.bmc_version, machine.tables) == ("2.1", "1.3", ("DMAR",))
    assert (machine.is_uefi, machine.secure_boot, machine.is_virtual) == (True, False, False)
    assert (facts.cpu.vendor, facts.cpu.sockets, facts.cpu.threads, facts.cpu.address_bits) == (
        "GenuineIntel",
        2,
        4,
        46,
    )
    assert facts.agent.properties == {"guest.cpu.mode": "host-passthrough", "zone": "1"}
    assert facts.agent.script.classes == ("3D controller", "Processing accelerators")
    assert facts_of("proxmox-8-flex170").agent.script is None
    assert facts.framebuffers == (
        Framebuffer(owner="BOOTFB", device=CONSOLE),
        Framebuffer(owner="astdrmfb", device=CONSOLE),
    )


def test_what_no_text_says_is_unknown_and_says_why():
    host = good_host()
    host.status["virsh-domains"], host.errors["virsh-domains"] = "1", "error: failed to connect\n"
    host.commands["virsh-domains"] = ""
    facts = host.facts()
    assert facts.domains == Unknown(unknown="`virsh dumpxml` failed: error: failed to connect")
    host.status["virsh-domains"] = "missing"
    assert host.facts().domains == Unknown(unknown="the host has no `virsh`")
    del host.status["virsh-domains"], host.errors["virsh-domains"], host.commands["virsh-domains"]
    assert host.facts().domains == NOT_SAID


def test_without_links_no_driver_is_made_up():
    host = good_host()
    host.links, host.lspci = {}, {}
    device = host.facts().device(DISK)
    assert device.driver is device.iommu_group is device.physical_function is NOT_SAID
    assert host.facts().iommu.enabled is NOT_SAID


MALFORMED_TEXTS = {
    "numa_node": "north",
    "vendor": "0x10d",
    "resource": "0x1 0x2",
    "max_link_speed": "fast",
    "aer_dev_fatal": "TOTAL_ERR_FATAL many",
}


def test_malformed_texts_are_told_with_their_paths_all_at_once():
    host = good_host()
    host.set(GPU, **MALFORMED_TEXTS)
    host.lspci["junk"] = "this is no function"
    facts = host.facts()
    wanted = {f"/sys/bus/pci/devices/{GPU}/{name}" for name in MALFORMED_TEXTS}
    assert {each.path for each in facts.problems} == wanted | {"command lspci, line 21"}
    assert facts.device(GPU).numa_node is MALFORMED
    assert "'north' is there" in next(each.text for each in facts.problems if "numa" in each.path)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("17:00.0", "0000:17:00.0"),
        ("0001:D6:00.1", "0001:d6:00.1"),
        ("00000000:83:00.0", "0000:83:00.0"),
        ("10000:e1:00.0", "10000:e1:00.0"),
        ("17:00.8", None),
        ("17:00", None),
        ("", None),
    ],
)
def test_addresses_in_any_spelling(text, address):
    assert address_of(text) == address


LSPCI = """\
17:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
\tSubsystem: NVIDIA Corporation Device [10de:16c1]
\tPhysical Slot: 4
\tNUMA node: 1
\tIOMMU group: 35
\tRegion 0: Memory at 9c000000 (32-bit, non-prefetchable) [size=16M]
\tRegion 2: Memory at <unassigned> (64-bit, prefetchable) [size=128G]
\tCapabilities: [60] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
\tCapabilities: [bb0 v1] Single Root I/O Virtualization (SR-IOV)
\t\tInitial VFs: 32, Total VFs: 32, Number of VFs: 2, Function Dependency Link: 00
\tCapabilities: [148 v1] Device Serial Number 48-b0-2d-ff-ff-00-00-01
\tKernel modules: nvidiafb, nouveau
"""


def test_lspci_alone_says_nearly_as_much():
    (device,) = parse_lspci(LSPCI, lambda path, text: pytest.fail(path + text))
    assert (device.address, device.pci_class, device.revision) == ("0000:17:00.0", "0302", "a1")
    assert (device.name, device.slot, device.numa_node) == (
        "NVIDIA Corporation GH100 [H100 SXM5 80GB]",
        "4",
        1,
    )
    assert (device.iommu_group, device.vfs_total, device.vfs, device.driver) == (35, 32, 2, None)
    assert (device.link, device.link_most) == (
        Link(gigatransfers=2.5, width=8),
        Link(gigatransfers=32.0, width=16),
    )
    assert [(each.bytes, each.is_assigned) for each in device.bars] == [
        (2**24, True),
        (128 * 2**30, False),
    ]
    assert (device.acs, device.serial) == (Acs.ABSENT, "48-b0-2d-ff-ff-00-00-01")
    assert device.root is NOT_SAID


def test_sys_decides_and_lspci_fills_in():
    facts = good_host().facts()
    said = parse_lspci(LSPCI, lambda *_: None)
    (device,) = [each for each in merged(facts.pci, said) if each.address == GPU]
    assert (device.iommu_group, device.numa_node) == (11, 0)
    assert device.serial == "48-b0-2d-ff-ff-00-00-01"


def test_the_tree_leads_from_the_node_to_the_gpu():
    (node,) = topology_of(good_host().facts())
    assert (node.name, node.text) == ("NUMA node 0", "2 threads, 128000 MiB")
    (root,) = node.below
    (port,) = root.below
    assert (root.name, port.name) == ("pci0000:16", PORT)
    assert port.below[0].text == "NVIDIA H100 SXM5 80GB, driver vfio-pci, group 11, slot 4"
    everything = topology_of(good_host().facts(), everything=True)
    assert [each.name for each in everything[0].below] == ["pci0000:00", "pci0000:16"]
    assert [each.name for each in topology_of(facts_of("azure-nd96amsr-a100"))] == [NOT_KNOWN]
