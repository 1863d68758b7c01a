"""What can be found on a GPU host: a closed list, and the page of it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Weight(StrEnum):
    """How much a finding matters.

    BLOCKS: what it is about cannot be handed out as it is. WARNS: it works until something else
    happens. NOTES: good to know when choosing a role.
    """

    BLOCKS = "blocks"
    WARNS = "warns"
    NOTES = "notes"


class Code(StrEnum):
    """Each finding in one word that never changes its meaning."""

    # the texts themselves
    FACTS_WITHOUT_ROOT = "FACTS_WITHOUT_ROOT"
    TEXT_MALFORMED = "TEXT_MALFORMED"
    HOST_IS_VIRTUAL = "HOST_IS_VIRTUAL"
    SYSTEM_UUID_MISSING = "SYSTEM_UUID_MISSING"
    # IOMMU
    IOMMU_FIRMWARE_OFF = "IOMMU_FIRMWARE_OFF"
    IOMMU_OFF = "IOMMU_OFF"
    IOMMU_ARGUMENT_FOREIGN = "IOMMU_ARGUMENT_FOREIGN"
    AMD_IOMMU_ON_IGNORED = "AMD_IOMMU_ON_IGNORED"
    ACS_OVERRIDE = "ACS_OVERRIDE"
    UNSAFE_INTERRUPTS = "UNSAFE_INTERRUPTS"
    RMRR_DEVICE = "RMRR_DEVICE"
    RMRR_RELAXED = "RMRR_RELAXED"
    # groups
    GROUP_MISSING = "GROUP_MISSING"
    GROUP_WITH_CRITICAL = "GROUP_WITH_CRITICAL"
    GROUP_NOT_VIABLE = "GROUP_NOT_VIABLE"
    GROUP_OF_GPUS = "GROUP_OF_GPUS"
    ACS_OFF_ABOVE = "ACS_OFF_ABOVE"
    # console and binding
    CONSOLE_GPU = "CONSOLE_GPU"
    FRAMEBUFFER_ON_GPU = "FRAMEBUFFER_ON_GPU"
    NOUVEAU_ON_GPU = "NOUVEAU_ON_GPU"
    BOUND_BY_MODEL = "BOUND_BY_MODEL"
    OVERRIDE_NOT_FOLLOWED = "OVERRIDE_NOT_FOLLOWED"
    VFIO_BUILT_IN = "VFIO_BUILT_IN"
    GPU_IN_USE = "GPU_IN_USE"
    UNBIND_HANGS = "UNBIND_HANGS"
    # health
    GPU_LOST = "GPU_LOST"
    NO_RESET = "NO_RESET"
    BAR_UNASSIGNED = "BAR_UNASSIGNED"
    SRIOV_NO_ROOM = "SRIOV_NO_ROOM"
    LINK_NARROW = "LINK_NARROW"
    AER_ERRORS = "AER_ERRORS"
    XID_LOGGED = "XID_LOGGED"
    RECOVERY_ADVISED = "RECOVERY_ADVISED"
    # what a GPU is
    MODEL_UNKNOWN = "MODEL_UNKNOWN"
    MODEL_AMBIGUOUS = "MODEL_AMBIGUOUS"
    BOARD_OF_SEVERAL = "BOARD_OF_SEVERAL"
    # carving
    VFS_ON = "VFS_ON"
    VF_LIMIT = "VF_LIMIT"
    MIG_ON = "MIG_ON"
    MIG_PENDING = "MIG_PENDING"
    NVSWITCH_THERE = "NVSWITCH_THERE"
    NVSWITCH_SPLIT = "NVSWITCH_SPLIT"
    FABRIC_MANAGER_DIFFERS = "FABRIC_MANAGER_DIFFERS"
    # drivers
    INTEL_GPU_UNSUPPORTED = "INTEL_GPU_UNSUPPORTED"
    PARAMETER_IGNORED = "PARAMETER_IGNORED"
    MODULE_REFUSED = "MODULE_REFUSED"
    SECURE_BOOT_ON = "SECURE_BOOT_ON"
    UPGRADES_UNATTENDED = "UPGRADES_UNATTENDED"
    # boot and memory
    LOADER_UNKNOWN = "LOADER_UNKNOWN"
    SAVED_ENTRY_MISSING = "SAVED_ENTRY_MISSING"
    NODE_WITHOUT_MEMORY = "NODE_WITHOUT_MEMORY"
    NUMA_UNKNOWN = "NUMA_UNKNOWN"
    HUGEPAGES_UNUSED = "HUGEPAGES_UNUSED"
    # CloudStack
    AGENT_MISSING = "AGENT_MISSING"
    TOOL_MISSING = "TOOL_MISSING"
    PCI_IDS_OLD = "PCI_IDS_OLD"
    PCI_DOMAIN = "PCI_DOMAIN"
    CLASS_NOT_DISCOVERED = "CLASS_NOT_DISCOVERED"
    GUEST_CPU_MODE_UNSET = "GUEST_CPU_MODE_UNSET"
    UEFI_PROPERTIES_MISSING = "UEFI_PROPERTIES_MISSING"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a code means and what to do."""

    weight: Weight
    meaning: str
    remedy: str


