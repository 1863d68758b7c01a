"""Rules about lines of the kernel's log: what each of them means is a table. Pure."""

from collections.abc import Iterator
from typing import Final

from provisioner.hardware.pci import address_of
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.finding_catalogue import Code
from provisioner.hosts.seen import HOST, Seen, seen

MEANINGS: Final = {
    "amd_iommu_option": Code.AMD_IOMMU_ON_IGNORED,
    "acs_override": Code.ACS_OVERRIDE,
    "rmrr": Code.RMRR_DEVICE,
    "rmrr_relaxed": Code.RMRR_RELAXED,
    "no_interrupt_remapping": Code.UNSAFE_INTERRUPTS,
    "bar_reserved": Code.FRAMEBUFFER_ON_GPU,
    "bar_unassigned": Code.BAR_UNASSIGNED,
    "sriov_no_room": Code.SRIOV_NO_ROOM,
    "d3cold": Code.GPU_LOST,
    "unbind_hangs": Code.UNBIND_HANGS,
    "xid": Code.XID_LOGGED,
    "intel_unsupported": Code.INTEL_GPU_UNSUPPORTED,
    "parameter_ignored": Code.PARAMETER_IGNORED,
    "fabric_manager": Code.FABRIC_MANAGER_DIFFERS,
    "vf_limit": Code.VF_LIMIT,
    "module_key": Code.MODULE_REFUSED,
}
"""Name of a rule of kernel_log -> what it means."""


def logged(facts: HostFacts) -> Iterator[Seen]:
    """Each line once."""
    for line in () if isinstance(facts.log, Unknown) else facts.log:
        subject = address_of(line.subject.partition(" ")[0]) or HOST
        yield seen(MEANINGS[line.rule], subject, ("dmesg", line.text))


RULES: Final = (logged,)
