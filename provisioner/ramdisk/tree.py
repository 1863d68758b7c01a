"""The ramdisk's files, put together out of the stage."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from provisioner.errors import ErrorCode, InputError
from provisioner.ramdisk.commands import run
from provisioner.ramdisk.modules import parse_index
from provisioner.ramdisk.stage import LIBRARIES, Stage

PYTHON = "usr/bin/python3.11"
PYTHON_LIBRARY = "usr/lib/python3.11"
_FOLDERS = ("dev", "etc/rackwright", "proc", "run", "sys", "tmp", "usr/bin", "usr/sbin", "usr/lib")
_APPLETS = (
    *(
        "cat",
        "cp",
        "date",
        "dmesg",
        "echo",
        "grep",
        "head",
        "ip",
        "ls",
        "mkdir",
        "mount",
        "poweroff",
    ),
    *("reboot", "sed", "sh", "sleep", "sort", "sync", "tail", "tee", "test", "tr", "udhcpc"),
)
"""What /init, the lease script and the agent's last acts use; a rescue system gets all others."""
_KMOD_NAMES = ("modprobe", "insmod", "lsmod", "depmod")
_EAGER = (
    # the interpreter's own way to run a module, and codecs that are found by name only
    *("runpy", "pkgutil", "encodings.ascii", "encodings.latin_1", "encodings.idna"),
    *("encodings.utf_8", "encodings.cp437", "concurrent.futures.thread", "traceback"),
)


class Tree:
    """A folder that becomes the archive."""

    def __init__(self, folder: Path, stage: Stage) -> None:
        """Take a folder as it is; `empty` makes one.

        Args:
            folder: Ours.
            stage: Holds all unpacked packages.
        """
        self.folder = folder
        self._stage = stage

    @classmethod
    def empty(cls, folder: Path, stage: Stage) -> Self:
        """The empty system, in a folder that is not there."""
        for name in (*_FOLDERS, "usr/lib64"):
            (folder / name).mkdir(parents=True)
        for name in ("bin", "sbin", "lib", "lib64"):
            (folder / name).symlink_to(f"usr/{name}")
        return cls(folder, stage)

    def copied(self, folder: Path) -> Self:
        """The same once more, in a folder that is not there."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return type(self)(folder, self._stage)

    def take(self, path: str) -> None:
        """Copy a staged file, and the libraries it needs."""
        source, place = self._stage.folder / path, self.folder / path
        if not source.exists():
            raise InputError(ErrorCode.CONFIG_INVALID, f"no package of the ramdisk has {path}")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        shutil.copy(source, place)
        if _is_dynamic(place):
            for library in self._stage.libraries_of(path):
                if not (self.folder / library).exists():
                    (self.folder / LIBRARIES).mkdir(parents=True, exist_ok=True)
                    shutil.copy(self._stage.folder / library, self.folder / library)

    def link_names(self) -> None:
        """The names under which busybox, kmod and python are called."""
        for name in _APPLETS:
            (self.folder / "usr/bin" / name).symlink_to("busybox")
        for name in _KMOD_NAMES:
            (self.folder / "usr/sbin" / name).symlink_to("../bin/kmod")
        (self.folder / "usr/bin/python3").symlink_to("python3.11")

    def add_python(self, agent: Path, scripts: Path) -> None:
        """The agent, and of the standard library what it imports; byte code only.

        Args:
            agent: Folder with the package `provisioner` as it goes into the ramdisk.
            scripts: Folder of stage_python.py.
        """
        library = self._stage.folder / PYTHON_LIBRARY
        script = str(scripts / "stage_python.py")
        ask = (script, "modules", str(library), str(agent), *_EAGER)
        output = run(self._stage.program(PYTHON, "-I", "-S", *ask))
        for name in output.decode().split():
            self.take(f"{PYTHON_LIBRARY}/{name}")
        shutil.copytree(agent, self.folder / PYTHON_LIBRARY, dirs_exist_ok=True)
        place = str(self.folder / PYTHON_LIBRARY)
        run(self._stage.program(PYTHON, "-I", "-S", script, "compile", place))

    def add_modules(self, version: str, drivers: Iterable[str]) -> int:
        """The drivers, what they need, and the tables by which modprobe finds them; their count."""
        base = f"usr/lib/modules/{version}"
        source, place = self._stage.folder / base, self.folder / base
        self._depmod(self._stage.folder, version)
        index = parse_index(
            *((source / f"modules.{name}").read_text() for name in ("dep", "softdep", "builtin"))
        )
        files = index.closure(drivers)
        for name in files:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source / name, place / name)
        for name in ("order", "builtin", "builtin.modinfo"):
            shutil.copy(source / f"modules.{name}", place / f"modules.{name}")
        self._depmod(self.folder, version)
        return len(files)

    def add_firmware(self, paths: Iterable[Path]) -> None:
        """Files, and the content of folders, under /lib/firmware."""
        place = self.folder / "usr/lib/firmware"
        for path in paths:
            if path.is_dir():
                shutil.copytree(path, place, dirs_exist_ok=True)
            elif path.is_file():
                place.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, place / path.name)
            else:
                raise InputError(ErrorCode.FILE_UNREADABLE, f"no firmware at {path}")

    def _depmod(self, folder: Path, version: str) -> None:
        run(self._stage.program("usr/bin/kmod", "-b", str(folder), version, name="depmod"))


def _is_dynamic(file: Path) -> bool:
    with file.open("rb") as opened:
        head = opened.read(4096)
    return head.startswith(b"\x7fELF") and (b"ld-linux" in head or ".so" in file.name)
