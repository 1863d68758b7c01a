"""Rules about GPUs that are cut into parts or joined: SR-IOV, MIG, NVSwitch. Pure."""

from collections.abc import Iterator
from typing import Final

from provisioner.hardware.gpu import Mig
from provisioner.hardware.gpu_models import Kind
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.finding_catalogue import Code
from provisioner.hosts.seen import HOST, Seen, of_device, seen, shown

_NVIDIA_SMI: Final = "nvidia-smi --query-gpu"


def virtual_functions(facts: HostFacts) -> Iterator[Seen]:
    """A physical function with virtual ones is no longer offered whole."""
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        if device is not None and isinstance(device.vfs, int) and device.vfs > 0:
            text = of_device(gpu.address, "sriov_numvfs")
            yield seen(Code.VFS_ON, gpu.address, (text, device.vfs))


def mig(facts: HostFacts) -> Iterator[Seen]:
    """Mode now and after a reset."""
    for gpu in facts.gpus:
        mode = gpu.tool.mig
        if not isinstance(mode, Mig):
            continue
        if mode.enabled != mode.pending:
            said = "pending: on" if mode.pending else "pending: off"
            yield seen(Code.MIG_PENDING, gpu.address, (_NVIDIA_SMI, said))
        if mode.enabled:
            said = ", ".join(mode.instances) or "no instances"
            yield seen(
                Code.MIG_ON, gpu.address, (_NVIDIA_SMI, "enabled"), ("nvidia-smi mig -lgi", said)
            )


def switches(facts: HostFacts) -> Iterator[Seen]:
    """NVSwitches belong to one side."""
    found = [each.address for each in facts.accelerators if each.kind is Kind.NVSWITCH]
    devices = [each for each in map(facts.device, found) if each is not None]
    if not devices:
        return
    said = tuple(("command lspci", shown(each)) for each in devices)
    yield seen(Code.NVSWITCH_THERE, HOST, *said)
    known = [each.driver for each in devices if not isinstance(each.driver, Unknown)]
    if 0 < sum(each == "vfio-pci" for each in known) < len(known):
        yield seen(Code.NVSWITCH_SPLIT, HOST, *said)


def advice(facts: HostFacts) -> Iterator[Seen]:
    """What the driver itself says should be done."""
    for gpu in facts.gpus:
        if isinstance(gpu.tool.recovery, str):
            said = (f"{_NVIDIA_SMI} gpu_recovery_action", gpu.tool.recovery)
            yield seen(Code.RECOVERY_ADVISED, gpu.address, said)


def upgrades(facts: HostFacts) -> Iterator[Seen]:
    """A driver in use, and packages that change by themselves."""
    services = facts.system.services
    is_on = (
        not isinstance(services, Unknown)
        and services.get("unattended-upgrades.service") == "active"
    )
    in_use = any(not isinstance(each.tool.driver_version, Unknown) for each in facts.gpus)
    if is_on and in_use:
        said = ("systemctl show unattended-upgrades.service", "active")
        yield seen(Code.UPGRADES_UNATTENDED, HOST, said)


RULES: Final = (virtual_functions, mig, switches, advice, upgrades)
