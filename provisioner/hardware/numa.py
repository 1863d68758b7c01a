"""NUMA nodes and hugepages from /sys. Standard library only."""

import re
from dataclasses import dataclass
from typing import Final

from provisioner.hardware.attributes import Attributes
from provisioner.hardware.tree import Tree
from provisioner.hardware.unknown import Complain, Unknown

NODES: Final = "devices/system/node"
_RANGE: Final = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class HugePages:
    """Reserved pages of one size on one node."""

    size_kib: int
    total: int | Unknown
    free: int | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One node.

    Attributes:
        cpus: Threads.
        memory_mib: 0: it has none of its own.
        distances: To each node, in their order; 10 is to itself.
    """

    number: int
    cpus: int | Unknown
    memory_mib: int | Unknown
    distances: tuple[int, ...] | Unknown
    hugepages: tuple[HugePages, ...]


def read_nodes(tree: Tree, complain: Complain) -> tuple[NumaNode, ...]:
    """All, by number; () where no text names one."""
    names = (re.fullmatch(r"node(\d{1,6})", name) for name in tree.names(NODES))
    numbers = sorted(int(name[1]) for name in names if name)
    return tuple(_node(tree, number, complain) for number in numbers)


def _node(tree: Tree, number: int, complain: Complain) -> NumaNode:
    at = f"{NODES}/node{number}"
    of = Attributes(tree, at, f"/sys/{at}", complain)
    return NumaNode(
        number=number,
        cpus=_cpus(of),
        memory_mib=_memory(of),
        distances=_distances(of),
        hugepages=_hugepages(tree, at, complain),
    )


def _cpus(of: Attributes) -> int | Unknown:
    found = of.text("cpulist")
    if isinstance(found, Unknown):
        return found
    count = 0
    for part in filter(None, found.split(",")):
        match = _RANGE.fullmatch(part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            return of.malformed("cpulist", "ranges of threads", found)
        count += int(match[2] or match[1]) - int(match[1]) + 1
    return count


def _memory(of: Attributes) -> int | Unknown:
    lines = of.lines("meminfo")
    if isinstance(lines, Unknown):
        return lines
    match = re.search(r"MemTotal: (\d{1,15}) kB", "\n".join(lines))
    if match is None:
        return of.malformed("meminfo", "MemTotal in kB", " ".join(lines))
    return int(match[1]) // 1024


def _distances(of: Attributes) -> tuple[int, ...] | Unknown:
    found = of.text("distance")
    if isinstance(found, Unknown):
        return found
    if not re.fullmatch(r"\d{1,6}(?: \d{1,6})*", found):
        return of.malformed("distance", "numbers", found)
    return tuple(int(each) for each in found.split())


def _hugepages(tree: Tree, at: str, complain: Complain) -> tuple[HugePages, ...]:
    found = []
    for name in tree.names(f"{at}/hugepages"):
        match = re.fullmatch(r"hugepages-(\d{1,9})kB", name)
        if match is None:
            continue
        of = Attributes(tree, f"{at}/hugepages/{name}", f"/sys/{at}/hugepages/{name}", complain)
        total, free = of.number("nr_hugepages"), of.number("free_hugepages")
        found.append(HugePages(size_kib=int(match[1]), total=total, free=free))
    return tuple(found)
