"""The document of a wipe, from what the operation's steps found."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from provisioner.evidence.document import (
    Baseline,
    ControllerMedia,
    IdentityClass,
    NewBaseline,
    Obtained,
    Reason,
    Span,
    Subject,
    Times,
    wipe_document,
)
from provisioner.hardware.inventory import Disk
from provisioner.operations.boot_steps import facts_of
from provisioner.operations.doors import Work
from provisioner.operations.media_steps import CONTROLLER_MEDIA
from provisioner.servers.operation import Effect
from provisioner.store.waiting import stored
from provisioner.units import WallSeconds
from provisioner.wipe.judge import DiskVerdict

COMPARED = ("system uuid", "system serial", "firmware mode", "network cards", "disks", "disk sizes")


async def document_of(work: Work, disks: Sequence[tuple[Disk, DiskVerdict]]) -> dict[str, Any]:
    """Signed as it stands here; nothing in it is a guess."""
    effects = {
        each.step: each
        for each in await stored(work.doors.records.effects.effects, work.operation.id)
    }
    facts = await facts_of(work)
    identity, media = work.server.identity, work.found[CONTROLLER_MEDIA.name]
    return wipe_document(
        subject=Subject(
            site=work.doors.site.name,
            server=work.server.name,
            pool=work.server.pool,
            system=facts.system,
            controller_uuid=identity.system_uuid if identity else None,
        ),
        obtained=await _obtained(work, effects),
        reason=await _reason(work),
        times=_times(effects),
        baseline=Baseline(
            taken=work.server.baseline_at or WallSeconds(0.0),
            compared=COMPARED,
            excluded=work.server.excluded_disks,
        ),
        controller_media=ControllerMedia(
            named=media["named"],
            hidden=tuple(media["hidden"]),
        ),
        disks=disks,
        rebaselines=[
            NewBaseline(**{each.name: getattr(new, each.name) for each in fields(NewBaseline)})
            for new in work.server.rebaselines
        ],
    )


async def _obtained(work: Work, effects: dict[str, Effect]) -> Obtained:
    boot, ramdisk = effects["network-first"].result, work.doors.site.ramdisk()
    identity = IdentityClass(effects["same-machine"].result["identity"])
    hello = await stored(work.doors.records.orders.order, work.operation.id, "hello")
    way = boot["nonce_kept"] if identity is IdentityClass.NONCE else "system uuid"
    return Obtained(
        identity_class=identity,
        identity_way=str(way),
        boot_path=f"network boot over {work.server.provisioning_nic().mac}",
        boot_override=(
            f"read back: {boot['device']}" if boot["reported"] else "this controller does not say"
        ),
        kernel_sha256=ramdisk.kernel_sha256,
        ramdisk_sha256=ramdisk.digest,
        site_initrd_sha256=work.doors.site.site_initrd_sha256,
        agent_version=str(hello.result["agent"]["version"]) if hello else "unknown",
    )


async def _reason(work: Work) -> Reason:
    """Of a release its instance; of a wipe that an operator asked for, who had the machine last."""
    tenant, why = work.allocation, f"{work.operation.kind} before use"
    if tenant is not None:
        why = tenant.end_reason
    elif work.server.dirty:
        tenant = await stored(work.doors.records.allocations.last_tenant, work.server.name)
        if tenant is not None:
            why = f"{work.operation.kind} after its last instance: {tenant.end_reason}"
    return Reason(
        who=work.operation.who,
        why=why,
        operation=work.operation.id,
        instance=f"{tenant.key.site}/{tenant.key.instance}" if tenant else None,
        allocation=tenant.id if tenant else None,
    )


def _times(effects: dict[str, Effect]) -> Times:
    on, rested = effects["on-to-network"], effects["rest"].result["off_s"]
    return Times(
        # as long as was measured while nobody could set the clock, and no longer
        off=Span(begun=WallSeconds(on.begun - rested), ended=on.begun),
        marked=_span(effects["mark"]),
        erased=_span(effects["erase"]),
        verified=_span(effects["verify"]),
    )


def _span(effect: Effect) -> Span:
    return Span(begun=effect.begun, ended=effect.done or effect.begun)
