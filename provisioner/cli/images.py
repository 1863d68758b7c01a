"""`rackwright image`: import, build, look."""

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from provisioner.cli.names import Name, shown
from provisioner.cli.options import option
from provisioner.cli.output import JSON, amount, moment, show_json, show_record, show_table
from provisioner.cli.progress import is_watched, reporting, unheard
from provisioner.cli.record import evidence_option, record_reading
from provisioner.cli.session import FILE, Session, asks, config_option, output_option
from provisioner.errors import ErrorCode, InputError, RackwrightError


@click.group()
def image() -> None:
    """Images: what servers are installed with."""


@image.command("list")
@asks
@click.pass_obj
def list_images(session: Session, output: str) -> None:
    """All imported images, by name."""
    found = session.service().ask("GET", "/v1/images")
    if output == JSON:
        show_json(found)
        return
    rows = [
        (
            each["name"],
            amount(each["image_bytes"]),
            amount(each["data_bytes"]),
            each["source_format"],
            moment(each["imported_at"]),
            each["root"][:16],
        )
        for each in found["images"]
    ]
    show_table(("NAME", "SIZE", "DATA", "FROM", "IMPORTED", "DIGEST"), rows)


@image.command()
@click.argument("name", type=Name())
@asks
@click.pass_obj
def show(session: Session, name: str, output: str) -> None:
    """One image."""
    found = session.service().ask("GET", _path(name))
    if output == JSON:
        show_json(found)
        return
    show_record(found["image"] | {"imported_at": moment(found["image"]["imported_at"])})


@image.command("import")
@click.argument("source", type=FILE)
@option("--name", type=Name(), required=True, help="What pools call it.")
@evidence_option
@asks
@click.pass_obj
def import_image(
    session: Session, source: Path, name: str, evidence: Path | None, output: str
) -> None:
    """Import SOURCE (raw, raw.gz, raw.xz, raw.zst or qcow2) under a name.

    It is converted on this machine into the folder that the blob server serves, then the
    service is told. A name is never given to other bytes.
    """
    service, images, settings = session.service(), session.callbacks.images, session.settings()
    with reporting(output) if is_watched() else nullcontext(unheard) as report:
        made = images.import_image(settings, source, name, report)
    try:
        done = service.ask("PUT", _path(name), _body(made))
    except RackwrightError as error:
        if error.code is ErrorCode.IMAGE_EXISTS:  # nor may they lie where that name's bytes belong
            images.remove_image(settings, made.folder)
        raise
    if output == JSON:
        show_json(done)
    else:
        click.echo(f"{made.name}: {amount(made.image_bytes)}, digest {made.root}")
    record_reading(
        evidence,
        session,
        _path(name),
        asked=f"import image {name}",
        done=done,
        checked=f"image {name} was read back",
        repeat=["image", "show", name],
    )


@image.command()
@click.argument("name", type=Name())
@evidence_option
@asks
@click.pass_obj
def remove(session: Session, name: str, evidence: Path | None, output: str) -> None:
    """Take an image out of use and delete its files.

    Refused while a pool or an operation uses it. Its name is never given to other bytes.
    """
    done = session.service().ask("DELETE", _path(name))
    session.callbacks.images.remove_image(session.settings(), Path(done["image"]["folder"]))
    if output == JSON:
        show_json(done)
    else:
        click.echo(f"{name}: removed")
    record_reading(
        evidence,
        session,
        "/v1/images",
        asked=f"remove image {name}",
        done=done,
        checked=f"image {name} is not listed any more",
        repeat=["image", "list"],
    )


@image.command()
@click.argument("what")
@option("--out", type=FILE, required=True, help="The raw image to make.")
@option("--cache", type=FILE, help="Keeps packages.  [default: ~/.cache/rackwright]")
@output_option
@config_option
@click.pass_obj
def build(session: Session, what: str, out: Path, cache: Path | None, output: str) -> None:
    """Build an image from Debian packages: WHAT is tiny or debian-12."""
    images = session.callbacks.images
    if what not in images.buildable:
        known = ", ".join(images.buildable)
        text = f"{shown(what)} cannot be built; known are {known}"
        raise InputError(ErrorCode.IMAGE_UNKNOWN, text)
    if not out.absolute().parent.is_dir():
        text = f"{out}: its folder is not there; make it first"
        raise InputError(ErrorCode.FILE_UNREADABLE, text)
    images.build_image(what, out, cache or default_cache(), _say)
    if output == JSON:
        show_json({"version": 1, "image": what, "file": str(out)})
        return
    click.echo(f"{out}: made; `rackwright image import {out} --name {what}` makes it usable")


def default_cache() -> Path:
    """The user's cache folder, ours in it."""
    import os

    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named else Path.home() / ".cache") / "rackwright"


def _say(line: str) -> None:
    click.echo(line, err=True)


def _path(name: str) -> str:
    return f"/v1/images/{quote(name, safe='')}"


def _body(made: Any) -> Mapping[str, Any]:  # noqa: ANN401 ports.ImageRecord, imported when used
    from dataclasses import asdict

    return {key: value for key, value in asdict(made).items() if key != "name"} | {
        "folder": str(made.folder)
    }
