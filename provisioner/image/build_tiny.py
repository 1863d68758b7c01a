"""The tiny system: Debian's kernel, busybox and dropbear in one initial ramdisk.

It reads the same NoCloud seed as an image with cloud-init, comes up in seconds even under
emulation, and keeps nothing: its root is memory, all disks are free for whoever logs in.
"""

import asyncio
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from provisioner.image.bootable import (
    MIB,
    SECTOR_BYTES,
    SYSTEM_AT,
    make_cores,
    make_fat,
    make_table,
    system_length,
    write_boot,
)
from provisioner.image.commands import Report, run
from provisioner.ports.processes import Processes
from provisioner.ramdisk import apt, store
from provisioner.ramdisk.cpio import archive, entries_of
from provisioner.ramdisk.modules import name_of, parse_index
from provisioner.ramdisk.stage import LIBRARIES, Stage

_PACKAGES = (
    "busybox-static", "dropbear-bin", "libc6", "libcrypt1", "libtomcrypt1", "libtommath1",
    "libgmp10", "zlib1g",
)  # fmt: skip
_PROGRAMS = ("usr/bin/busybox", "usr/sbin/dropbear", "usr/bin/dropbearkey")
_DRIVERS = (
    "nvme", "ahci", "ata_piix", "sd_mod", "virtio_pci", "virtio_blk", "virtio_scsi", "virtio_net",
    "e1000", "e1000e", "igb", "ixgbe", "vfat", "nls_cp437", "nls_ascii", "nls_iso8859_1", "evdev",
    "button",
)  # fmt: skip
_TEXTS = {
    "rc.sh": "etc/rc.sh",
    "network.sh": "etc/network.sh",
    "lease.sh": "etc/lease.sh",
    "power.sh": "etc/acpi/PWRF/00000080",
    "inittab.txt": "etc/inittab",
}
_DATE = 1672531200
_LABEL = "RWTINY"
_EARLY = f"search --no-floppy --label {_LABEL} --set root\nconfigfile ($root)/grub/grub.cfg\n"
_CONFIGURATION = """\
serial --unit=0 --speed=115200
terminal_output serial
linux /vmlinuz console=tty0 console=ttyS0,115200 quiet net.ifnames=0 panic=10
initrd /initrd
boot
"""


async def build_tiny(processes: Processes, *, cache: Path, out: Path, report: Report) -> None:
    """Make the tiny system's image.

    Args:
        processes: Runs depmod, zstd, grub-mkimage, dosfstools, mtools.
        cache: Holds the store of packages, which is filled as needed.
        out: The raw image; made in one move at the end.
        report: Takes a line at each stage.

    Raises:
        OperatorError: PACKAGE_GONE, RAMDISK_BUILD (a package cannot be had), IMAGE_BUILD.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tiny-", dir=out.parent) as name:
        work = Path(name)
        report("packages: kernel, busybox, dropbear")
        (work / "stage").mkdir()
        stage = Stage(work / "stage")
        kernel = await asyncio.to_thread(_unpack, stage, cache)
        report("initial ramdisk")
        version = kernel.name.removeprefix("vmlinuz-")
        await run(processes, ["depmod", "-b", str(stage.folder), version])
        await asyncio.to_thread(_make_root, stage, version, work / "root")
        await asyncio.to_thread(_pack, work / "root", work / "cpio")
        await run(processes, ["zstd", "-q", "-T1", "-12", "-o", f"{work}/initrd", f"{work}/cpio"])
        report("disk that starts from BIOS and UEFI")
        raw = await _make_disk(processes, kernel, work)
        raw.replace(out)


def _unpack(stage: Stage, cache: Path) -> Path:
    """Packages into the stage; answers the kernel."""
    wanted = apt.candidates((apt.kernel_package(), *_PACKAGES))
    store.fill(cache, wanted)
    for each in wanted:
        stage.unpack(store.path_in_store(cache, each))
    return next((stage.folder / "boot").glob("vmlinuz-*"))


def _make_root(stage: Stage, version: str, root: Path) -> None:
    for folder in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib64", "dev", "proc", "sys", "run",
                   "tmp", "var/log", "var/run", "root/.ssh", "etc/acpi/PWRF", "etc/dropbear",
                   "modules"):  # fmt: skip
        (root / folder).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    _copy_programs(stage, root)
    (root / "etc/modules").write_text(
        "".join(f"{each}\n" for each in _modules(stage, version, root))
    )
    for name, place in _TEXTS.items():
        text = resources.files("provisioner.image").joinpath("tiny", name).read_bytes()
        (root / place).write_bytes(text)
        (root / place).chmod(0o755 if name.endswith(".sh") else 0o644)
    (root / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (root / "etc/group").write_text("root:x:0:\n")
    (root / "etc/shells").write_text("/bin/sh\n")


def _copy_programs(stage: Stage, root: Path) -> None:
    for program in _PROGRAMS:
        shutil.copy(stage.folder / program, root / program)
        for library in stage.libraries_of(program) if "busybox" not in program else ():
            shutil.copy(stage.folder / library, root / "usr/lib" / Path(library).name)
    loader = "ld-linux-x86-64.so.2"
    shutil.copy(stage.folder / LIBRARIES / loader, root / "usr/lib64" / loader)
    (root / "init").symlink_to("bin/busybox")
    # all other names are linked at the start
    (root / "bin/sh").symlink_to("busybox")


def _modules(stage: Stage, version: str, root: Path) -> list[str]:
    """Copy the drivers with all that they need; answers their names in the order of loading."""
    folder = stage.folder / "usr/lib/modules" / version
    texts = [(folder / f"modules.{each}").read_text() for each in ("dep", "softdep", "builtin")]
    index = parse_index(*texts)
    order: dict[str, None] = {}
    for driver in _DRIVERS:
        for file in reversed(index.needs.get(name_of(driver), ())):
            shutil.copy(folder / file, root / "modules")
            order.setdefault(Path(file).name)
    return list(order)


def _pack(root: Path, place: Path) -> None:
    with place.open("wb") as file:
        for piece in archive(entries_of(root), date=_DATE):
            file.write(piece)


async def _make_disk(processes: Processes, kernel: Path, work: Path) -> Path:
    (work / "grub.cfg").write_text(_CONFIGURATION)
    cores = await make_cores(processes, early=_EARLY, work=work)
    files = {
        "EFI/BOOT/BOOTX64.EFI": cores.efi,
        "grub/grub.cfg": work / "grub.cfg",
        "vmlinuz": kernel,
        "initrd": work / "initrd",
    }
    length = system_length(tuple(files.values()))
    await make_fat(processes, work / "system", length=length, label=_LABEL, files=files)
    raw = work / "raw"
    disk_bytes = SYSTEM_AT * SECTOR_BYTES + length + MIB
    with raw.open("wb") as disk, (work / "system").open("rb") as system:
        disk.truncate(disk_bytes)
        disk.seek(SYSTEM_AT * SECTOR_BYTES)
        shutil.copyfileobj(system, disk, MIB)
    write_boot(raw, make_table("tiny", disk_bytes=disk_bytes, system_bytes=length), cores)
    return raw
