"""Which disk gets the image: by the server's rule, exactly one. Pure."""

from collections.abc import Iterable

from provisioner.errors import ErrorCode, InputError
from provisioner.hardware.inventory import FABRIC, Disk, Transport
from provisioner.servers.model import ExcludedDisk, RootDiskRule

NEVER_OURS = FABRIC | {Transport.USB, Transport.OPTICAL}


def own_disks(disks: Iterable[Disk], excluded: Iterable[ExcludedDisk]) -> tuple[Disk, ...]:
    """The media that belong to the server: what is written and what is wiped.

    Removable, virtual and read-only ones are not; nor are those that an operator has listed.

    Raises:
        InputError: DISK_FABRIC: a disk over a fabric that nobody has listed as excluded.
    """
    unlisted = _unlisted(disks, excluded)
    for disk in unlisted:
        if disk.transport in FABRIC:
            raise InputError(
                ErrorCode.DISK_FABRIC,
                f"disk {disk.name} ({disk.wwn or disk.serial}) is reached over {disk.transport} "
                "and may be another machine's: detach it, or list it as excluded by WWN and name",
            )
    return tuple(disk for disk in unlisted if _is_own(disk))


def unclaimed(disks: Iterable[Disk], excluded: Iterable[ExcludedDisk]) -> tuple[Disk, ...]:
    """Media that may hold data, are not the server's own, and that nobody has listed."""
    return tuple(
        disk
        for disk in _unlisted(disks, excluded)
        if not _is_own(disk) and disk.transport is not Transport.OPTICAL
    )


def _unlisted(disks: Iterable[Disk], excluded: Iterable[ExcludedDisk]) -> list[Disk]:
    listed = {each.wwn for each in excluded}
    return [disk for disk in disks if disk.wwn not in listed]


def _is_own(disk: Disk) -> bool:
    return disk.transport not in NEVER_OURS and not disk.removable and not disk.read_only


def root_disk(
    rule: RootDiskRule, disks: Iterable[Disk], *, image_bytes: int, sector_bytes: int
) -> Disk:
    """The one disk that the rule names and that the image fits on.

    Args:
        rule: All its named properties must hold.
        disks: The server's own (`own_disks`).
        image_bytes: Of the raw image.
        sector_bytes: Logical sectors that the image's partition table was made for.

    Raises:
        InputError: DISK_NOT_FOUND, DISK_AMBIGUOUS, DISK_TOO_SMALL or DISK_SECTOR_SIZE.
    """
    return _fit(ruled_disk(rule, disks), image_bytes, sector_bytes)


def ruled_disk(rule: RootDiskRule, disks: Iterable[Disk]) -> Disk:
    """The one disk that the rule names.

    Raises:
        InputError: DISK_NOT_FOUND, DISK_AMBIGUOUS.
    """
    fitting = [disk for disk in disks if _matches(rule, disk)]
    if rule.smallest_nvme:
        fitting = sorted(
            (disk for disk in fitting if disk.transport is Transport.NVME), key=lambda d: d.bytes
        )
        if len(fitting) > 1 and fitting[0].bytes < fitting[1].bytes:
            fitting = fitting[:1]
    if not fitting:
        raise InputError(
            ErrorCode.DISK_NOT_FOUND,
            "no disk matches the server's root-disk rule: correct the rule",
        )
    if len(fitting) > 1:
        names = ", ".join(f"{disk.name} ({disk.serial})" for disk in fitting)
        raise InputError(
            ErrorCode.DISK_AMBIGUOUS,
            f"{len(fitting)} disks match the server's root-disk rule: {names}; "
            "name one by serial or WWN",
        )
    return fitting[0]


def _fit(disk: Disk, image_bytes: int, sector_bytes: int) -> Disk:
    if disk.bytes < image_bytes:
        raise InputError(
            ErrorCode.DISK_TOO_SMALL,
            f"disk {disk.name} has {disk.bytes} bytes, the image needs {image_bytes}",
        )
    if disk.logical_sector_bytes != sector_bytes:
        raise InputError(
            ErrorCode.DISK_SECTOR_SIZE,
            f"the image is made for sectors of {sector_bytes} bytes, disk {disk.name} has "
            f"{disk.logical_sector_bytes}",
        )
    return disk


def _matches(rule: RootDiskRule, disk: Disk) -> bool:
    wanted = (
        (rule.serial, disk.serial),
        (rule.wwn, disk.wwn),
        (rule.model, disk.model),
        (rule.rotational, disk.rotational),
        (rule.path, disk.bus_path),
    )
    return (
        all(want is None or want == seen for want, seen in wanted)
        and (rule.min_bytes is None or disk.bytes >= rule.min_bytes)
        and (rule.max_bytes is None or disk.bytes <= rule.max_bytes)
    )
