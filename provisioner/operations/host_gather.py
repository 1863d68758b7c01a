"""A GPU host's texts over SSH: one connection, one command, the one that people run too."""

from dataclasses import dataclass
from typing import Final

from provisioner.errors import ErrorCode, OperatorError
from provisioner.hosts.collect import collect_script
from provisioner.hosts.model import SshAccess, SshHop
from provisioner.ports.shell import OpenShell, ShellAddress, ShellResult
from provisioner.units import Seconds

WITHIN: Final = Seconds(60.0)
"""The script gives each command 15 s; a host in trouble may need several of them."""
_GZIP: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SshGather:
    """Implements ports.Gather."""

    open_shell: OpenShell

    async def __call__(self, access: SshAccess) -> tuple[bytes, str]:
        """As root, or by sudo where the user is another."""
        words = ["sh", "-s"] if access.target.user == "root" else ["sudo", "-n", "sh", "-s"]
        async with self.open_shell(address_of(access)) as shell:
            done = await shell.run(words, stdin=collect_script().encode(), within=WITHIN)
            return _bundle(access.target, done), shell.host_key


def address_of(access: SshAccess) -> ShellAddress:
    """As the port has it."""
    jump = access.jump
    return ShellAddress(
        host=access.target.host,
        port=access.target.port,
        user=access.target.user,
        host_key=access.target.host_key,
        key_file=access.key_file,
        jump=None
        if jump is None
        else ShellAddress(
            host=jump.host,
            port=jump.port,
            user=jump.user,
            host_key=jump.host_key,
            key_file=access.key_file,
        ),
    )


def _bundle(target: SshHop, done: ShellResult) -> bytes:
    said = done.errors.decode("utf-8", "replace").strip()
    line = said.splitlines()[0][:200] if said else f"status {done.status}"
    if done.status and line.startswith("sudo:"):
        text = f"{target.user}@{target.host}: {line}"
        raise OperatorError(ErrorCode.SSH_SUDO, text, said)
    if done.status or not done.output.startswith(_GZIP):
        text = f"{target.user}@{target.host}: no bundle came: {line}"
        raise OperatorError(ErrorCode.SSH_FAILED, text, said)
    return done.output
