"""`rackwright ramdisk`: build it from its lock, or make a newer lock."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from provisioner.cli.images import default_cache
from provisioner.cli.options import option
from provisioner.cli.output import JSON, amount, show_json, show_record
from provisioner.cli.session import (
    FILE,
    Session,
    config_option,
    output_option,
    read_text,
    write_bytes,
)
from provisioner.units import WallSeconds

if TYPE_CHECKING:
    from provisioner.ramdisk.lock import Lock


@click.group()
def ramdisk() -> None:
    """The ramdisk that inspects, installs and wipes servers."""


@ramdisk.command()
@option("--out", type=FILE, help="Folder to fill.  [default: blobs_dir/ramdisk]")
@option("--lock", "lock_file", type=FILE, help="Left out: the one that was shipped.")
@option("--cache", type=FILE, help="Keeps packages.  [default: ~/.cache/rackwright]")
@option("--add-package", "packages", multiple=True, help="Add a Debian package.")
@option(
    "--add-firmware", "firmware", type=FILE, multiple=True, help="Add a file, or a folder of them."
)
@option("--add-driver", "drivers", multiple=True, help="Add a module of the kernel.")
@output_option
@config_option
@click.pass_obj
def build(
    session: Session,
    *,
    out: Path | None,
    lock_file: Path | None,
    cache: Path | None,
    packages: tuple[str, ...],
    firmware: tuple[Path, ...],
    drivers: tuple[str, ...],
    output: str,
) -> None:
    """Build kernel and ramdisk: the same bytes from the same lock, wherever and whenever."""
    from dataclasses import asdict

    from provisioner.ramdisk.build import build as build_ramdisk

    made = build_ramdisk(
        _lock(lock_file),
        cache or default_cache(),
        out or session.settings().provisioning.blobs_dir / "ramdisk",
        extra_packages=packages,
        extra_firmware=firmware,
        extra_drivers=drivers,
    )
    if output == JSON:
        show_json({"version": 1, "ramdisk": asdict(made)})
        return
    show_record(
        {
            "digest": made.digest,
            "kernel": made.kernel_version,
            "size": amount(made.kernel_bytes + made.initrd_bytes),
            "added": ", ".join(made.added),
        }
    )


@ramdisk.command()
@option("--out", type=FILE, required=True, help="The lock to write.")
@option("--lock", "lock_file", type=FILE, help="To compare with; left out: the shipped one.")
@option("--add-package", "packages", multiple=True, help="Pin this Debian package too.")
@output_option
@click.pass_obj
def update(
    session: Session, out: Path, lock_file: Path | None, packages: tuple[str, ...], output: str
) -> None:
    """Write a lock with the versions that apt knows now; `apt-get update` comes before it."""
    from provisioner.ramdisk.lock import write_lock
    from provisioner.ramdisk.update import changes
    from provisioner.ramdisk.update import update as new_lock

    old = _lock(lock_file)
    made = new_lock(now=WallSeconds(session.callbacks.now()), extra_packages=packages)
    write_bytes(out, write_lock(made).encode())
    lines = list(changes(old, made))
    if output == JSON:
        show_json({"version": 1, "lock": str(out), "changes": lines})
        return
    for line in lines:
        click.echo(line)
    click.echo(f"{out}: written; `rackwright ramdisk build --lock {out}` builds it")


def _lock(path: Path | None) -> "Lock":
    from provisioner.ramdisk.build import shipped_lock
    from provisioner.ramdisk.lock import parse_lock

    return shipped_lock() if path is None else parse_lock(read_text(path))
