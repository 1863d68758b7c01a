"""Steps that erase every disk of a server, prove it, and sign the proof."""

import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

from provisioner.errors import ErrorCode, InputError, OperatorError
from provisioner.hardware.inventory import Disk
from provisioner.operations.agent_orders import order
from provisioner.operations.boot_steps import facts_of
from provisioner.operations.doors import Work
from provisioner.operations.endings import NeedsPersonError
from provisioner.operations.media_steps import CONTROLLER_MEDIA
from provisioner.operations.steps import Step
from provisioner.operations.wipe_evidence import document_of
from provisioner.servers.model import Pool
from provisioner.servers.root_disk import own_disks, unclaimed
from provisioner.store.waiting import stored
from provisioner.units import Seconds
from provisioner.wipe.choose import Choice, choose, leaves
from provisioner.wipe.judge import DiskVerdict, WipePolicy, gather, judge
from provisioner.wipe.method import WipeClass
from provisioner.wipe.orders import (
    DiskReference,
    DiskToErase,
    DiskToVerify,
    EraseOrder,
    Erasures,
    MarkOrder,
    Surveys,
    Verifications,
    VerifyOrder,
)

KEY_BYTES = 32


async def media_of(work: Work) -> tuple[Disk, ...]:
    """The server's own media: all that are wiped, and all that the evidence must name."""
    facts = await facts_of(work)
    own = own_disks(facts.disks, work.server.excluded_disks)
    others = unclaimed(facts.disks, work.server.excluded_disks)
    if others:  # they may hold data, and nobody has said whose it is (invariants 7 and 14)
        names = ", ".join(f"{disk.serial or disk.name} ({_why_not(disk)})" for disk in others)
        raise OperatorError(
            ErrorCode.WIPE_METHOD_MISSING,
            f"a medium could hold data and cannot be wiped: {names}; take it out, take its "
            "write protection off, or list it as excluded",
        )
    named = Counter(DiskReference.of(disk) for disk in own)
    alike = [reference.label() for reference, count in named.items() if count > 1]
    if alike:  # an order could mean either, and the evidence would speak for both
        raise OperatorError(
            ErrorCode.DISK_AMBIGUOUS, f"disks cannot be told apart: {', '.join(alike)}"
        )
    return own


def _why_not(disk: Disk) -> str:
    return "write-protected" if disk.read_only else "removable or virtual"


async def _hidden_by_policy(work: Work) -> None:
    """What only the controller names has no erase method: the pool allows it or refuses (7)."""
    names = work.found[CONTROLLER_MEDIA.name]["hidden"]
    if names and not (await policy_of(work)).allow_unerasable:
        raise OperatorError(
            ErrorCode.WIPE_METHOD_MISSING,
            f"media that only the controller names cannot be wiped: {', '.join(names)}; show "
            "them to the machine, take them out, list them as excluded by WWN, or have the "
            "pool list what cannot be erased",
        )


async def policy_of(work: Work) -> WipePolicy:
    """What the pool asks of every disk."""
    pool = await stored(work.doors.records.catalogue.pool, work.server.pool) or Pool(
        name=work.server.pool
    )
    return WipePolicy(
        at_least=pool.policy.wipe_methods,
        wipe_class=WipeClass(pool.policy.wipe_class),
        allow_unerasable=pool.policy.unerasable == "list",
        around_frozen=pool.policy.frozen == "overwrite",
    )


async def _mark(work: Work) -> Mapping[str, Any]:
    """Read only: what each disk can do, and where the old owner's data lies."""
    if work.server.baseline is None:
        raise OperatorError(
            ErrorCode.FACTS_DIFFER,
            f"{work.server.name} has no baseline that its disks could be compared with",
        )
    await _hidden_by_policy(work)
    references = tuple(DiskReference.of(disk) for disk in await media_of(work))
    given = MarkOrder(disks=references, key=secrets.token_hex(KEY_BYTES))
    found = await order(work, "mark", given.to_json())
    surveyed = {each.disk for each in Surveys.from_json(found).disks}
    missing = [each.label() for each in references if each not in surveyed]
    if missing:
        raise OperatorError(
            ErrorCode.WIPE_NOT_PROVEN, f"not looked at before the wipe: {', '.join(missing)}"
        )
    return found


async def _choices(work: Work) -> dict[DiskReference, Choice]:
    """What each of the server's own media gets, by what it says it can do."""
    policy = await policy_of(work)
    surveyed = {each.disk: each for each in Surveys.from_json(work.found[MARK.name]).disks}
    return {
        disk: choose(
            surveyed[disk].capabilities,
            at_least=policy.at_least,
            wipe_class=policy.wipe_class,
            around_frozen=policy.around_frozen,
        )
        for disk in map(DiskReference.of, await media_of(work))
    }


