"""Boot entries of UEFI firmware, as efibootmgr prints them. Standard library only."""

import re
from dataclasses import dataclass

LABEL = "rackwright"
"""Of the entries that we make."""
LOADER = "\\EFI\\BOOT\\BOOTX64.EFI"
_ENTRY = re.compile(r"Boot([0-9A-F]{4})(\*?) ([^\t]*)(?:\t(.*))?")
_PARTITION = re.compile(r"HD\(\d+,GPT,([0-9a-fA-F-]{36})")


@dataclass(frozen=True, slots=True, kw_only=True)
class BootEntry:
    """One entry.

    Attributes:
        number: Four hex digits.
        path: Device path as text; "" where the firmware's own form says nothing to us.
    """

    number: str
    active: bool
    label: str
    path: str

    def partition(self) -> str | None:
        """The partition's own GUID, lower case, where it names one of a GPT disk."""
        found = _PARTITION.search(self.path)
        return found[1].lower() if found else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BootVariables:
    """What the firmware will try. `order` and `next_once` are numbers of entries."""

    entries: tuple[BootEntry, ...]
    order: tuple[str, ...]
    current: str | None
    next_once: str | None

    def entry_of(self, partition: str) -> BootEntry | None:
        """Our entry, else the firmware's, that leads to the loader on this partition."""
        leading = [each for each in self.entries if each.partition() == partition.lower()]
        leading.sort(key=lambda each: each.label != LABEL)
        return leading[0] if leading else None

    def left_over(self, partition: str) -> tuple[BootEntry, ...]:
        """Our entries for partitions of earlier tenants."""
        return tuple(
            each
            for each in self.entries
            if each.label == LABEL and each.partition() != partition.lower()
        )

    def order_with_first(self, number: str) -> tuple[str, ...]:
        """The order with this entry before all others."""
        return (number, *(each for each in self.order if each != number))


def parse_boot_variables(output: str) -> BootVariables:
    """What `efibootmgr --verbose` printed (versions 17 and 18)."""
    entries = []
    values: dict[str, str] = {}
    for line in output.splitlines():
        if found := _ENTRY.fullmatch(line.rstrip()):
            entries.append(
                BootEntry(
                    number=found[1],
                    active=bool(found[2]),
                    label=found[3].strip(),
                    path=found[4] or "",
                )
            )
        elif ": " in line:
            name, _, value = line.partition(": ")
            values[name.strip()] = value.strip()
    order = tuple(each for each in values.get("BootOrder", "").split(",") if each)
    return BootVariables(
        entries=tuple(entries),
        order=order,
        current=values.get("BootCurrent"),
        next_once=values.get("BootNext"),
    )
