"""How a foreign file is unpacked: by a child that has no privileges, no network and narrow limits.

The child is started in the folder and gives up everything before it reads a byte, so it needs
no way through the folders above; its output file was made for it.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

NOBODY = 65534
_MEMORY_BYTES = 2 << 30
_FILES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Confinement:
    """What a child may do.

    Attributes:
        folder: Where it is started; its files are named from there.
        file_bytes: The longest file that it may write.
        cpu_s: Seconds of processor time.
        is_root: We are root, so the child becomes nobody, in an empty network namespace.
    """

    folder: Path
    file_bytes: int
    cpu_s: int
    is_root: bool

    def argv(self, tool: Sequence[str]) -> list[str]:
        """The whole command line around a tool's."""
        away = ["unshare", "--net", "--ipc", "--uts", "--"] if self.is_root else []
        ids = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if self.is_root else []
        return [
            *away,
            "env", "--ignore-environment", f"--chdir={self.folder}",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C",
            "prlimit", f"--as={_MEMORY_BYTES}", f"--fsize={self.file_bytes}",
            f"--cpu={self.cpu_s}", f"--nofile={_FILES}", "--core=0", "--",
            "setpriv", *ids, "--inh-caps=-all", "--bounding-set=-all", "--no-new-privs", "--",
            *tool,
        ]  # fmt: skip

    def give_output(self, descriptor: int) -> None:
        """Let the child, and nobody else, write this file."""
        os.fchmod(descriptor, 0o600)
        if self.is_root:
            os.fchown(descriptor, NOBODY, NOBODY)

    def take_output(self, descriptor: int) -> None:
        """It is ours again, for the web server to read."""
        if self.is_root:
            os.fchown(descriptor, os.geteuid(), os.getegid())
        os.fchmod(descriptor, 0o644)


def unpack_qcow2(packed: str, raw: str) -> list[str]:
    """qemu-img into a raw file that has the right length already and reads as zeros."""
    return [
        "qemu-img", "convert", "-q", "-f", "qcow2", "-O", "raw", "-n", "--target-is-zero",
        "-S", "64k", packed, raw,
    ]  # fmt: skip


def unpack_stream(packed: str, raw: str) -> list[str]:
    """Debian's zstd reads .zst, .gz and .xz; long runs of zeros become holes."""
    script = 'exec zstd -d -c -q --sparse -M512MB -- "$1" > "$2"'
    return ["sh", "-c", script, "sh", packed, raw]
