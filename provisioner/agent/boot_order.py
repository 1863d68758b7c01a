"""The order set_boot_order: the disk that was written is the first that the firmware tries.

Standard library only.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from provisioner.agent.commands import output_of
from provisioner.agent.disks import resolve
from provisioner.agent.facts import read_facts
from provisioner.agent.order import Link, OrderFailedError
from provisioner.hardware.efi import LABEL, LOADER, BootVariables, parse_boot_variables
from provisioner.hardware.gpt import EFI_SYSTEM, Partition, TableError, read_table
from provisioner.hardware.inventory import Disk

_EFIBOOTMGR = "/usr/bin/efibootmgr"
_LIMIT_S = 60.0
_HEAD_BYTES = 64 << 10


def set_boot_order(parameters: Mapping[str, Any], link: Link) -> dict[str, Any]:
    """Make the disk's own loader the first boot entry; a BIOS has no list that can be set.

    Raises:
        OrderFailedError: BOOT_DEVICE_NOT_SET: the disk has no EFI system partition, or the
            firmware did not take the entry; what `resolve` raises; ORDER_MALFORMED.
    """
    mode, reference = parameters.get("mode"), parameters.get("disk")
    if mode not in {"bios", "uefi"} or not isinstance(reference, dict):
        raise OrderFailedError("ORDER_MALFORMED", "set_boot_order needs mode and disk")
    facts = read_facts()
    disk = resolve(reference, facts)
    if mode != facts.firmware.mode:
        text = f"the server was started by {facts.firmware.mode}, and {mode} is expected"
        raise OrderFailedError("BOOT_DEVICE_NOT_SET", text)
    if mode == "bios":
        return {"changed": False, "detail": "a BIOS keeps its own order"}
    changed, detail = _put_first(disk, _system_partition(disk))
    link.journal(f"boot order: {detail}")
    return {"changed": changed, "detail": detail}


def _put_first(disk: Disk, partition: Partition) -> tuple[bool, str]:
    """Whether anything was changed, and what stands there now."""
    guid = str(partition.guid)
    changed = False
    for old in _read().left_over(guid):
        _ask("--quiet", "--delete-bootnum", "--bootnum", old.number)
        changed = True
    if _read().entry_of(guid) is None:
        place = ("--disk", disk.path, "--part", str(partition.number))
        _ask("--quiet", "--create-only", *place, "--label", LABEL, "--loader", LOADER)
        changed = True
    variables = _read()
    entry = variables.entry_of(guid)
    if entry is None:
        raise _not_set("the firmware did not keep the new boot entry")
    order = variables.order_with_first(entry.number)
    if order != variables.order:
        _ask("--quiet", "--bootorder", ",".join(order))
        changed = True
    if _read().order[:1] != (entry.number,):
        raise _not_set("the firmware did not keep the new boot order")
    return changed, f"Boot{entry.number} {entry.label} on {disk.path} is first"


def _system_partition(disk: Disk) -> Partition:
    try:
        with Path(disk.path).open("rb") as file:
            table = read_table(file.read(_HEAD_BYTES), sector_bytes=disk.logical_sector_bytes)
    except (OSError, TableError) as error:
        raise _not_set(f"{disk.path}: {error}") from error
    for each in table.partitions():
        if each.kind == EFI_SYSTEM:
            return each
    raise _not_set(f"{disk.path} has no EFI system partition")


def _read() -> BootVariables:
    return parse_boot_variables(_ask("--verbose"))


def _ask(*arguments: str) -> str:
    output = output_of([_EFIBOOTMGR, *arguments], limit_s=_LIMIT_S)
    if output is None:
        raise _not_set(f"efibootmgr {arguments[0]} failed")
    return output


def _not_set(text: str) -> OrderFailedError:
    return OrderFailedError("BOOT_DEVICE_NOT_SET", text)
