"""From a bundle's texts to facts: each part by its own reader. Pure."""

from dataclasses import replace

from provisioner.hardware.gpu import ToolFacts, accelerator_of, gpu_of
from provisioner.hardware.lspci import merged, parse_lspci
from provisioner.hardware.pci_sysfs import read_devices
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.bundle import Bundle
from provisioner.hosts.facts import HostFacts, Origin, Way
from provisioner.hosts.kernel_log import read_log
from provisioner.hosts.read_boot import read_boot
from provisioner.hosts.read_gpus import read_tools
from provisioner.hosts.read_iommu import read_framebuffers, read_iommu
from provisioner.hosts.read_machine import read_machine, read_processors
from provisioner.hosts.read_system import read_agent, read_domains, read_system_facts
from provisioner.hosts.texts import Texts


def read_facts(bundle: Bundle, *, way: Way) -> HostFacts:
    """All that the bundle says; nothing in it is an error here, only a problem among the facts."""
    texts = Texts(bundle)
    lspci = texts.command("lspci", partial=True)
    said = () if isinstance(lspci, Unknown) else parse_lspci(lspci, texts.complain)
    devices = merged(read_devices(texts.sys, texts.complain), said)
    tools = read_tools(texts)
    gpus = (gpu_of(each, devices, tools.get(each.address, ToolFacts())) for each in devices)
    others = (accelerator_of(each) for each in devices)
    system = read_system_facts(texts)
    facts = HostFacts(
        origin=Origin(
            way=way, taken_at=bundle.taken_at, sha256=bundle.sha256, by_root=bundle.uid == 0
        ),
        machine=read_machine(texts),
        cpu=read_processors(texts),
        system=system,
        boot=read_boot(texts),
        iommu=read_iommu(texts, devices),
        pci=devices,
        gpus=tuple(each for each in gpus if each is not None),
        accelerators=tuple(each for each in others if each is not None),
        framebuffers=read_framebuffers(texts),
        domains=read_domains(texts),
        agent=read_agent(texts, system),
        log=read_log(texts),
    )
    return replace(facts, problems=tuple(texts.problems))
