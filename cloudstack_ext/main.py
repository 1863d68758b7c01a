"""Composition root: `rackwright` starts here; adapters are named here and in main_*.py only.

Imports that a command needs stand in its callback, so that `rackwright --help` is quick.
"""

import secrets
import time
from pathlib import Path
from typing import TYPE_CHECKING

from provisioner.cli.callbacks import (
    Callbacks,
    ImageCallbacks,
    Initialised,
    IssuedEntry,
    KeyCallbacks,
    Report,
    Say,
    ServiceCallbacks,
)
from provisioner.cli.group import make_cli

if TYPE_CHECKING:
    from provisioner.config import Role, Settings
    from provisioner.ports.catalogue import ImageRecord
    from provisioner.secret import Secret

FIRST_OPERATOR = "admin"
BUILDABLE = ("tiny", "debian-12")


def main() -> None:
    """`rackwright`."""
    make_cli(callbacks()).main()


def callbacks() -> Callbacks:
    """What the command line is given."""
    from cloudstack_ext.lab.commands import lab_callbacks
    from cloudstack_ext.main_cloudstack import cloudstack_commands

    return Callbacks(
        now=time.time,
        service=ServiceCallbacks(
            serve=_serve,
            initialise=_initialise,
            add_token=_add_token,
            issue_entry=_issue_entry,
            revoke_entry=_revoke_entry,
        ),
        images=ImageCallbacks(
            import_image=_import_image,
            remove_image=_remove_image,
            build_image=_build_image,
            buildable=BUILDABLE,
        ),
        keys=KeyCallbacks(read_public_key=_read_public_key, verify_signature=_verify_signature),
        lab=lab_callbacks(),
        more=cloudstack_commands(),
    )


def _serve(settings: "Settings") -> None:
    from cloudstack_ext.main_serve import run

    run(settings)


def _initialise(settings: "Settings") -> Initialised:
    """Keys, certificates and the first token; then the new database and its marker."""
    from cloudstack_ext.main_files import write_boot_files
    from cloudstack_ext.main_parts import first_database
    from provisioner.adapters.keys.initialise import initialise
    from provisioner.config import Role
    from provisioner.errors import ConflictError, ErrorCode
    from provisioner.service.tokens import RANDOM_BYTES, new_token

    files = settings.files()
    there = [each for each in (files.database, files.marker) if each.exists()]
    if there:
        text = f"{there[0]} is there: this installation has begun; `rackwright serve` starts it"
        raise ConflictError(ErrorCode.ALREADY_INITIALISED, text)
    token, line = new_token(FIRST_OPERATOR, Role.ADMIN, secrets.token_bytes(RANDOM_BYTES), "")
    sites = settings.extension.sites
    made = initialise(
        settings.service.state_dir,
        site=sites[0].name if sites else "rackwright",
        addresses=[settings.provisioning.address],
        others={files.tokens.name: line.encode()},
    )
    try:
        first_database(settings)
        write_boot_files(settings)
    except BaseException:  # all or nothing, so that it can be asked for again
        beside = files.database.parent.glob(f"{files.database.name}-*")
        for path in (*made, files.database, files.marker, *beside):
            path.unlink(missing_ok=True)
        raise
    return Initialised(files=(*made, files.database), token=token)


def _add_token(settings: "Settings", name: str, role: "Role") -> "Secret":
    from cloudstack_ext.main_admin import add_token

    return add_token(settings, name, role)


def _issue_entry(settings: "Settings", name: str, site: str, out: Path, days: int) -> "IssuedEntry":
    from cloudstack_ext.main_admin import issue_entry

    return issue_entry(settings, name, site, out, days)


def _revoke_entry(settings: "Settings", name: str, *, but_newest: bool) -> tuple[str, ...]:
    from cloudstack_ext.main_admin import revoke_entry

    return revoke_entry(settings, name, but_newest=but_newest)


def _import_image(settings: "Settings", source: Path, name: str, report: Report) -> "ImageRecord":
    import asyncio

    from provisioner.adapters.clock import SystemClock
    from provisioner.adapters.process import LocalProcesses
    from provisioner.image.import_image import Importer
    from provisioner.named_file import open_named
    from provisioner.units import ImageName

    importer = Importer(
        images=settings.provisioning.blobs_dir / "images",
        processes=LocalProcesses(),
        clock=SystemClock(),
    )
    with open_named(source) as file:
        return asyncio.run(importer.import_image(file, ImageName(name), report))


def _remove_image(settings: "Settings", folder: Path) -> None:
    """Only a folder of an image: what the service says of it is a path like any other."""
    import shutil

    from provisioner.errors import ErrorCode, InputError

    images = settings.provisioning.blobs_dir / "images"
    if folder.parent != images:
        text = f"{folder} lies not in {images}: delete it by hand"
        raise InputError(ErrorCode.FILE_UNREADABLE, text)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        text = f"{error.filename or folder}: {error.strerror}; the image is out of use, delete it"
        raise InputError(ErrorCode.FILE_UNREADABLE, text) from error


def _build_image(what: str, out: Path, cache: Path, say: Say) -> None:
    import asyncio

    from provisioner.adapters.process import LocalProcesses
    from provisioner.image.build_debian import build_debian
    from provisioner.image.build_tiny import build_tiny

    build = build_tiny if what == "tiny" else build_debian
    asyncio.run(build(LocalProcesses(), cache=cache, out=out, report=say))


def _read_public_key(pem: bytes) -> bytes:
    from provisioner.adapters.keys.evidence_key import read_public_key

    return read_public_key(pem)


def _verify_signature(public: bytes, message: bytes, signature: str) -> bool:
    from provisioner.adapters.keys.evidence_key import verify_signature

    return verify_signature(public, message, signature)


if __name__ == "__main__":
    main()
