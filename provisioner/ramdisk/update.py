"""Renews the lock from what apt's verified indices name today."""

from provisioner.ramdisk import apt, contents
from provisioner.ramdisk.lock import COMPRESSION_LEVEL, Lock
from provisioner.units import WallSeconds

_DAY_S = 86_400


def update(*, now: WallSeconds, extra_packages: tuple[str, ...] = ()) -> Lock:
    """A lock with apt's candidates; run `apt-get update` before, this does not.

    Args:
        now: Becomes the date of every file in the ramdisk, as of midnight.
        extra_packages: Pinned too, for `build(extra_packages=...)`.

    Raises:
        OperatorError: RAMDISK_BUILD: apt does not know a package.
    """
    kernel = apt.kernel_package()
    names = (*contents.packages(), kernel, *extra_packages)
    return Lock(
        kernel=kernel,
        date=int(now) // _DAY_S * _DAY_S,
        compression_level=COMPRESSION_LEVEL,
        packages=apt.candidates(names),
    )


def changes(old: Lock, new: Lock) -> tuple[str, ...]:
    """One line for each package that came, went or has another version."""
    before = {each.name: each.version for each in old.packages}
    after = {each.name: each.version for each in new.packages}
    return tuple(
        f"{name} {before.get(name, '(new)')} -> {after.get(name, '(gone)')}"
        for name in sorted(set(before) | set(after))
        if before.get(name) != after.get(name)
    )
