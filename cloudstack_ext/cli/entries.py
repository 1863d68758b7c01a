"""The entry on management servers: placed over SSH, looked at, or by hand."""

import asyncio
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

import click

from cloudstack_ext.cli.how import How
from cloudstack_ext.cli.work import RegistrationDoors
from cloudstack_ext.registration.entry_files import (
    CONFIGURATION,
    HTTPS_MODULE,
    EntryFile,
    by_hand,
    entry_files,
)
from cloudstack_ext.registration.install import Placed, install, look
from cloudstack_ext.registration.verify import Check
from cloudstack_ext.registration.wanted import ServerWanted, Wanted, parse_wanted
from provisioner.cli.output import JSON, printable, show_json
from provisioner.cli.record import Reached, write_record
from provisioner.cli.session import Session, read_text
from provisioner.errors import ErrorCode, InputError
from provisioner.named_file import read_named

FOLDER: Final = Path(__file__).parents[1] / "entry"
ENTRY: Final = "rackwright-entry"
PROGRAMS: Final = {"": FOLDER / ENTRY, HTTPS_MODULE: FOLDER / HTTPS_MODULE}


def install_entry(
    session: Session, doors: RegistrationDoors, file: Path, names: tuple[str, ...], how: How
) -> None:
    """Server by server; what was placed before one of them failed stays placed."""
    wanted = _wanted(file)

    async def work() -> list[Placed]:
        placed: list[Placed] = []
        for server in _chosen(wanted, names, file):
            files = files_of(wanted, server)
            placed += await install(server, files, doors.shell, dry_run=how.dry_run)
        return placed

    placed = asyncio.run(work())
    _tell(placed, how)
    if how.evidence is not None and not how.dry_run:
        tree = _plain(placed)
        reached = Reached(
            asked=f"install entry {file.name}",
            done={"placed": tree},
            checked=f"{len(placed)} files were read back",
            state={"files": tree},
            repeat=["cloudstack", "install-entry", str(file), "--dry-run", "--output", "json"],
        )
        write_record(how.evidence, session, reached)


def print_by_hand(file: Path, names: tuple[str, ...]) -> None:
    """For who has no SSH from here."""
    wanted = _wanted(file)
    for server in _chosen(wanted, names, file):
        files = files_of(wanted, server)
        click.echo(printable(f"# {server.name}: copy these files there, then as root:"))
        for line in by_hand(files, _sources(wanted, server, files)):
            click.echo(printable(line))


async def look_at_servers(
    wanted: Wanted, doors: RegistrationDoors
) -> Mapping[str, tuple[Check, ...]]:
    """The checks of each server that the file knows."""
    return {
        server.name: await look(
            server, files_of(wanted, server), doors.shell, doors.clock, doors.certificate_ends
        )
        for server in wanted.servers
    }


def files_of(wanted: Wanted, server: ServerWanted) -> tuple[EntryFile, ...]:
    """With their content, read here.

    Raises:
        InputError: FILE_UNREADABLE.
        OSError: One cannot be read.
    """
    programs = {name: read_named(path) for name, path in PROGRAMS.items()}
    private: dict[str, bytes] = {}
    if server.entry_files is not None:
        folder = server.entry_files
        private = {
            path.name: read_named(path) for path in sorted(folder.glob("*")) if path.is_file()
        }
        if CONFIGURATION not in private:
            text = f"{folder}: holds no {CONFIGURATION}; `rackwright init entry` makes it"
            raise InputError(ErrorCode.FILE_UNREADABLE, text)
    return entry_files(wanted, server, programs=programs, private=private)


def _wanted(file: Path) -> Wanted:
    return parse_wanted(read_text(file), source=str(file), folder=file.absolute().parent)


def _chosen(wanted: Wanted, names: tuple[str, ...], file: Path) -> tuple[ServerWanted, ...]:
    known = {server.name: server for server in wanted.servers}
    if not known:
        text = f"{file}: servers: missing; name the management servers, or use --manual by hand"
        raise InputError(ErrorCode.REGISTRATION_INVALID, text)
    unknown = [name for name in names if name not in known]
    if unknown:
        text = f"{unknown[0]} is none of the file's servers: {', '.join(known)}"
        raise InputError(ErrorCode.REGISTRATION_INVALID, text)
    return tuple(known[name] for name in names) if names else wanted.servers


def _sources(
    wanted: Wanted, server: ServerWanted, files: tuple[EntryFile, ...]
) -> dict[PurePosixPath, str]:
    """Where each lies here; the one line for the socket lies nowhere."""
    found = {}
    for file in files:
        if file.path.name == wanted.extension.path and file is files[-1]:
            found[file.path] = str(PROGRAMS[""])
        elif file.path.name == HTTPS_MODULE:
            found[file.path] = str(PROGRAMS[HTTPS_MODULE])
        elif server.entry_files is not None:
            found[file.path] = str(server.entry_files / file.path.name)
        else:
            found[file.path] = file.path.name
    return found


def _plain(placed: list[Placed]) -> list[dict[str, str]]:
    return [{"server": each.server, "path": str(each.path), "text": each.text} for each in placed]


def _tell(placed: list[Placed], how: How) -> None:
    if how.output == JSON:
        show_json({"version": 1, "dry_run": how.dry_run, "files": _plain(placed)})
        return
    for each in placed:
        done = "would be placed" if how.dry_run else "placed"
        what = f"{done}: it {each.text}" if each.text else "as it should be"
        click.echo(printable(f"{each.server} {each.path}: {what}"))
