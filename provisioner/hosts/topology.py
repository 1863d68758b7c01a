"""Where a host's GPUs hang: NUMA node, root, bridges, functions. A tree of values. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from provisioner.hardware.pci import PciDevice
from provisioner.hardware.unknown import Unknown
from provisioner.hosts.facts import HostFacts

NOT_KNOWN = "NUMA node not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """One place of the tree.

    Attributes:
        name: A node, a root, or the address of a function.
        text: What it is, in one line; "" where the name says it.
        below: In order.
    """

    name: str
    text: str
    below: tuple["Branch", ...] = ()


def topology_of(facts: HostFacts, *, everything: bool = False) -> tuple[Branch, ...]:
    """Node by node.

    Args:
        facts: Of the host.
        everything: Each function, not only GPUs, accelerators and what is on their way.
    """
    wanted = {each.address for each in facts.gpus} | {each.address for each in facts.accelerators}
    wanted |= {each for gpu in facts.gpus for each in (*gpu.companions, *gpu.virtual_functions)}
    shown = [each for each in facts.pci if everything or each.address in wanted]
    nodes: dict[str, list[PciDevice]] = {}
    for each in shown:
        nodes.setdefault(_node(each), []).append(each)
    return tuple(
        Branch(name=name, text=_of_node(facts, name), below=tuple(_roots(facts, nodes[name])))
        for name in sorted(nodes, key=lambda name: (name == NOT_KNOWN, len(name), name))
    )


def _node(device: PciDevice) -> str:
    node = device.numa_node
    return NOT_KNOWN if isinstance(node, Unknown) or node is None else f"NUMA node {node}"


def _of_node(facts: HostFacts, name: str) -> str:
    for each in facts.cpu.nodes:
        if name == f"NUMA node {each.number}":
            cpus = "?" if isinstance(each.cpus, Unknown) else each.cpus
            memory = "?" if isinstance(each.memory_mib, Unknown) else each.memory_mib
            return f"{cpus} threads, {memory} MiB"
    return ""


def _roots(facts: HostFacts, devices: Sequence[PciDevice]) -> Iterator[Branch]:
    roots: dict[str, list[tuple[tuple[str, ...], PciDevice]]] = {}
    for each in devices:
        root = "root not known" if isinstance(each.root, Unknown) else each.root
        bridges = () if isinstance(each.bridges, Unknown) else each.bridges
        roots.setdefault(root, []).append((bridges, each))
    for root in sorted(roots):
        yield Branch(name=root, text="", below=_below(facts, roots[root]))


def _below(
    facts: HostFacts, ways: Sequence[tuple[tuple[str, ...], PciDevice]]
) -> tuple[Branch, ...]:
    """Those that hang here, and the bridges that lead on."""
    here = [device for bridges, device in ways if not bridges]
    on: dict[str, list[tuple[tuple[str, ...], PciDevice]]] = {}
    for bridges, device in ways:
        if bridges:
            on.setdefault(bridges[0], []).append((bridges[1:], device))
    found = {each.address: Branch(name=each.address, text=_text(facts, each)) for each in here}
    for address, further in on.items():
        bridge = facts.device(address)
        text = "bridge" if bridge is None else _text(facts, bridge)
        found[address] = Branch(name=address, text=text, below=_below(facts, further))
    return tuple(found[address] for address in sorted(found))


def _text(facts: HostFacts, device: PciDevice) -> str:
    words = [_name(facts, device)]
    if not isinstance(device.driver, Unknown):
        words.append(f"driver {device.driver or 'none'}")
    if not isinstance(device.iommu_group, Unknown):
        words.append("no group" if device.iommu_group is None else f"group {device.iommu_group}")
    if device.is_virtual():
        words.append(f"virtual function of {device.physical_function}")
    if not isinstance(device.slot, Unknown):
        words.append(f"slot {device.slot}")
    return ", ".join(words)


def _name(facts: HostFacts, device: PciDevice) -> str:
    for gpu in facts.gpus:
        if gpu.address == device.address:
            model = "GPU" if isinstance(gpu.model, Unknown) else gpu.model
            return f"{gpu.vendor} {model}"
    for each in facts.accelerators:
        if each.address == device.address and isinstance(each.name, str):
            return f"{each.kind} {each.name}"
    return device.ids() if isinstance(device.name, Unknown) else device.name
