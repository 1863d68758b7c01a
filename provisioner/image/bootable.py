"""Disks that start from BIOS and UEFI: GRUB's two cores, a system partition, a table."""

import struct
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from provisioner.hardware.gpt import BIOS_BOOT, EFI_SYSTEM, Partition, Table
from provisioner.image.commands import run
from provisioner.ports.processes import Processes

SECTOR_BYTES = 512
MIB = 1 << 20
CORE_AT = 2048
"""First sector of the BIOS boot partition, 1 MiB long; the system partition follows."""
SYSTEM_AT = CORE_AT + MIB // SECTOR_BYTES
GRUB_FOLDER = Path("/usr/lib/grub")
_MODULES = (
    "part_gpt", "fat", "ext2", "search", "search_label", "search_fs_uuid", "configfile", "normal",
    "linux", "serial", "terminal", "echo", "test", "gzio",
)  # fmt: skip
_NAMES = uuid.UUID("5d0f7a52-6f0f-4a43-9a37-7f2a8e5b5d11")
"""Partition and disk GUIDs are made from names below this one: equal builds, equal bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cores:
    """GRUB for both firmwares, each able to find its configuration by itself."""

    bios: bytes
    efi: Path


async def make_cores(processes: Processes, *, early: str, work: Path) -> Cores:
    """GRUB's cores with a configuration inside that finds the real one.

    Args:
        processes: Runs grub-mkimage.
        early: The inner configuration: finds a file system, names the file to go on with.
        work: A folder for what is in between.

    Raises:
        OperatorError: IMAGE_BUILD.
    """
    (work / "early.cfg").write_text(early)
    made = {"x86_64-efi": work / "bootx64.efi", "i386-pc": work / "core.img"}
    for target, out in made.items():
        extra = ["biosdisk"] if target == "i386-pc" else ["all_video"]
        argv = ["grub-mkimage", "-O", target, "-c", str(work / "early.cfg"), "-p", "/grub"]
        await run(processes, [*argv, "-o", str(out), *_MODULES, *extra])
    return Cores(bios=made["i386-pc"].read_bytes(), efi=made["x86_64-efi"])


async def make_fat(
    processes: Processes, path: Path, *, length: int, label: str, files: Mapping[str, Path]
) -> None:
    """A FAT file system in a file.

    Args:
        processes: Runs dosfstools and mtools (the kernel here may know no FAT).
        path: Written anew.
        length: In bytes.
        label: Upper case.
        files: Path inside, with slashes -> file to copy.

    Raises:
        OperatorError: IMAGE_BUILD.
    """
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(length)
    serial = f"{uuid.uuid5(_NAMES, label).time_low:08x}"
    await run(processes, ["mkfs.vfat", "--invariant", "-i", serial, "-n", label, str(path)])
    folders = {str(each) for name in files for each in Path(name).parents if str(each) != "."}
    for folder in sorted(folders, key=len):
        await run(processes, ["mmd", "-i", str(path), f"::{folder}"])
    for name, source in files.items():
        await run(processes, ["mcopy", "-i", str(path), str(source), f"::{name}"])


def system_length(files: Sequence[Path]) -> int:
    """Bytes for a system partition with these files, whole MiB, some to spare."""
    return (sum(each.stat().st_size for each in files) // MIB + 4) * MIB


def named(name: str) -> uuid.UUID:
    """A GUID that is always the same for the same name."""
    return uuid.uuid5(_NAMES, name)


def make_table(name: str, *, disk_bytes: int, system_bytes: int) -> Table:
    """BIOS boot partition and system partition; an operating system adds its own behind them."""
    table = Table.blank(disk_bytes=disk_bytes, sector_bytes=SECTOR_BYTES, guid=named(name))
    core = Partition(
        number=1, kind=BIOS_BOOT, guid=named(f"{name} core"), first=CORE_AT, last=SYSTEM_AT - 1,
        name="bios",
    )  # fmt: skip
    system = Partition(
        number=2, kind=EFI_SYSTEM, guid=named(f"{name} system"), first=SYSTEM_AT,
        last=SYSTEM_AT + system_bytes // SECTOR_BYTES - 1, name="efi",
    )  # fmt: skip
    return table.added(core).added(system)


def write_boot(raw: Path, table: Table, cores: Cores) -> None:
    """Table, GRUB's first sector and its core into an image file of the right length."""
    boot = (GRUB_FOLDER / "i386-pc/boot.img").read_bytes()
    with raw.open("r+b") as file:
        for offset, part in (*table.backup(), *table.primary()):
            file.seek(offset)
            file.write(part)
        file.seek(0)
        file.write(first_sector(boot, table.mbr[:SECTOR_BYTES]))
        file.seek(CORE_AT * SECTOR_BYTES)
        file.write(linked_core(cores.bios))


def first_sector(boot: bytes, mbr: bytes) -> bytes:
    """GRUB's boot sector with the partition entries of this one.

    Source: GRUB 2.06 grub-core/boot/i386/pc/boot.S: kernel_sector at 0x5c; the two bytes at
    0x66 jump over the use of the firmware's drive number and become NOPs, as grub-setup does.
    """
    code = bytearray(boot[:440])
    struct.pack_into("<Q", code, 0x5C, CORE_AT)
    code[0x66:0x68] = b"\x90\x90"
    return bytes(code) + mbr[440:510] + b"\x55\xaa"


def linked_core(core: bytes) -> bytes:
    """GRUB's core with the one run of sectors that it loads itself from.

    Source: GRUB 2.06 grub-core/boot/i386/pc/diskboot.S: the first block list entry (start,
    length, segment) lies twelve bytes before the end of the core's first sector.
    """
    linked = bytearray(core)
    sectors = -(-len(core) // SECTOR_BYTES) - 1
    struct.pack_into("<QHH", linked, SECTOR_BYTES - 12, CORE_AT + 1, sectors, 0x820)
    return bytes(linked)
