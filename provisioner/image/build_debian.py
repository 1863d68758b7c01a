"""A small Debian 12 with cloud-init, for BIOS and UEFI.

The packages are brought in by mmdebstrap and kept as a tar in the cache; the disk is made from
it without a loop device or a mount.
"""

import asyncio
import hashlib
import os
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.hardware.gpt import LINUX_FILE_SYSTEM, Partition
from provisioner.image.bootable import (
    MIB,
    SECTOR_BYTES,
    SYSTEM_AT,
    make_cores,
    make_fat,
    make_table,
    named,
    system_length,
    write_boot,
)
from provisioner.image.commands import Report, run
from provisioner.ports.processes import Processes
from provisioner.units import Seconds

_SUITE = "bookworm"
_DISK_BYTES = 1600 * MIB
_BOOTSTRAP_LIMIT = Seconds(1800)
_PACKAGES = (
    "linux-image-amd64", "initramfs-tools", "zstd", "systemd-sysv", "systemd-resolved", "udev",
    "dbus", "cloud-init", "cloud-guest-utils", "fdisk", "openssh-server", "iproute2",
    "iputils-ping", "netbase", "ca-certificates", "less", "vim-tiny",
)  # fmt: skip
_LEFT_OUT = (
    "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*",
    *(f"/lib/modules/*/kernel/{each}/*" for each in (
        "sound", "drivers/media", "drivers/staging", "drivers/net/wireless", "drivers/bluetooth",
        "drivers/iio", "drivers/isdn", "drivers/gpu/drm/amd", "drivers/gpu/drm/i915",
        "drivers/gpu/drm/nouveau", "drivers/gpu/drm/radeon", "net/bluetooth", "net/wireless",
        "net/mac80211",
    )),
)  # fmt: skip
"""What a server without a screen does not miss; licences are kept."""
_KEPT = "/usr/share/doc/*/copyright"
_TEXTS = {
    "cloud.yaml": ("etc/cloud/cloud.cfg.d/90_rackwright.cfg", 0o644),
    "ready.txt": ("etc/systemd/system/rackwright-ready.service", 0o644),
    "ready.sh": ("usr/local/sbin/rackwright-ready", 0o755),
    "wait_online.txt": (
        "etc/systemd/system/systemd-networkd-wait-online.service.d/limit.conf", 0o644,
    ),
    "initramfs.txt": ("etc/initramfs-tools/conf.d/rackwright", 0o644),
    "initramfs_hook.sh": ("etc/initramfs-tools/hooks/rackwright", 0o755),
}  # fmt: skip
_MASKED = (
    "apt-daily.timer", "apt-daily-upgrade.timer", "e2scrub_all.timer", "e2scrub_reap.service",
)  # fmt: skip
_HOOKS = (
    'chroot "$1" systemctl -q enable systemd-networkd rackwright-ready',
    *(f'ln -sf /dev/null "$1/etc/systemd/system/{each}"' for each in _MASKED),
    'rm -f "$1"/etc/ssh/ssh_host_*; : > "$1/etc/machine-id"',
    'echo debian > "$1/etc/hostname"; mkdir -p "$1/boot/grub"',
)
_ROOT = named("debian root")


async def build_debian(processes: Processes, *, cache: Path, out: Path, report: Report) -> None:
    """Make the Debian image; some minutes the first time, seconds from the cache.

    Args:
        processes: Runs mmdebstrap, tar, mke2fs, grub-mkimage, dosfstools, mtools.
        cache: Keeps the packed system under a name made from all that went into it.
        out: The raw image; made in one move at the end.
        report: Takes a line at each stage.

    Raises:
        OperatorError: PERMISSION: not root, whose the files of the system are; IMAGE_BUILD.
    """
    if os.geteuid() != 0:
        raise OperatorError(ErrorCode.PERMISSION, "the Debian image is built by root")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".debian-", dir=out.parent) as name:
        work = Path(name)
        overlay = _make_overlay(work / "overlay")
        packed = cache / "images" / f"debian-{_key(overlay)}.tar"
        if packed.is_file():
            report("system from the cache")
        else:
            report("system from Debian packages (minutes)")
            await _bootstrap(processes, overlay, packed)
        report("root file system")
        root = work / "root"
        root.mkdir()
        argv = ["tar", "-C", str(root), "--numeric-owner", "--xattrs-include=*", "-xpf"]
        await run(processes, [*argv, str(packed)])
        (root / "etc/fstab").write_text(f"UUID={_ROOT} / ext4 defaults,noatime 0 1\n")
        (root / "boot/grub/grub.cfg").write_text(_text("grub.txt").replace("@ROOT@", str(_ROOT)))
        report("disk that starts from BIOS and UEFI")
        raw = await _make_disk(processes, root, work)
        raw.replace(out)


