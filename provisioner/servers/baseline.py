"""Is this the machine we know, with the disks we know? Pure.

Compared before the first destructive order of any operation (invariants 7 and 13).
"""

from collections import Counter, defaultdict
from collections.abc import Iterable

from provisioner.hardware.inventory import Disk, Inventory
from provisioner.servers.identity import same_uuid
from provisioner.servers.model import ServerRecord
from provisioner.servers.root_disk import NEVER_OURS


def differences(server: ServerRecord, seen: Inventory) -> tuple[str, ...]:
    """What differs from the baseline, each in one line; () is the same machine.

    Link, driver, kernel names and partition tables may change; identity, cards and media may
    not. A server without a baseline is compared with what was enrolled.
    """
    found = [*_cards(server, seen)]
    if server.baseline is None:
        uuid = server.identity.system_uuid if server.identity else None
        return tuple(found + _uuid(uuid, seen))
    remembered = server.baseline
    found += _same("system uuid", remembered.system.uuid, seen.system.uuid)
    found += _same("system serial", remembered.system.serial, seen.system.serial)
    found += _same("firmware mode", remembered.firmware.mode, seen.firmware.mode)
    found += _media(remembered.disks, seen.disks)
    # it would be left out of the wipe with all that is on it
    protected = _protected(seen.disks) - _protected(remembered.disks)
    found += [f"disk {name} is write-protected now" for name in sorted(protected)]
    return tuple(found)


def strange(server: ServerRecord, seen: Inventory) -> tuple[str, ...]:
    """What speaks against the same machine, repaired, each in one line; () is the same one.

    Disks, memory, processors may be others; who it is may not. Uuid and serial are text in a
    memory that a repair may write anew, so a card of before must still be there beside them.
    Cards that were enrolled must all be there: their ports are the enrolment's, not a baseline's.

    Args:
        server: With a baseline.
        seen: What the agent finds now.
    """
    before = server.baseline
    if before is None:
        return ("nothing is remembered that it could be compared with",)
    found = [*_cards(server, seen)]
    if not (before.system.uuid or before.system.serial):
        found.append("neither uuid nor serial was ever known of it")
    found += _same("system uuid", before.system.uuid, seen.system.uuid)
    found += _same("system serial", before.system.serial, seen.system.serial)
    if not {each.mac.lower() for each in before.nics} & {each.mac.lower() for each in seen.nics}:
        found.append("no network card of before is there any more")
    return tuple(found)


def gone(before: Inventory, after: Inventory) -> tuple[str, ...]:
    """Media that are no more, in words; one that has another size now has gone as well."""
    old, new = _sizes(before.disks), _sizes(after.disks)
    return tuple(
        f"disk {name} of {size} bytes"
        for name in sorted(old)
        for size in sorted((old[name] - new[name]).elements())
    )


def _cards(server: ServerRecord, seen: Inventory) -> list[str]:
    there = {card.mac.lower() for card in seen.nics}
    return [f"network card {nic.mac} is missing" for nic in server.nics if nic.mac not in there]


def _same(what: str, remembered: str | None, seen: str | None) -> list[str]:
    return [] if remembered == seen else [f"{what}: {remembered} is remembered, {seen} was seen"]


def _uuid(wanted: str | None, seen: Inventory) -> list[str]:
    """A controller's GUID may come in either byte order; see servers/identity.py."""
    if wanted is None or same_uuid(wanted, seen.system.uuid):
        return []
    return [f"system uuid: the controller says {wanted}, the machine says {seen.system.uuid}"]


def _media(remembered: Iterable[Disk], seen: Iterable[Disk]) -> list[str]:
    """Counted, not only named: of two disks that look alike one may be gone."""
    old, new = _sizes(remembered), _sizes(seen)
    found = []
    for name in sorted(old.keys() | new.keys()):
        gone, added = old[name] - new[name], new[name] - old[name]
        if gone and added:
            found.append(
                f"disk {name}: {_bytes(gone)} bytes are remembered, {_bytes(added)} were seen"
            )
        elif gone:
            found.append(f"disk {name} of the baseline is missing")
        elif added:
            found.append(f"disk {name} is not in the baseline")
    return found


def _sizes(disks: Iterable[Disk]) -> defaultdict[str, Counter[int]]:
    sizes: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for disk in _own(disks):
        sizes[_name(disk)][disk.bytes] += 1
    return sizes


def _protected(disks: Iterable[Disk]) -> Counter[str]:
    return Counter(_name(disk) for disk in _own(disks) if disk.read_only)


def _bytes(sizes: Counter[int]) -> str:
    return ", ".join(str(each) for each in sorted(sizes.elements()))


def _own(disks: Iterable[Disk]) -> list[Disk]:
    return [d for d in disks if d.transport not in NEVER_OURS and not d.removable]


def _name(disk: Disk) -> str:
    return (
        " ".join(part for part in (disk.model, disk.serial, disk.wwn) if part)
        or disk.bus_path
        or disk.name
    )
