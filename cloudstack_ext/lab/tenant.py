"""A tenant's side of the lab: an SSH login from the tenant's own network, and what it shows."""

import itertools
import random
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cloudstack_ext.lab.payload import LabInstance
from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab.canaries import CANARY_BYTES
from provisioner.lab.layout import Layout
from provisioner.lab.namespaces import argv_inside
from provisioner.lab.network import attach_tenant
from provisioner.units import Vlan

FILE_BYTES = 256 << 20
"""Of the file that takes marks where a file system fills the whole disk."""
KEEP_OFF = 1 << 20
SCRIPT = """set -e
cat > /tmp/marks
[ -b "$1" ] || dd if=/dev/zero of="$1" bs=1048576 count=$(( {file_bytes} / 1048576 )) 2> /dev/null
if command -v python3 > /dev/null; then # a thousand processes take minutes under emulation
    python3 -c 'import sys
with open(sys.argv[1], "r+b") as disk, open("/tmp/marks", "rb") as marks:
    for at in sys.argv[2:]:
        disk.seek(int(at) * {size})
        disk.write(marks.read({size}))' "$1" {offsets}
else
    n=0
    for at in {offsets}; do
        dd if=/tmp/marks of="$1" bs={size} skip=$n seek=$at count=1 conv=notrunc 2> /dev/null
        n=$(( n + 1 ))
    done
fi
sync
echo 3 > /proc/sys/vm/drop_caches
"""


def make_key(folder: Path, name: str) -> Path:
    """A new key pair; the private key's path."""
    path = folder / name
    for old in (path, path.with_suffix(".pub")):
        old.unlink(missing_ok=True)
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """Who owns an instance and logs into it.

    Attributes:
        key: Private; its public half stood in the payload.
        user: Of the image.
    """

    layout: Layout
    instance: LabInstance
    key: Path
    user: str = "root"

    def connect(self) -> None:
        """The tenant's gateway in the instance's network: where logins come from."""
        attach_tenant(self.layout, Vlan(self.instance.vlan), f"{self.instance.gateway}/24")

    def run(self, command: str, *, given: bytes = b"", limit_s: float = 60.0) -> str:
        """One command in the instance.

        Raises:
            OperatorError: LAB: no login, or the command failed.
        """
        ended = subprocess.run(
            self._argv(command), input=given, capture_output=True, timeout=limit_s, check=False
        )
        if ended.returncode:
            said = ended.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise OperatorError(
                ErrorCode.LAB,
                f"{self.instance.hostname}: {command[:60]!r} ended with {ended.returncode}: "
                f"{''.join(said)}",
            )
        return ended.stdout.decode("utf-8", "replace")

    def answers(self) -> bool:
        """A login works now."""
        argv = self._argv("true")
        ended = subprocess.run(argv, capture_output=True, timeout=60, check=False)
        return ended.returncode == 0

    def user_data(self) -> bytes:
        """As the instance has it: the tiny system keeps a copy, cloud-init its own."""
        command = "cat /run/user-data 2> /dev/null || cat /var/lib/cloud/instance/user-data.txt"
        return self.run(command).encode()

    def disks(self) -> list[tuple[str, int]]:
        """Device and bytes of every whole disk."""
        command = (
            "cd /sys/block && for d in nvme* sd* vd*; do "
            "[ -e $d ] && echo $d $(cat $d/size); done; true"
        )
        lines = [line.split() for line in self.run(command).splitlines()]
        return sorted((f"/dev/{name}", int(sectors) * 512) for name, sectors in lines)

    def free_range(self, disk: str, size: int) -> tuple[int, int] | None:
        """The widest part of a disk that no partition covers; None where one fills it."""
        name = disk.removeprefix("/dev/")
        parts = f"/sys/block/{name}/{name}*"
        command = f"(cat {parts}/start; echo -; cat {parts}/size) 2> /dev/null; true"
        starts, _, sizes = self.run(command).partition("-")
        taken = sorted(
            (int(start) * 512, (int(start) + int(length)) * 512)
            for start, length in zip(starts.split(), sizes.split(), strict=True)
        )
        edges = [(0, KEEP_OFF), *taken, (size - KEEP_OFF, size)]
        holes = [
            (end, begin)
            for (_, end), (begin, _) in itertools.pairwise(edges)
            if begin - end > FILE_BYTES // 4
        ]
        return max(holes, key=lambda hole: hole[1] - hole[0], default=None)

    def write(self, disk: str, size: int, marks: Sequence[bytes]) -> str:
        """Marks at random offsets, written from inside; where: the disk, or a file on it."""
        hole = self.free_range(disk, size)
        target, (begin, end) = (disk, hole) if hole else ("/var/marks", (0, FILE_BYTES))
        slots = range(begin // CANARY_BYTES + 1, end // CANARY_BYTES - 1)
        offsets = random.SystemRandom().sample(slots, len(marks))
        script = SCRIPT.format(
            offsets=" ".join(map(str, offsets)), size=CANARY_BYTES, file_bytes=FILE_BYTES
        )
        self.run("cat > /tmp/write.sh", given=script.encode())
        self.run(f"sh /tmp/write.sh {target}", given=b"".join(marks), limit_s=300.0)
        return target

    def looks(self, targets: Sequence[str], *, posing_as: str = "") -> dict[str, bool]:
        """What answers from inside the instance: a ping of ADDRESS, a connection to ADDRESS:PORT.

        Args:
            targets: All tried at the same time.
            posing_as: An address, with its prefix length, that the instance takes on for this.
        """
        probes = "".join(
            f"( {_probe(target)} > /dev/null 2>&1 && echo yes {target} || echo no {target} ) &\n"
            for target in targets
        )
        card = "$(ip -o link | sed -n 's/^[0-9]*: \\(e[^:@]*\\).*/\\1/p' | head -n 1)"
        dress = f"ip addr add {posing_as} dev {card}\n" if posing_as else ""
        undress = f"ip addr del {posing_as} dev {card}\n" if posing_as else ""
        said = self.run(f"{dress}{probes}wait\n{undress}")
        words = [line.split() for line in said.splitlines()]
        return {target: answer == "yes" for answer, target in words}

    def _argv(self, command: str) -> list[str]:
        ssh = [
            "ssh", "-i", str(self.key), "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null",
            "-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes",
            f"{self.user}@{self.instance.address}", command,
        ]  # fmt: skip
        return argv_inside(self.layout.tenant, ssh)


def _probe(target: str) -> str:
    """The tiny system has nc, Debian's bash its own connections."""
    address, _, port = target.partition(":")
    if not port:
        return f"ping -c 2 -W 2 {address}"
    bash = f"bash -c 'exec 3<>/dev/tcp/{address}/{port}'"
    return f"(echo | timeout 4 nc -w 3 {address} {port} || timeout 4 {bash})"
