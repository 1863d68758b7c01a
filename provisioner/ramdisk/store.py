"""The store of packages, each under its SHA-256, outside the work tree.

Archives drop versions that were superseded; what is in the store can be built again for ever.
"""

import hashlib
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ramdisk import apt
from provisioner.ramdisk.lock import LockedPackage


def path_in_store(cache: Path, package: LockedPackage) -> Path:
    """Where this package lies, or would lie, in the cache folder."""
    return cache / "packages" / f"{package.sha256}.deb"


def fill(cache: Path, packages: Iterable[LockedPackage]) -> None:
    """Fetch what is missing; what is there is checked again by size and digest.

    Raises:
        OperatorError: PACKAGE_GONE, naming all that the archive no longer has.
    """
    missing = [each for each in packages if not _have(cache, each)]
    if missing:
        _fetch(cache, missing)
    gone = [each for each in missing if not path_in_store(cache, each).is_file()]
    if gone:
        names = ", ".join(f"{each.name} {each.version}" for each in gone)
        raise OperatorError(
            ErrorCode.PACKAGE_GONE, f"gone or wrong: {names}: run `rackwright ramdisk update`"
        )


def _have(cache: Path, package: LockedPackage) -> bool:
    path = path_in_store(cache, package)
    if path.is_file() and is_package(path, package):
        return True
    path.unlink(missing_ok=True)
    return False


def is_package(path: Path, package: LockedPackage) -> bool:
    """Whether this file has the size and digest of the lock."""
    return path.stat().st_size == package.size_bytes and digest_of_file(path) == package.sha256


def digest_of_file(path: Path) -> str:
    """SHA-256, hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _fetch(cache: Path, packages: Sequence[LockedPackage]) -> None:
    """Put what apt delivers into the store, if its size and digest are one of the lock's."""
    folder = cache / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {(each.size_bytes, each.sha256): each for each in packages}
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as fetched:
        for file in apt.download(packages, Path(fetched)):
            package = wanted.get((file.stat().st_size, digest_of_file(file)))
            if package is not None:
                file.replace(path_in_store(cache, package))
