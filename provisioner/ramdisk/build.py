"""Builds the ramdisk: packages of the lock in, kernel and initrd out, the same bytes each time."""

import fcntl
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import provisioner
from provisioner.errors import ErrorCode, OperatorError
from provisioner.ramdisk import apt, contents, store
from provisioner.ramdisk.commands import run
from provisioner.ramdisk.cpio import archive, entries_of
from provisioner.ramdisk.lock import Lock, parse_lock, parse_package_name, write_lock
from provisioner.ramdisk.record import (
    INITRD_FILE,
    KERNEL_FILE,
    LOCK_FILE,
    RECORD_FILE,
    RamdiskRecord,
    digest_of,
)
from provisioner.ramdisk.rescue import add_rescue
from provisioner.ramdisk.stage import Stage
from provisioner.ramdisk.tree import Tree

MOST_BYTES = 100_000_000
"""Kernel and initrd together, as sent."""
_SCRIPTS = {"init": "init", "lease.sh": "usr/lib/lease.sh", "rescue.sh": "usr/lib/rescue.sh"}
_AGENT_PACKAGES = ("agent", "hardware", "wipe")
_ALIGNMENT = 4
"""The kernel finds the second archive only at a multiple of this; a UEFI loader does not pad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a site adds to the lists of this package."""

    packages: tuple[str, ...] = ()
    firmware: tuple[Path, ...] = ()
    drivers: tuple[str, ...] = ()


def shipped_lock() -> Lock:
    """The lock that comes with this version of Rackwright."""
    return parse_lock(contents.text_of(LOCK_FILE))


def build(
    lock: Lock,
    cache: Path,
    out: Path,
    *,
    extra_packages: Sequence[str] = (),
    extra_firmware: Sequence[Path] = (),
    extra_drivers: Sequence[str] = (),
) -> RamdiskRecord:
    """Fill `out` with vmlinuz, initrd.img, ramdisk.json and the lock that was used.

    Args:
        lock: Pins every package; extra packages that it lacks are pinned by apt's candidates.
        cache: Keeps the store of packages, and a work folder while this runs.
        out: Made if need be; files in it are replaced one by one.
        extra_packages: Debian packages whose files are added whole.
        extra_firmware: Files, or folders laid out as /lib/firmware.
        extra_drivers: Modules of the kernel beyond drivers.txt.

    Raises:
        OperatorError: PACKAGE_GONE; RAMDISK_BUILD: a driver or library is missing, a tool
            failed, or the result is larger than 100 MB.
        InputError: NAME_INVALID, FILE_UNREADABLE, CONFIG_INVALID.
    """
    extras = Extras(
        packages=tuple(parse_package_name(each) for each in extra_packages),
        firmware=tuple(extra_firmware),
        drivers=tuple(extra_drivers),
    )
    used = with_packages(lock, extras.packages)
    store.fill(cache, used.packages)
    work = cache / "ramdisk"
    work.mkdir(parents=True, exist_ok=True)
    with (work / ".building").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)  # until it is closed
        for left in work.glob("build-*"):
            shutil.rmtree(left)  # half a gigabyte of a build that was killed
        with tempfile.TemporaryDirectory(dir=work, prefix="build-") as folder:
            return _build(used, cache, out, extras, Path(folder))


def with_packages(lock: Lock, names: Sequence[str]) -> Lock:
    """The lock with these packages too, as apt knows them today."""
    known = {each.name for each in lock.packages}
    missing = [name for name in names if name not in known]
    return replace(lock, packages=lock.packages + apt.candidates(missing)) if missing else lock


