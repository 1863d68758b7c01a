"""What a tenant is told, and signed, of the wipe before its time. Pure.

The chain's record names who had the server before and the serials of its parts; a statement of
its own names neither. It is made from the record alone, so asked twice it is the same twice.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from provisioner.evidence.chain import Record, link
from provisioner.evidence.document import utc
from provisioner.ports.keys import Signer
from provisioner.units import WallSeconds

VERSION = 1
KIND = "wipe-certificate"
OUTSIDE_THE_CHAIN = 0
"""Its sequence: no place in a chain has it, so a statement never passes for a chain's record."""
TIMES = ("erased", "verified")
OBTAINED = (
    "boot_override",
    "kernel_sha256",
    "ramdisk_sha256",
    "site_initrd_sha256",
    "agent_version",
    "results",
)
"""Without the boot path, which names a card's address."""


def certificate(
    record: Record, *, instance: str, since: WallSeconds, signer: Signer
) -> dict[str, Any]:
    """A signed statement in the form of a record; `previous` is the hash of the wipe's own.

    Args:
        record: Of the newest wipe of the server, as the chain has it.
        instance: "site/uuid" of who is told.
        since: When its tenancy began.
        signer: The key in use.
    """
    document = certificate_document(record["document"], instance=instance, since=since)
    return link(document, str(record["hash"]), OUTSIDE_THE_CHAIN, signer)


def certificate_document(
    wipe: Mapping[str, Any], *, instance: str, since: WallSeconds
) -> dict[str, Any]:
    """What is taken over from a wipe's document, and in which words.

    A part is named by the SHA-256 of its serial: whoever has the machine can compare, and
    nobody else learns it.
    """
    disks = wipe["disks"]
    return {
        "version": VERSION,
        "kind": KIND,
        "site": wipe["site"],
        "instance": instance,
        "since": utc(since),
        "machine": {"system_uuid_sha256": _digest(wipe["server"]["uuid"])},
        "identity": wipe["identity"],
        "obtained": {name: wipe["obtained"][name] for name in OBTAINED},
        "times": {name: wipe["times"][name] for name in TIMES},
        "class": wipe["class"],
        "disks": [_disk(disk) for disk in disks],
        "not_covered": list(_not_covered(wipe["not_covered"], disks)),
    }


def _disk(disk: Mapping[str, Any]) -> dict[str, Any]:
    found = disk["verification"] or {}
    taken = ("samples", "samples_unwiped", "missed_with_probability_at_most", "read_errors")
    return {
        "serial_sha256": _digest(disk["serial"]),
        "bytes": disk["bytes"],
        "transport": disk["transport"],
        "class": disk["class"],
        "erased": disk["erased"],
        "methods": [f"{each['method']}: {each['status']}" for each in disk["methods"]],
        "verification": {name: found[name] for name in taken if name in found},
    }


def _digest(serial: str | None) -> str | None:
    return None if serial is None else hashlib.sha256(serial.encode()).hexdigest()


def _not_covered(lines: Sequence[str], disks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The same lines; a disk is its number, and other parts that are named are counted alone."""
    names = {
        f"disk {disk[key]}: ": f"disk {number}: "
        for number, disk in enumerate(disks, start=1)
        for key in ("wwn", "serial")
        if disk[key]
    }
    counted = 0
    for line in lines:
        named = next((name for name in names if line.startswith(name)), None)
        if named is not None:
            yield names[named] + line.removeprefix(named)
        elif line.startswith(("disk ", "medium ")):
            counted += 1
        else:
            yield line
    if counted:
        yield f"{counted} media that the operator's record names: excluded, or not erased"
