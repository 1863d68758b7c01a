"""What a host's facts mean: each finding with its evidence, meaning and remedy. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from provisioner.hosts import (
    rules_carving,
    rules_cloudstack,
    rules_devices,
    rules_host,
    rules_iommu,
    rules_log,
)
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.finding_catalogue import CATALOGUE, Code, Weight
from provisioner.hosts.seen import Evidence, Seen

RULES: Final[Sequence[Callable[[HostFacts], Iterable[Seen]]]] = (
    *rules_host.RULES,
    *rules_iommu.RULES,
    *rules_devices.RULES,
    *rules_carving.RULES,
    *rules_log.RULES,
    *rules_cloudstack.RULES,
)
_ORDER: Final = {weight: number for number, weight in enumerate(Weight)}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFinding:
    """One thing that somebody should know.

    Attributes:
        subject: A PCI address, or "host".
    """

    code: Code
    weight: Weight
    subject: str
    evidence: tuple[Evidence, ...]
    meaning: str
    remedy: str


def findings_of(facts: HostFacts) -> tuple[HostFinding, ...]:
    """All, what blocks first."""
    found: dict[tuple[Code, str], HostFinding] = {}
    for seen in (each for rule in RULES for each in rule(facts)):
        key, one = (seen.code, seen.subject), _finding(seen)
        if key in found:  # two texts say the same
            one = replace(one, evidence=(*found[key].evidence, *one.evidence))
        found[key] = one
    return tuple(
        sorted(found.values(), key=lambda each: (_ORDER[each.weight], each.code, each.subject))
    )


def _finding(seen: Seen) -> HostFinding:
    entry = CATALOGUE[seen.code]
    return HostFinding(
        code=seen.code,
        weight=entry.weight,
        subject=seen.subject,
        evidence=seen.evidence,
        meaning=entry.meaning,
        remedy=entry.remedy,
    )