async def _erase(work: Work) -> Mapping[str, Any]:
    disks = tuple(
        DiskToErase(disk=disk, methods=choice.methods)
        for disk, choice in (await _choices(work)).items()
        if choice.methods
    )
    return await order(work, "erase", EraseOrder(disks=disks, key=await _key(work)).to_json())


async def _verify(work: Work) -> Mapping[str, Any]:
    surveys = {each.disk: each for each in Surveys.from_json(work.found[MARK.name]).disks}
    erased = {each.disk: each for each in Erasures.from_json(work.found[ERASE.name]).disks}
    disks = tuple(
        DiskToVerify(
            disk=disk,
            leaves=leaves(tuple(run.method for run in erased[disk].runs)),
            turns=len(erased[disk].runs),
            marks=surveys[disk].marks,
        )
        for disk in await _choices(work)
        if disk in erased and disk in surveys
    )
    return await order(work, "verify", VerifyOrder(disks=disks, key=await _key(work)).to_json())


async def _key(work: Work) -> str:
    """Of this wipe: as the first of its orders was given, whichever run of the step gave it."""
    given = await stored(work.doors.records.orders.order, work.operation.id, MARK.name)
    if given is None:
        raise OperatorError(ErrorCode.CANNOT_TELL, "the order that marks the disks is gone")
    return MarkOrder.from_json(given.parameters).key


async def _sign(work: Work) -> Mapping[str, Any]:
    """Everything held against what was reported; then signed, chained, and dirty is cleared."""
    verdicts = await _verdicts(work)
    findings = [finding for verdict in verdicts for finding in verdict.findings]
    if findings:
        lines = "; ".join(finding.text for finding in findings)
        raise OperatorError(ErrorCode(findings[0].code), findings[0].text, lines)
    disks = {DiskReference.of(disk): disk for disk in await media_of(work)}
    document = await document_of(work, [(disks[each.wipe.disk], each) for each in verdicts])
    append = partial(work.doors.records.evidence.append_and_clean, work.operation.id, document)
    record = await stored(append)
    return {"evidence": record, "class": document["class"]}


async def _verdicts(work: Work) -> list[DiskVerdict]:
    """By our own list of disks: what the agent leaves out speaks against it."""
    policy = await policy_of(work)
    wipes = gather(
        await _choices(work),
        Surveys.from_json(work.found[MARK.name]),
        [Erasures.from_json(work.found[ERASE.name])],
        Verifications.from_json(work.found[VERIFY.name]),
    )
    return [judge(wipe, policy) for wipe in wipes]


async def _blank(work: Work) -> Mapping[str, Any]:
    """Disks that carry something are not erased before a person says so (13)."""
    facts = await facts_of(work)
    said = set(work.operation.parameters.get("erase", ()))
    own = own_disks(facts.disks, work.server.excluded_disks)
    refuse_unknown(own, said)
    full = [disk for disk in own if disk.has_partition_table and _label(disk) not in said]
    if full:
        serials = " ".join(map(_label, full))
        raise NeedsPersonError(
            ErrorCode.STATE_CONFLICT,
            f"disks carry data; to erase them: rackwright server provide {work.server.name} "
            f"--erase {serials}",
        )
    return {}


def refuse_unknown(own: Iterable[Disk], said: Collection[str]) -> None:
    """Whoever names a disk that is not there meant another server, or none.

    Raises:
        InputError: DISK_NOT_FOUND.
    """
    unknown = set(said) - {_label(disk) for disk in own}
    if unknown:
        raise InputError(
            ErrorCode.DISK_NOT_FOUND, f"no disk of its own is called {', '.join(sorted(unknown))}"
        )


def _label(disk: Disk) -> str:
    """What a person calls it, to have it erased."""
    return DiskReference.of(disk).label()


# An overwrite of the largest disks in use (30 TB at 200 MB/s) takes 42 hours.
ERASE_S = Seconds(72 * 3600.0)
BLANK = Step(name="blank-or-told", act=_blank, limit=Seconds(60.0))
MARK = Step(name="mark", act=_mark, limit=Seconds(900.0))
ERASE = Step(name="erase", act=_erase, limit=ERASE_S)
VERIFY = Step(name="verify", act=_verify, limit=Seconds(6 * 3600.0))
SIGN = Step(name="sign", act=_sign, limit=Seconds(120.0))
