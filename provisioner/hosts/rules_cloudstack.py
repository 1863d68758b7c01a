"""Rules about what CloudStack's agent and its discovery will make of a host. Pure."""

from collections.abc import Iterator
from typing import Final

from provisioner.hardware.gpu_models import models
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import DiscoveryScript, HostFacts
from provisioner.hosts.finding_catalogue import Code
from provisioner.hosts.seen import HOST, Seen, seen

_TOOLS: Final = ("lspci", "virsh", "xmlstarlet")
_CLASSES: Final = {
    "0300": "VGA compatible controller",
    "0302": "3D controller",
    "0380": "Display controller",
    "1200": "Processing accelerators",
}
_LARGE: Final = 16 * 2**30
"""Windows from here on do not fit below a BIOS guest's 4 GiB, nor a basic CPU's addresses."""


def agent(facts: HostFacts) -> Iterator[Seen]:
    """The agent, and how it makes guests."""
    if facts.agent.version is None:
        yield seen(Code.AGENT_MISSING, HOST, ("dpkg-query or rpm", "no cloudstack-agent"))
        return
    properties = facts.agent.properties
    has_large = any(_largest(facts, each.address) >= _LARGE for each in facts.gpus)
    if not isinstance(properties, Unknown) and has_large:
        if not properties.get("guest.cpu.mode"):
            text = "/etc/cloudstack/agent/agent.properties"
            yield seen(Code.GUEST_CPU_MODE_UNSET, HOST, (text, "no guest.cpu.mode"))
        if not facts.agent.has_uefi_properties:
            text = "/etc/cloudstack/agent/uefi.properties"
            yield seen(Code.UEFI_PROPERTIES_MISSING, HOST, (text, "not there"))


def _largest(facts: HostFacts, address: str) -> int:
    device = facts.device(address)
    bars = () if device is None or isinstance(device.bars, Unknown) else device.bars
    return max((each.bytes for each in bars if each.is_own_memory()), default=0)


def tools(facts: HostFacts) -> Iterator[Seen]:
    """Programs that the discovery script calls."""
    there = facts.system.tools
    if isinstance(there, Unknown):
        return
    for name in _TOOLS:
        if name not in there:
            yield seen(Code.TOOL_MISSING, HOST, ("command -v", f"no {name}"))


def names(facts: HostFacts) -> Iterator[Seen]:
    """A card that the host cannot name is named "Device" in CloudStack."""
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        if device is None or isinstance(device.name, Unknown) or device.ids() not in models():
            continue
        if device.name.endswith(" Device"):
            said = ("command lspci", f"{device.name} [{device.ids()}]")
            yield seen(Code.PCI_IDS_OLD, gpu.address, said)


def addresses(facts: HostFacts) -> Iterator[Seen]:
    """What the agent cuts off."""
    for gpu in facts.gpus:
        if not gpu.address.startswith("0000:"):
            yield seen(Code.PCI_DOMAIN, gpu.address, ("/sys/bus/pci/devices", gpu.address))


def classes(facts: HostFacts) -> Iterator[Seen]:
    """What the installed script looks at; without one nothing is said here."""
    script = facts.agent.script
    if not isinstance(script, DiscoveryScript):
        return
    for gpu in facts.gpus:
        device = facts.device(gpu.address)
        name = _CLASSES.get(device.base_class()) if device is not None else None
        if name is not None and name not in script.classes:
            own = ("command lspci", f"{name}")
            looks = (script.path, f"looks at {', '.join(script.classes)}")
            yield seen(Code.CLASS_NOT_DISCOVERED, gpu.address, own, looks)


RULES: Final = (agent, tools, names, addresses, classes)
