"""Hosts whose GPUs have a finding, and hosts that nearly have it: what to change, and where."""

from provisioner.hosts.finding_catalogue import Code
from tests.unit.hosts.built import DISK, GIB, GPU, NIC, PORT, bar_lines
from tests.unit.hosts.changes import (
    GPU_HAS,
    SWITCH,
    XID,
    acs,
    aer,
    both,
    companion,
    companion_slot,
    domain,
    line,
    log,
    model,
    put,
    second_gpu,
    smi,
    switches,
    ungrouped,
    vga,
    width,
)

GPUS = {
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
}
"""Code -> change that makes it, change that nearly makes it, what it is about."""
