"""Management servers that know some commands and keep files, behind the port of a shell."""

import contextlib
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.shell import SeenFile, ShellResult

UIDS = {"cloud": 997}
ANSWERED = b'{"status":"error","error":"POOL_MISSING: no pool is named for this instance"}\n'


@dataclass
class Machine:
    """One server.

    Attributes:
        fail_at: The n-th writing of a file fails.
        says: What its entry answers to a prepare.
        shows: The service's certificate, as it is seen from there; None: it shows none.
    """

    files: dict = field(default_factory=dict)
    folders: list = field(default_factory=list)
    ran: list = field(default_factory=list)
    written: list = field(default_factory=list)
    fail_at: int = 0
    says: bytes = ANSWERED
    shows: bytes | None = None
    ahead_s: float = 0.0


class Machines:
    """All of them, by address; `refused` makes a connection fail as told."""

    def __init__(self, clock):
        self.clock, self.by_address, self.refused, self.opened = clock, {}, None, []

    def __getitem__(self, address):
        return self.by_address.setdefault(address, Machine())

    @contextlib.asynccontextmanager
    async def open_shell(self, address):
        self.opened.append(address)
        if self.refused is not None:
            raise self.refused
        yield MachineShell(self[address.host], self.clock)


class MachineShell:
    def __init__(self, machine, clock):
        self.machine, self.clock = machine, clock

    async def run(self, words, *, stdin=b"", within):
        assert within > 0
        self.machine.ran.append(list(words))
        match list(words):
            case ["install", "-d", *_, folder]:
                self.machine.folders.append(folder)
                return _result()
            case ["id", "-u", name] if name in UIDS:
                return _result(f"{UIDS[name]}\n".encode())
            case ["date", "+%s.%N"]:
                return _result(f"{self.clock.wall() + self.machine.ahead_s:.9f}\n".encode())
            case ["rm", "-f", path]:
                self.machine.files.pop(PurePosixPath(path), None)
                return _result()
            case ["runuser", "-u", "cloud", "--", _entry, "prepare", payload, _wait]:
                assert self.machine.files[PurePosixPath(payload)].mode == 0o644
                return ShellResult(status=1, output=self.machine.says, errors=b"")
            case ["runuser", "-u", "cloud", "--", "/usr/bin/python3", "-I", "-c", _, *given]:
                assert given[1:] == ["/etc/rackwright/entry.pem", "/etc/rackwright/entry.key"]
                if self.machine.shows is None:
                    return ShellResult(status=1, output=b"", errors=b"ssl.SSLError: no handshake\n")
                return _result(self.machine.shows)
            case _:
                return ShellResult(status=127, output=b"", errors=b"not found")

    async def read(self, path):
        return self.machine.files.get(path)

    async def put(self, path, content, *, mode, owner):
        self.machine.written.append(str(path))
        if len(self.machine.written) == self.machine.fail_at:
            raise OperatorError(ErrorCode.SSH_FAILED, f"{path}: No space left on device")
        self.machine.files[path] = SeenFile(content=content, owner=owner, mode=mode)


def _result(output=b""):
    return ShellResult(status=0, output=output, errors=b"")


LOST = TransientError(ErrorCode.SSH_UNREACHABLE, "10.0.0.1 does not answer over SSH")
