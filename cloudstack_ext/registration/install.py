"""Placing the entry on management servers over SSH, and looking at what lies there."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from cloudstack_ext.registration.certificates import CertificateEnds, look_at_certificates
from cloudstack_ext.registration.entry_files import (
    EXTENSIONS,
    ROOT,
    SETTINGS,
    EntryFile,
    difference,
)
from cloudstack_ext.registration.verify import CLOCKS_APART_S, Check, Outcome
from cloudstack_ext.registration.wanted import ServerWanted
from provisioner.errors import ErrorCode, OperatorError, RackwrightError
from provisioner.ports.clock import Clock
from provisioner.ports.shell import OpenShell, Shell, ShellAddress
from provisioner.units import Seconds

WITHIN_S: Final = Seconds(30.0)
ASK_WITHIN_S: Final = 20
"""What the entry is told to have: with the service away it asks again until then."""
REACHED: Final = ("POOL_MISSING", "SERVICE_HELD")
"""What the service answers to a prepare for no pool at all; nothing is reserved."""
PROBE: Final = {
    "virtualmachineid": "00000000-0000-4000-8000-000000000000",
    "virtualmachinename": "rackwright-verify",
    "externaldetails": {},
    "cloudstack.vm.details": {
        "uuid": "00000000-0000-4000-8000-000000000000",
        "name": "rackwright-verify",
        "nics": [],
        "details": {},
    },
}
PROBE_FOLDER: Final = PurePosixPath("/var/tmp")  # noqa: S108 under a name that nobody can guess


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """One file of one server.

    Attributes:
        text: What differed before; "" where nothing did and nothing was written.
    """

    server: str
    path: PurePosixPath
    text: str


def address_of(server: ServerWanted) -> ShellAddress:
    """Where it is and whom we expect."""
    return ShellAddress(
        host=server.address,
        port=server.port,
        user=server.user,
        host_key=server.host_key,
        key_file=server.key_file,
    )


async def install(
    server: ServerWanted, files: tuple[EntryFile, ...], open_shell: OpenShell, *, dry_run: bool
) -> tuple[Placed, ...]:
    """Place what differs, each file whole or not at all, the entry last.

    Raises:
        OperatorError: SSH_HOST_KEY, SSH_KEY, SSH_FAILED.
        TransientError: SSH_UNREACHABLE.
    """
    async with open_shell(address_of(server)) as shell:
        owners = await _owners(shell, {file.owner for file in files})
        if not dry_run:
            for folder in dict.fromkeys(file.path.parent for file in files):
                await _done(shell, "install", "-d", "-m", "0755", str(folder))
        return tuple([await _placed(shell, server, file, owners, dry_run) for file in files])


async def _placed(
    shell: Shell,
    server: ServerWanted,
    file: EntryFile,
    owners: Mapping[str, int],
    dry_run: bool,  # noqa: FBT001 private
) -> Placed:
    text = await _differs(shell, file, owners)
    if text and not dry_run:
        await shell.put(file.path, file.content, mode=file.mode, owner=owners[file.owner])
        left = await _differs(shell, file, owners)
        if left:
            raise OperatorError(
                ErrorCode.SSH_FAILED, f"{server.name}: {file.path} {left} afterwards"
            )
    return Placed(server=server.name, path=file.path, text=text)


async def _differs(shell: Shell, file: EntryFile, owners: Mapping[str, int]) -> str:
    seen = await shell.read(file.path)
    return difference(
        file,
        seen.content if seen else None,
        owner=seen.owner if seen else None,
        mode=seen.mode if seen else None,
        wants=owners[file.owner],
    )


async def _owners(shell: Shell, names: set[str]) -> dict[str, int]:
    found = {ROOT: 0}
    for name in sorted(names - {ROOT}):
        found[name] = int(await _done(shell, "id", "-u", name))
    return found


async def _done(shell: Shell, *words: str) -> bytes:
    result = await shell.run(words, within=WITHIN_S)
    if result.status != 0:
        said = " ".join(result.errors.decode("utf-8", "replace").split())[:200]
        text = f"`{' '.join(words)}` ended with {result.status}: {said}"
        raise OperatorError(ErrorCode.SSH_FAILED, text)
    return result.output


async def look(
    server: ServerWanted,
    files: tuple[EntryFile, ...],
    open_shell: OpenShell,
    clock: Clock,
    ends: CertificateEnds,
) -> tuple[Check, ...]:
    """The checks of one server; all unknown where it cannot be reached."""
    about = f"management server {server.name}"
    try:
        async with open_shell(address_of(server)) as shell:
            owners = await _owners(shell, {file.owner for file in files})
            texts = {file.path: await _differs(shell, file, owners) for file in files}
            ahead = float(await _done(shell, "date", "+%s.%N")) - clock.wall()
            reached = await _reaches(shell, server, files[-1].path)
            good = await look_at_certificates(shell, server, about, ends, clock.wall())
    except (RackwrightError, ValueError) as error:
        text = f"could not be looked at: {error}"
        return (Check(name="entry", about=about, outcome=Outcome.UNKNOWN, text=text),)
    judge = _Judge(about)
    apart = f"{ahead:+.0f} s apart from ours" if abs(ahead) > CLOCKS_APART_S else ""
    return (
        judge("entry", _wrong(texts, within=EXTENSIONS), "is as this release has it"),
        judge("entry configuration", _wrong(texts, within=SETTINGS), "is as it should be"),
        judge("clock", apart, f"differs from ours by {abs(ahead):.0f} s"),
        judge("service reachable", reached, "the entry reaches the service from there"),
        *good,
    )


def _wrong(texts: Mapping[PurePosixPath, str], *, within: PurePosixPath) -> str:
    """Everything that differs below one folder."""
    return "; ".join(
        f"{path} {text}" for path, text in texts.items() if text and path.is_relative_to(within)
    )


@dataclass(frozen=True, slots=True)
class _Judge:
    about: str

    def __call__(self, name: str, wrong: str, well: str) -> Check:
        outcome = Outcome.BAD if wrong else Outcome.OK
        return Check(name=name, about=self.about, outcome=outcome, text=wrong or well)


async def _reaches(shell: Shell, server: ServerWanted, entry: PurePosixPath) -> str:
    """Ask as CloudStack's user for a prepare that must be refused; "" where the service did."""
    payload = PROBE_FOLDER / f"rackwright-verify-{secrets.token_hex(8)}.json"
    as_user = ["runuser", "-u", server.owner, "--"] if server.user == ROOT else []
    asked = [*as_user, str(entry), "prepare", str(payload), str(ASK_WITHIN_S)]
    await shell.put(payload, json.dumps(PROBE).encode(), mode=0o644, owner=0)
    try:
        result = await shell.run(asked, within=WITHIN_S)
    finally:
        await _done(shell, "rm", "-f", str(payload))
    said = " ".join((result.output + result.errors).decode("utf-8", "replace").split())[:200]
    if any(code in said for code in REACHED):
        return ""
    return f"the entry says: {said or 'nothing'}"
