"""packages.lock: every input of the ramdisk by name, version, SHA-256 and size.

The programs that build it (python3.11, zstd, kmod) are run out of these same packages, so
their versions are pinned with the rest. Format, one statement a line, `#` begins a comment:

    version 1
    date SECONDS            every file's time; when the lock was renewed
    compress LEVEL          of zstd
    kernel NAME             the package among them that holds the kernel
    package NAME VERSION SHA256 BYTES
"""

import hashlib
import re
from dataclasses import dataclass

from provisioner.errors import ErrorCode, InputError

FORMAT = "1"
COMPRESSION_LEVEL = 12
"""zstd's. Level 19 takes 35 s longer (two cores) and saves 2.5 MB of 32 as sent."""
_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]{0,127}")
_VERSION = re.compile(r"[A-Za-z0-9.+:~-]{1,128}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST = 1 << 32


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedPackage:
    """One .deb, as apt's signed index names it."""

    name: str
    version: str
    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """All inputs that are not in this repository.

    Attributes:
        kernel: Name of the package with vmlinuz and modules; it is among `packages`.
        date: Seconds since 1970, given to every file in the ramdisk.
        compression_level: Of zstd.
        packages: By name.
    """

    kernel: str
    date: int
    compression_level: int
    packages: tuple[LockedPackage, ...]

    def digest(self) -> str:
        """SHA-256 of the canonical text, hex."""
        return hashlib.sha256(write_lock(self).encode()).hexdigest()

    def package(self, name: str) -> LockedPackage:
        """The package of this name.

        Raises:
            InputError: CONFIG_INVALID: the lock has none.
        """
        for each in self.packages:
            if each.name == name:
                return each
        raise InputError(ErrorCode.CONFIG_INVALID, f"packages.lock names no package {name}")


def parse_package_name(text: str) -> str:
    """A Debian package name, else InputError: it becomes an argument of apt."""
    if not _NAME.fullmatch(text):
        raise InputError(ErrorCode.NAME_INVALID, f"not a Debian package name: {text[:80]!r}")
    return text


def parse_lock(text: str) -> Lock:
    """Read a lock.

    Raises:
        InputError: CONFIG_INVALID, with the number of the line.
    """
    single: dict[str, str] = {}
    packages: list[LockedPackage] = []
    for number, line in enumerate(text.splitlines(), 1):
        match line.partition("#")[0].split():
            case []:
                pass
            case ["package", name, version, sha256, size]:
                packages.append(_package(name, version, sha256, size, number=number))
            case [("version" | "date" | "compress" | "kernel") as key, value]:
                single[key] = value
            case _:
                raise _refused(number, "unknown statement")
    return _checked(single, packages)


def write_lock(lock: Lock) -> str:
    """The canonical text; `parse_lock` gives an equal lock."""
    lines = [
        "# Inputs of the ramdisk. Written by `rackwright ramdisk update`.",
        f"version {FORMAT}",
        f"date {lock.date}",
        f"compress {lock.compression_level}",
        f"kernel {lock.kernel}",
    ]
    lines += [
        f"package {each.name} {each.version} {each.sha256} {each.size_bytes}"
        for each in sorted(lock.packages, key=lambda package: package.name)
    ]
    return "\n".join(lines) + "\n"


def _package(name: str, version: str, sha256: str, size: str, *, number: int) -> LockedPackage:
    fits = _NAME.fullmatch(name) and _VERSION.fullmatch(version) and _SHA256.fullmatch(sha256)
    if not fits or not size.isdecimal() or int(size) > _LARGEST:
        raise _refused(number, "not a name, version, SHA-256 and size")
    return LockedPackage(name=name, version=version, sha256=sha256, size_bytes=int(size))


def _checked(single: dict[str, str], packages: list[LockedPackage]) -> Lock:
    if single.get("version") != FORMAT:
        raise InputError(ErrorCode.CONFIG_INVALID, f"packages.lock is not of version {FORMAT}")
    missing = {"date", "compress", "kernel"} - set(single)
    if missing or not single["date"].isdecimal() or not single["compress"].isdecimal():
        raise InputError(ErrorCode.CONFIG_INVALID, "packages.lock needs date, compress and kernel")
    names = [each.name for each in packages]
    if len(set(names)) != len(names) or single["kernel"] not in names:
        raise InputError(
            ErrorCode.CONFIG_INVALID, "packages.lock names a package twice, or no kernel"
        )
    return Lock(
        kernel=single["kernel"],
        date=int(single["date"]),
        compression_level=int(single["compress"]),
        packages=tuple(sorted(packages, key=lambda package: package.name)),
    )


def _refused(number: int, why: str) -> InputError:
    return InputError(ErrorCode.CONFIG_INVALID, f"packages.lock line {number}: {why}")
