"""Media that a controller names, held against those that the machine shows. Pure.

A drive behind a RAID controller, or one that the kernel has no driver for, is named by the
controller alone; what a tenant wrote on it must not be forgotten (invariant 7).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from provisioner.hardware.inventory import Disk
from provisioner.servers.model import ExcludedDisk

SHORTEST_SERIAL = 8
"""A shorter one may be the beginning of another drive's by chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedMedium:
    """A drive as a controller tells of it; what it leaves out is None.

    Attributes:
        name: Its id at the controller ("Disk.Bay.3").
        wwns: Durable names, as the controller writes them.
    """

    name: str
    serial: str | None = None
    model: str | None = None
    bytes: int | None = None
    wwns: tuple[str, ...] = ()

    def label(self) -> str:
        """What a person finds it by."""
        return " ".join(filter(None, (self.name, self.model, self.serial)))


def hidden(
    named: Iterable[NamedMedium], shown: Iterable[Disk], excluded: Iterable[ExcludedDisk]
) -> tuple[NamedMedium, ...]:
    """Media that the controller names and that nobody else accounts for.

    One without serial and durable name cannot be found again, and counts as hidden.

    Args:
        named: By the controller.
        shown: By the machine; each of these is accounted for elsewhere.
        excluded: Not the server's own, as an operator has listed.
    """
    disks = tuple(shown)
    serials = {_plain(disk.serial) for disk in disks if disk.serial}
    wwns = {_bare(wwn) for wwn in (*(d.wwn for d in disks), *(e.wwn for e in excluded)) if wwn}
    return tuple(
        medium
        for medium in named
        if wwns.isdisjoint(map(_bare, medium.wwns)) and not _is_among(medium.serial, serials)
    )


def _is_among(serial: str | None, serials: set[str]) -> bool:
    """Quirk: SAS drives of some makers tell the kernel more than they tell the controller."""
    said = _plain(serial or "")
    if not said:
        return False
    long_enough = len(said) >= SHORTEST_SERIAL
    return said in serials or (long_enough and any(each.startswith(said) for each in serials))


def _plain(text: str) -> str:
    return text.strip().lower()


def _bare(wwn: str) -> str:
    """Without the prefixes and dashes by which kernels and controllers differ."""
    bare = _plain(wwn)
    for prefix in ("naa.", "eui.", "t10.", "uuid.", "0x"):
        bare = bare.removeprefix(prefix)
    return bare.replace(":", "").replace("-", "").replace(" ", "")