def _entry(weight: Weight, meaning: str, remedy: str) -> Entry:
    return Entry(weight=weight, meaning=meaning, remedy=remedy)


C, B, W, N = Code, Weight.BLOCKS, Weight.WARNS, Weight.NOTES

# one row a code, meaning and remedy side by side
# fmt: off
CATALOGUE: Mapping[Code, Entry] = MappingProxyType(
    {
        C.FACTS_WITHOUT_ROOT: _entry(W, "The texts were gathered by a user who may not read all of them: capabilities, kernel log and memory map are missing.", "Gather them as root; over SSH the host's user needs `sudo -n sh`."),
        C.TEXT_MALFORMED: _entry(W, "A text is not what it should be, so what it would have said is unknown.", "Look at the text that is named; where the tool has a new form, tell us."),
        C.HOST_IS_VIRTUAL: _entry(B, "The host is itself a virtual machine.", "Prepare the physical host below it; a guest's devices are its hypervisor's to give."),
        C.SYSTEM_UUID_MISSING: _entry(W, "The firmware names no system uuid, so the machine cannot be told from another.", "Set it in the board's firmware (maker's DMI tool)."),
        C.IOMMU_FIRMWARE_OFF: _entry(B, "The firmware has no IOMMU table (DMAR, IVRS or IORT): the kernel cannot switch on what it is not told of.", "Firmware setup: VT-d (Intel), IOMMU or AMD-Vi (AMD), SMMU (Arm)."),
        C.IOMMU_OFF: _entry(B, "The firmware offers an IOMMU and the kernel has not switched it on: there are no groups.", "Intel: kernel argument `intel_iommu=on`. AMD and Arm: remove `iommu=off` or its like."),
        C.IOMMU_ARGUMENT_FOREIGN: _entry(N, "The kernel line has the IOMMU argument of another maker; it does nothing, and its line in the log looks like success.", "Leave it out when the entry is made anew."),
        C.AMD_IOMMU_ON_IGNORED: _entry(N, "`amd_iommu=on` is no value that the kernel knows; it is ignored. The IOMMU is on by itself.", "Leave it out; `iommu=pt` is the argument that does something."),
        C.ACS_OVERRIDE: _entry(B, "The kernel was told to take for isolated what is not: groups look smaller than they are, and a guest can reach its neighbour.", "Remove `pcie_acs_override` and give whole groups away."),
        C.UNSAFE_INTERRUPTS: _entry(B, "VFIO does without interrupt remapping: a guest can send the host any interrupt.", "Firmware setup: interrupt remapping or x2APIC on; remove `allow_unsafe_interrupts`."),
        C.RMRR_DEVICE: _entry(B, "The firmware wants memory mapped for this device (RMRR), so the kernel gives it to no guest.", "Firmware setup: legacy USB or shared management memory for this slot off; or another slot. No argument of the kernel mends it."),
        C.RMRR_RELAXED: _entry(B, "A patched kernel ignores what the firmware wants mapped (RMRR): memory may be overwritten.", "Remove that argument or kernel."),
        C.GROUP_MISSING: _entry(B, "The IOMMU is on, and this GPU is in no group.", "Firmware setup: SMMU or IOMMU for this root complex; on GH200 the SMMU setting."),
        C.GROUP_WITH_CRITICAL: _entry(B, "The GPU's IOMMU group has a disk, a network card or the console's display in it: it would go to the guest too.", "Another slot, or ACS in the firmware setup."),
        C.GROUP_NOT_VIABLE: _entry(W, "Other functions in the GPU's IOMMU group are on drivers of the host: VFIO refuses the whole group.", "Bind them to vfio-pci with the GPU, by address."),
        C.GROUP_OF_GPUS: _entry(W, "Several GPUs share one IOMMU group: they can only go to one guest together, and CloudStack does not look at groups.", "ACS in the firmware setup, other slots, or offer them together."),
        C.ACS_OFF_ABOVE: _entry(N, "A bridge on the way to this GPU does not isolate its ports (ACS), and the group shows it.", "Firmware setup: ACS on. Training on bare metal wants it off: this is a choice of role."),
        C.CONSOLE_GPU: _entry(B, "The firmware's console is on this GPU: the host holds its memory, and its guest's driver fails.", "Firmware setup: primary display on the controller's (BMC's) VGA."),
        C.FRAMEBUFFER_ON_GPU: _entry(B, "The boot framebuffer lies in this GPU's memory; VFIO cannot take it.", "As CONSOLE_GPU."),
        C.NOUVEAU_ON_GPU: _entry(W, "nouveau has this GPU: it cannot be unbound safely.", "Early binding by address, and nouveau kept off by the kernel line."),
        C.BOUND_BY_MODEL: _entry(W, "`vfio-pci.ids=` takes every device of these ids, also one that the host needs and one that is added later.", "driver_override by address."),
        C.OVERRIDE_NOT_FOLLOWED: _entry(W, "A driver was chosen for this device and another one, or none, has it.", "Look at the boot's order: the wanted driver must be in the initramfs."),
        C.VFIO_BUILT_IN: _entry(N, "vfio-pci is part of this kernel: options in modprobe.d do nothing.", "Kernel line or driver_override in the initramfs."),
        C.GPU_IN_USE: _entry(N, "A running guest has this GPU.", "Drain the host before anything is changed."),
        C.UNBIND_HANGS: _entry(W, "A driver was told to let go of a GPU that something still uses; the process hangs until the next boot.", "Reboot the host; do not unbind this driver while it runs."),
        C.GPU_LOST: _entry(B, "The GPU did not come back from its deepest sleep (D3cold): no driver reaches it.", "Reboot, cold if need be; then `d3cold_allowed` 0 for it. Firmware of board and GPU up to date."),
        C.NO_RESET: _entry(B, "The kernel knows no way to reset this GPU: what one guest left in it the next one finds.", "Firmware of the GPU; else a cold reboot between guests."),
        C.BAR_UNASSIGNED: _entry(B, "The kernel found no room for a window (BAR) of this device.", "Firmware setup: above 4G decoding on, MMIO window larger, resizable BAR as the maker says."),
        C.SRIOV_NO_ROOM: _entry(B, "There is no room for the windows of virtual functions.", "Firmware setup: SR-IOV and above 4G decoding on."),
        C.LINK_NARROW: _entry(W, "The link has fewer lanes than device and slot can do. Width never drops when idle, as speed does.", "Reseat the card and its riser; look at the slot's bifurcation in the firmware setup."),
        C.AER_ERRORS: _entry(W, "PCI Express reported errors that were not corrected since boot.", "Reseat, another slot or riser; compare after a day."),
        C.XID_LOGGED: _entry(W, "NVIDIA's driver reported an error (Xid) of this GPU.", "NVIDIA's Xid catalogue by this number: 79 fell off the bus, 119 GSP time-out, 63 and 64 row remapping."),
        C.RECOVERY_ADVISED: _entry(W, "The driver itself advises an action for this GPU.", "Do what it says before the GPU is handed out."),
        C.MODEL_UNKNOWN: _entry(N, "This GPU's id is not in Rackwright's table; memory and name are as the host says.", "Nothing on the host; a newer Rackwright may know it."),
        C.MODEL_AMBIGUOUS: _entry(N, "Several products share this id; without a driver they cannot be told apart.", "Select by address or by vendor:device:subsystem, not by name."),
        C.BOARD_OF_SEVERAL: _entry(N, "One board carries several of these GPUs; they share power and a fate.", "Hand them out together where the maker says so (MI250)."),
        C.VFS_ON: _entry(W, "Virtual functions are enabled: CloudStack then no longer offers the whole GPU, and shows functions of AMD and Intel not at all.", "Set sriov_numvfs to 0 for passthrough; keep them for vGPU of NVIDIA."),
        C.VF_LIMIT: _entry(W, "AMD's driver of virtual functions was asked for more than it makes.", "Ask for as many as its log names."),
        C.MIG_ON: _entry(N, "MIG is on. CloudStack offers no plain MIG; a guest may also have left it on.", "`nvidia-smi -mig 0` before passthrough."),
        C.MIG_PENDING: _entry(W, "MIG's mode changes with the next reset of this GPU.", "Stop its clients and reset it, or reboot."),
        C.NVSWITCH_THERE: _entry(N, "NVSwitches join these GPUs: guests see CUDA error 802 unless somebody runs the fabric.", "Decide: all GPUs and switches to one guest, or switches on the host with the fabric manager."),
        C.NVSWITCH_SPLIT: _entry(B, "Some NVSwitches are on vfio-pci and some are not: neither host nor guest can run the fabric.", "All of them on one side."),
        C.FABRIC_MANAGER_DIFFERS: _entry(B, "The fabric manager is of another version than the driver and does not start.", "Install the same version of both and hold both packages."),
        C.INTEL_GPU_UNSUPPORTED: _entry(W, "This kernel's i915 does not know this GPU.", "Intel's driver package or a newer kernel; passthrough needs neither."),
        C.PARAMETER_IGNORED: _entry(N, "A module does not know a parameter that it was given.", "Leave it out; `modinfo -p` names those it knows."),
        C.MODULE_REFUSED: _entry(B, "The kernel refused a module because of its signature.", "Enrol its key (mokutil, at the console) or use the distribution's signed module."),
        C.SECURE_BOOT_ON: _entry(N, "Secure Boot is on: only signed modules load.", "Check the driver's signature before a reboot depends on it."),
        C.UPGRADES_UNATTENDED: _entry(W, "Packages are upgraded unattended while NVIDIA's driver is in use: library and module may differ after it.", "Hold driver and fabric manager."),
        C.LOADER_UNKNOWN: _entry(W, "No text says which boot loader is in use, so no safe trial boot can be planned.", "Look at the kernel line and at LoaderInfo (`bootctl status`)."),
        C.SAVED_ENTRY_MISSING: _entry(N, "GRUB has no saved entry: after a trial the first entry boots, which need not be today's.", "`grub-set-default` with today's entry."),
        C.NODE_WITHOUT_MEMORY: _entry(N, "A NUMA node has no memory of its own: hugepages cannot be split evenly.", "Reserve by node; or populate its memory channels."),
        C.NUMA_UNKNOWN: _entry(N, "The host has several NUMA nodes and the platform does not say on which this GPU is.", "Firmware setup; update it."),
        C.HUGEPAGES_UNUSED: _entry(N, "Hugepages are reserved; guests of stock CloudStack do not use them, and the memory is lost to them.", "Release them, or install the agent's hook that makes guests use them."),
        C.AGENT_MISSING: _entry(N, "CloudStack's agent is not installed: the host serves nothing yet.", "Add the host to CloudStack after it was prepared."),
        C.TOOL_MISSING: _entry(W, "CloudStack's discovery needs this program. Without xmlstarlet it goes on and shows used GPUs as free.", "Install the package: pciutils, libvirt-clients, xmlstarlet."),
        C.PCI_IDS_OLD: _entry(W, "The host's pci.ids does not know this GPU: CloudStack makes a card named \"Device\", once and for ever.", "`update-pciids`, or a newer pci.ids or hwdata, before the first discovery."),
        C.PCI_DOMAIN: _entry(B, "The GPU is outside PCI domain 0000, which CloudStack 4.22.0 leaves out of addresses: the guest does not start.", "A CloudStack with pull request 12981, or another slot."),
        C.CLASS_NOT_DISCOVERED: _entry(B, "The installed discovery script does not look at this GPU's PCI class.", "A CloudStack whose script does (4.22 knows 0302 and 1200, pull request 12981 adds 0380)."),
        C.GUEST_CPU_MODE_UNSET: _entry(W, "The agent names no guest.cpu.mode: guests get a basic CPU whose address space may not fit large windows.", "`guest.cpu.mode=host-passthrough` or host-model in agent.properties, then restart the agent."),
        C.UEFI_PROPERTIES_MISSING: _entry(W, "The agent has no uefi.properties: guests boot by BIOS, where windows of large GPUs do not fit.", "Write /etc/cloudstack/agent/uefi.properties and install OVMF."),
    }
)
# fmt: on


def page() -> str:
    """docs/gpu-findings.md."""
    head = [
        "# Findings on GPU hosts",
        "",
        (
            "What `rackwright host findings` can say, generated from "
            "`provisioner/hosts/finding_catalogue.py`. Each comes with its evidence: which text said"
        ),
        "what. *Blocks*: what it is about cannot be handed out as it is. *Warns*: it works until",
        "something else happens. *Notes*: good to know when choosing a role.",
        "",
        "| code | weight | meaning | remedy |",
        "|---|---|---|---|",
    ]
    rows = [
        f"| {code} | {each.weight} | {each.meaning} | {each.remedy} |"
        for code, each in CATALOGUE.items()
    ]
    return "\n".join([*head, *rows]) + "\n"