def _build(lock: Lock, cache: Path, out: Path, extras: Extras, work: Path) -> RamdiskRecord:
    (work / "stage").mkdir()
    stage = Stage(work / "stage")
    brought = {each.name: stage.unpack(store.path_in_store(cache, each)) for each in lock.packages}
    kernel = next(path for path in brought[lock.kernel] if path.startswith("boot/vmlinuz-"))
    version = kernel.removeprefix("boot/vmlinuz-")
    tree = Tree.empty(work / "tree", stage)
    taken = [path for paths in contents.contents().values() for path in paths]
    taken += [path for name in extras.packages for path in brought[name]]
    for path in sorted(path for path in taken if not path.startswith("usr/lib/modules/")):
        tree.take(path)
    tree.link_names()
    tree.add_python(_agent_sources(work / "agent"), Path(__file__).parent)
    drivers = (*contents.drivers(), *extras.drivers)
    modules = tree.add_modules(version, drivers)
    tree.add_firmware(extras.firmware)
    for name, place in _SCRIPTS.items():
        (tree.folder / place).write_text(contents.text_of(name), encoding="utf-8")
        (tree.folder / place).chmod(0o755)
    (work / "rescue").mkdir()
    add_rescue(tree, stage, work / "rescue", version=version, drivers=drivers, date=lock.date)
    unpacked = _pack(tree.folder, work / "cpio", lock.date)
    _compress(stage, work / "cpio", work / INITRD_FILE, lock.compression_level)
    shutil.copy(stage.folder / kernel, work / KERNEL_FILE)
    return _publish(lock, out, extras, work, _Made(version, modules, unpacked))


@dataclass(frozen=True, slots=True)
class _Made:
    kernel_version: str
    modules: int
    unpacked_bytes: int


def _agent_sources(folder: Path) -> Path:
    """The package `provisioner` as the server needs it: three parts under an empty top."""
    source = Path(provisioner.__file__).parent
    top = folder / "provisioner"
    top.mkdir(parents=True)
    (top / "__init__.py").write_bytes(b"")
    for name in _AGENT_PACKAGES:
        for file in sorted((source / name).rglob("*.py")):
            place = top / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, place)
    return folder


def _pack(folder: Path, place: Path, date: int) -> int:
    with place.open("wb") as file:
        for piece in archive(entries_of(folder), date=date):
            file.write(piece)
        return file.tell()


def _compress(stage: Stage, source: Path, place: Path, level: int) -> None:
    # one thread: with more, zstd's output depends on how many
    run(stage.program("usr/bin/zstd", "-q", "-T1", f"-{level}", "-c", str(source)), output=place)
    with place.open("ab") as file:
        file.write(b"\0" * (-file.tell() % _ALIGNMENT))


def _publish(lock: Lock, out: Path, extras: Extras, work: Path, made: _Made) -> RamdiskRecord:
    kernel, initrd = work / KERNEL_FILE, work / INITRD_FILE
    sizes = kernel.stat().st_size, initrd.stat().st_size
    if sum(sizes) > MOST_BYTES:
        raise OperatorError(
            ErrorCode.RAMDISK_BUILD,
            f"kernel and initrd are {sum(sizes):,} bytes, more than {MOST_BYTES:,}: add less",
        )
    digests = store.digest_of_file(kernel), store.digest_of_file(initrd)
    record = RamdiskRecord(
        digest=digest_of(*digests),
        lock_digest=lock.digest(),
        kernel_version=made.kernel_version,
        kernel_sha256=digests[0],
        kernel_bytes=sizes[0],
        initrd_sha256=digests[1],
        initrd_bytes=sizes[1],
        unpacked_bytes=made.unpacked_bytes,
        modules=made.modules,
        added=_added(extras),
    )
    (work / LOCK_FILE).write_text(write_lock(lock), encoding="utf-8")
    (work / RECORD_FILE).write_text(record.to_text(), encoding="utf-8")
    out.mkdir(parents=True, exist_ok=True)
    # the record last: while it names other digests than the files, nothing boots them
    for name in (LOCK_FILE, KERNEL_FILE, INITRD_FILE, RECORD_FILE):
        shutil.copy(work / name, out / f".{name}.part")
        (out / f".{name}.part").replace(out / name)
    return record


def _added(extras: Extras) -> tuple[str, ...]:
    firmware = sorted(
        f"firmware {file.name} {store.digest_of_file(file)}"
        for path in extras.firmware
        for file in ([path] if path.is_file() else path.rglob("*"))
        if file.is_file()
    )
    packages = [f"package {each}" for each in sorted(set(extras.packages))]
    return (*packages, *firmware, *(f"driver {each}" for each in sorted(set(extras.drivers))))
