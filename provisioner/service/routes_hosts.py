"""Routes of GPU hosts: one table that says who may ask what."""

from dataclasses import dataclass
from typing import Annotated, Final

from starlette.responses import Response

from provisioner.config import Role
from provisioner.hosts.facts import HostFacts
from provisioner.hosts.findings import HostFinding, findings_of
from provisioner.hosts.model import (
    CloudPlace,
    ControllerPlace,
    HostRecord,
    HostWanted,
    SshAccess,
)
from provisioner.hosts.topology import Branch, topology_of
from provisioner.operations.desk_hosts import HostDesk
from provisioner.service.routes import Asking, Parameter, Route
from provisioner.strict import matching
from provisioner.units import HostName, WallSeconds

MOST_BYTES: Final = 12 * 1024 * 1024
"""A bundle of 8 MiB in base64."""
Base64 = Annotated[str, matching(r"[A-Za-z0-9+/]*={0,2}", "base64")]
_ONE: Final = "/v1/hosts/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSummary:
    """A host in a list.

    Attributes:
        gpus: Each by its model, as `host show` names it; "?" is not known.
        findings: How many of each weight.
    """

    name: HostName
    system_uuid: str | None
    product: str
    gpus: tuple[str, ...]
    findings: dict[str, int]
    taken_at: WallSeconds
    inspected_at: WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HostList:
    """All, by name."""

    hosts: tuple[HostSummary, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HostIdentity:
    """What is remembered of a host besides its facts."""

    name: HostName
    access: SshAccess | None
    controller: ControllerPlace | None
    cloudstack: CloudPlace | None
    system_uuid: str | None
    enrolled_at: WallSeconds
    enrolled_by: str
    inspected_at: WallSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class HostDetail:
    """All that is remembered of one host.

    Attributes:
        dry_run: It was only looked at.
    """

    host: HostIdentity
    facts: HostFacts
    dry_run: bool = False
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTree:
    """Where its GPUs hang."""

    nodes: tuple[Branch, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFindings:
    """What was found on it, what blocks first."""

    findings: tuple[HostFinding, ...]
    version: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTexts:
    """A bundle in base64; "" is gathered over SSH."""

    bundle: Base64 = ""


def host_routes(desk: HostDesk) -> tuple[Route, ...]:
    """The table."""

    async def listed(_asking: Asking) -> HostList:
        return HostList(hosts=tuple(map(_summary, await desk.hosts())))

    async def shown(asking: Asking) -> HostDetail:
        return _detail(await desk.host(_name(asking)))

    async def tree(asking: Asking) -> HostTree:
        record = await desk.host(_name(asking))
        everything = bool(asking.query.get("all"))
        return HostTree(nodes=topology_of(record.facts, everything=everything))

    async def found(asking: Asking) -> HostFindings:
        record = await desk.host(_name(asking))
        return HostFindings(findings=findings_of(record.facts))

    async def texts(asking: Asking) -> Response:
        return Response(await desk.bundle(_name(asking)), media_type="application/gzip")

    async def added(asking: Asking) -> HostDetail:
        wanted: HostWanted = asking.body
        record = await desk.add(wanted, asking.operator, dry_run=asking.dry_run)
        return _detail(record, dry_run=asking.dry_run)

    async def inspected(asking: Asking) -> HostDetail:
        bundle = asking.body.bundle
        name, dry_run = _name(asking), asking.dry_run
        record = await desk.inspect(name, bundle, asking.operator, dry_run=dry_run)
        return _detail(record, dry_run=dry_run)

    return (
        Route(
            method="GET",
            path="/v1/hosts",
            role=Role.VIEWER,
            answer=listed,
            summary="All GPU hosts.",
            gives=HostList,
        ),
        Route(
            method="GET",
            path=_ONE,
            role=Role.VIEWER,
            answer=shown,
            summary="One GPU host with its facts.",
            gives=HostDetail,
        ),
        Route(
            method="GET",
            path=f"{_ONE}/topology",
            role=Role.VIEWER,
            answer=tree,
            summary="Where its GPUs hang.",
            gives=HostTree,
            query={"all": Parameter(kind=bool, text="Every PCI function, not only GPUs.")},
        ),
        Route(
            method="GET",
            path=f"{_ONE}/findings",
            role=Role.VIEWER,
            answer=found,
            summary="What stands in the way.",
            gives=HostFindings,
        ),
        Route(
            method="GET",
            path=f"{_ONE}/bundle",
            role=Role.VIEWER,
            answer=texts,
            summary="The texts that its facts are from.",
            gives="application/gzip",
        ),
        Route(
            method="POST",
            path="/v1/hosts",
            role=Role.OPERATOR,
            answer=added,
            summary="Look at a GPU host and remember it.",
            takes=HostWanted,
            gives=HostDetail,
            dries=True,
            most_bytes=MOST_BYTES,
        ),
        Route(
            method="POST",
            path=f"{_ONE}/inspect",
            role=Role.OPERATOR,
            answer=inspected,
            summary="Look at it anew.",
            takes=NewTexts,
            gives=HostDetail,
            dries=True,
            most_bytes=MOST_BYTES,
        ),
    )


def _name(asking: Asking) -> HostName:
    return HostName(asking.path["name"])


def _summary(record: HostRecord) -> HostSummary:
    product = record.facts.machine.product
    counts: dict[str, int] = {}
    for each in findings_of(record.facts):
        counts[each.weight] = counts.get(each.weight, 0) + 1
    return HostSummary(
        name=record.name,
        system_uuid=record.system_uuid,
        product=product if isinstance(product, str) else "?",
        gpus=tuple(
            f"{gpu.vendor} {gpu.model if isinstance(gpu.model, str) else '?'}"
            for gpu in record.facts.gpus
        ),
        findings=counts,
        taken_at=record.facts.origin.taken_at,
        inspected_at=record.inspected_at,
    )


def _detail(record: HostRecord, *, dry_run: bool = False) -> HostDetail:
    identity = HostIdentity(
        name=record.name,
        access=record.access,
        controller=record.controller,
        cloudstack=record.cloudstack,
        system_uuid=record.system_uuid,
        enrolled_at=record.enrolled_at,
        enrolled_by=record.enrolled_by,
        inspected_at=record.inspected_at,
    )
    return HostDetail(host=identity, facts=record.facts, dry_run=dry_run)
