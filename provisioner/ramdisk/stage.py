"""Unpacks packages side by side into one folder with Debian's merged /usr.

Programs of the build (python, zstd, depmod) are run out of it by its own dynamic loader, so
the host's versions do not enter the result.
"""

import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ramdisk.commands import LIMIT_S, run

LIBRARIES = "usr/lib/x86_64-linux-gnu"
_LOADER = f"{LIBRARIES}/ld-linux-x86-64.so.2"
_MERGED = frozenset({"bin", "sbin", "lib", "lib64"})
_NOT_NEEDED = ("usr/share/doc/", "usr/share/man/", "usr/share/locale/", "usr/share/lintian/")


class Stage:
    """A folder that holds unpacked packages and can run what is in them."""

    def __init__(self, folder: Path) -> None:
        """Make the folders that /bin and its like point to.

        Args:
            folder: Empty, ours.
        """
        self.folder = folder
        for name in sorted(_MERGED):
            (folder / "usr" / name).mkdir(parents=True, exist_ok=True)
            (folder / name).symlink_to(f"usr/{name}")

    def unpack(self, package: Path, wanted: Callable[[str], bool] = lambda _: True) -> list[str]:
        """Unpack the files of a .deb; answer their paths below the folder.

        Raises:
            OperatorError: RAMDISK_BUILD: it cannot be read.
        """
        with subprocess.Popen(
            ["/usr/bin/dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            try:
                with tarfile.open(fileobj=child.stdout, mode="r|") as archive:
                    paths = [self._place(archive, each, wanted) for each in archive]
            except tarfile.TarError as error:
                raise _unreadable(package) from error
            if child.wait(LIMIT_S) != 0:
                raise _unreadable(package)
        return [each for each in paths if each]

    def program(self, path: str, *arguments: str, name: str | None = None) -> list[str]:
        """The argv that runs a staged program with the staged libraries."""
        program = self.folder / path
        return [
            str(self.folder / _LOADER),
            "--library-path",
            str(self.folder / LIBRARIES),
            "--argv0",
            name or str(program),
            str(program),
            *arguments,
        ]

    def libraries_of(self, path: str) -> list[str]:
        """The shared libraries that a staged program or library needs, all levels, by path.

        Raises:
            OperatorError: RAMDISK_BUILD, naming the library that no package brought.
        """
        libraries = self.folder / LIBRARIES
        loader = str(self.folder / _LOADER)
        argv = [loader, "--library-path", str(libraries), "--list", str(self.folder / path)]
        found = []
        for line in run(argv).decode().splitlines():
            soname, arrow, place = line.strip().partition(" => ")
            if not arrow or "/" in soname:
                continue  # the kernel's own, and the loader by its path
            # the loader looks into the host's folders too; what is only there is missing
            if not Path(place.rpartition(" (")[0]).is_relative_to(libraries):
                raise OperatorError(
                    ErrorCode.RAMDISK_BUILD,
                    f"{path} needs {soname}, which no package of the ramdisk brings",
                )
            found.append(f"{LIBRARIES}/{soname}")
        return found

    def _place(
        self, archive: tarfile.TarFile, member: tarfile.TarInfo, wanted: Callable[[str], bool]
    ) -> str:
        """Write one member; answer its path, or nothing for what was left out."""
        path = merged_path(member.name)
        if path.startswith(_NOT_NEEDED) or not wanted(path):
            return ""
        place = self.folder / path
        if member.isdir():
            place.mkdir(parents=True, exist_ok=True)
            return ""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        if member.issym():
            place.symlink_to(member.linkname)
        elif member.islnk():
            place.hardlink_to(self.folder / merged_path(member.linkname))
        else:
            content = archive.extractfile(member)
            place.write_bytes(content.read() if content else b"")
            place.chmod(0o755 if member.mode & 0o100 else 0o644)
        return path


def merged_path(name: str) -> str:
    """A member's name below the folder, with /bin, /sbin and /lib* under /usr.

    Raises:
        OperatorError: RAMDISK_BUILD: it would lie outside.
    """
    parts = [part for part in PurePosixPath(name).parts if part not in {"/", "."}]
    if ".." in parts:
        raise OperatorError(ErrorCode.RAMDISK_BUILD, f"a package has a path outside: {name[:200]}")
    if parts and parts[0] in _MERGED:
        parts.insert(0, "usr")
    return "/".join(parts)


def unpack_all(stage: Stage, packages: Sequence[Path]) -> None:
    """Unpack packages one after the other."""
    for each in packages:
        stage.unpack(each)


def _unreadable(package: Path) -> OperatorError:
    return OperatorError(ErrorCode.RAMDISK_BUILD, f"cannot unpack {package.name}")