def _text(name: str) -> str:
    return resources.files("provisioner.image").joinpath("debian", name).read_text()


def _make_overlay(folder: Path) -> Path:
    """The files of ours that go over Debian's."""
    for name, (place, mode) in _TEXTS.items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).write_text(_text(name))
        (folder / place).chmod(mode)
    for each in (folder, *folder.rglob("*")):
        if each.is_dir():
            each.chmod(0o755)
    return folder


def _key(overlay: Path) -> str:
    digest = hashlib.sha256("\n".join(_argv(Path(), Path())).encode())
    for path in sorted(each for each in overlay.rglob("*") if each.is_file()):
        digest.update(path.relative_to(overlay).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _argv(overlay: Path, target: Path) -> list[str]:
    left_out = [f"--dpkgopt=path-exclude={each}" for each in _LEFT_OUT]
    hooks = [f"--customize-hook={each}" for each in _HOOKS]
    return [
        "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=tar",
        f"--include={','.join(_PACKAGES)}", *left_out, f"--dpkgopt=path-include={_KEPT}",
        # before the kernel comes, whose installation makes the initramfs
        f"--essential-hook=sync-in {overlay} /", *hooks, _SUITE, str(target),
    ]  # fmt: skip


async def _bootstrap(processes: Processes, overlay: Path, packed: Path) -> None:
    packed.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".bootstrap-", dir=packed.parent) as name:
        target = Path(name) / "system.tar"
        await run(processes, _argv(overlay, target), limit=_BOOTSTRAP_LIMIT)
        target.replace(packed)


async def _make_disk(processes: Processes, root: Path, work: Path) -> Path:
    early = (
        f"search --no-floppy --fs-uuid {_ROOT} --set root\nconfigfile ($root)/boot/grub/grub.cfg\n"
    )
    cores = await make_cores(processes, early=early, work=work)
    files = {"EFI/BOOT/BOOTX64.EFI": cores.efi}
    length = system_length(tuple(files.values()))
    await make_fat(processes, work / "system", length=length, label="RWDEBIAN", files=files)
    table = make_table("debian", disk_bytes=_DISK_BYTES, system_bytes=length)
    first = SYSTEM_AT + length // SECTOR_BYTES
    last = (table.last_usable + 1) // 2048 * 2048 - 1
    table = table.added(
        Partition(
            number=3, kind=LINUX_FILE_SYSTEM, guid=named("debian root partition"), first=first,
            last=last, name="root",
        )
    )  # fmt: skip
    raw = work / "raw"
    with raw.open("wb") as disk, (work / "system").open("rb") as system:
        disk.truncate(_DISK_BYTES)
        disk.seek(SYSTEM_AT * SECTOR_BYTES)
        await asyncio.to_thread(shutil.copyfileobj, system, disk, MIB)
    kib = (last - first + 1) * SECTOR_BYTES // 1024
    await run(
        processes,
        [
            "mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-L", "root", "-U", str(_ROOT),
            # GRUB 2.06 reads neither of these
            "-O", "^metadata_csum_seed,^orphan_file",
            "-E", f"offset={first * SECTOR_BYTES},hash_seed={_ROOT},root_owner=0:0",
            "-d", str(root), str(raw), f"{kib}k",
        ],
    )  # fmt: skip
    write_boot(raw, table, cores)
    return raw
