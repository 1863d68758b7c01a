"""`rackwright pool`: which servers stand in for each other, and what may run on them."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from provisioner.cli.names import Name
from provisioner.cli.options import option
from provisioner.cli.output import JSON, show_json, show_record, show_table
from provisioner.cli.record import evidence_option, record_reading
from provisioner.cli.session import Session, asks


@click.group()
def pool() -> None:
    """Pools: servers that may stand in for each other, and their images."""


@pool.command("list")
@asks
@click.pass_obj
def list_pools(session: Session, output: str) -> None:
    """All pools, by name."""
    found = session.service().ask("GET", "/v1/pools")
    if output == JSON:
        show_json(found)
        return
    rows = [
        (each["name"], ", ".join(each["images"]), each["policy"]["wipe_class"])
        for each in found["pools"]
    ]
    show_table(("NAME", "IMAGES", "WIPE"), rows)


@pool.command()
@click.argument("name", type=Name())
@asks
@click.pass_obj
def show(session: Session, name: str, output: str) -> None:
    """One pool."""
    _show(session.service().ask("GET", _path(name)), output)


POLICY = ("wipe_methods", "wipe_class", "unerasable", "frozen", "at_deadline")


@pool.command()
@click.argument("name", type=Name())
@option(
    "--image",
    "images",
    multiple=True,
    metavar="NAME=IMAGE",
    help="What the payload calls it, and the imported image; once for each.",
)
@option("--min-cpu-threads", type=int, default=0)
@option("--min-memory-bytes", type=int, default=0)
@option("--min-gpus", type=int, default=0)
@option("--wipe-methods", type=int, default=1, show_default=True, help="Of each disk.")
@option("--wipe-class", default="clear", show_default=True, help="clear or purge.")
@option(
    "--unerasable",
    default="refuse",
    show_default=True,
    help="A writable medium without an erase method: refuse it, or list it in the evidence.",
)
@option(
    "--frozen",
    default="refuse",
    show_default=True,
    help="A disk whose strongest methods firmware has frozen: refuse it, or overwrite it.",
)
@option(
    "--at-deadline",
    default="fail",
    show_default=True,
    help="A create whose installation outlasts CloudStack's wait: fail (it is asked again), "
    "or installing (success: CloudStack shows it running while it is installed).",
)
@evidence_option
@asks
@click.pass_obj
def put(
    session: Session,
    /,
    name: str,
    images: tuple[str, ...],
    output: str,
    evidence: Path | None,
    **numbers: Any,  # noqa: ANN401 click's
) -> None:
    """Make a pool, or make it so: what is not said here is the default afterwards."""
    body = {
        "images": _map(images),
        "requirements": {
            key: numbers[key] for key in ("min_cpu_threads", "min_memory_bytes", "min_gpus")
        },
        "policy": {key: numbers[key] for key in POLICY},
    }
    done = session.service().ask("PUT", _path(name), body)
    _show(done, output)
    record_reading(
        evidence,
        session,
        _path(name),
        asked=f"put pool {name}",
        done=done,
        checked=f"pool {name} was read back",
        repeat=["pool", "show", name],
    )


def _show(found: dict[str, Any], output: str) -> None:
    if output == JSON:
        show_json(found)
        return
    each = found["pool"]
    show_record({"name": each["name"], **each["requirements"], **each["policy"]})
    show_table(("NAME IN THE PAYLOAD", "IMAGE"), list(each["images"].items()))


def _map(pairs: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key in found:
            raise click.UsageError(f"--image {pair}: NAME=IMAGE is expected, each NAME once")
        found[key] = value
    return found


def _path(name: str) -> str:
    return f"/v1/pools/{quote(name, safe='')}"
