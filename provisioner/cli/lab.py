"""`rackwright lab`: a virtual rack of real parts on this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from provisioner.cli.callbacks import ApiServerCallbacks, LabCallbacks
from provisioner.cli.options import option
from provisioner.cli.output import JSON, amount, show_json, show_record, show_table
from provisioner.cli.session import FILE, Session, output_option
from provisioner.errors import ErrorCode, OperatorError


@click.group()
def lab() -> None:
    """A virtual rack: servers, controllers, networks and the service, for trying and testing."""


@lab.command()
@output_option
@click.pass_obj
def up(session: Session, output: str) -> None:
    """Start it, or what of it is not running; it stays."""
    found = _lab(session)
    found.up(_say)
    if output == JSON:
        show_json(found.status())


@lab.command()
@output_option
@click.pass_obj
def down(session: Session, output: str) -> None:
    """End all of it; nothing stays running."""
    _lab(session).down(_say)
    if output == JSON:
        show_json({"version": 1, "running": False})


@lab.command()
@output_option
@click.pass_obj
def status(session: Session, output: str) -> None:
    """What runs, and where everything is."""
    found = _lab(session).status()
    if output == JSON:
        show_json(found)
    else:
        _show(found)


@lab.command()
@click.argument("verb")
@click.argument("instance")
@option("--image", help="Its name in the pool's map; else the recordings' own.")
@option("--ssh-key", type=FILE, help="Public key for the instance's user.")
@option("--user-data", type=FILE, help="For cloud-init.")
@click.pass_obj
def payload(
    session: Session,
    verb: str,
    instance: str,
    *,
    image: str | None,
    ssh_key: Path | None,
    user_data: Path | None,
) -> None:
    """Print the payload that CloudStack would send with VERB for INSTANCE."""
    click.echo(_lab(session).payload(verb, instance, image, ssh_key, user_data))


@lab.group()
def cloudstack() -> None:
    """An API server that behaves as CloudStack's, for trying a registration."""


@cloudstack.command("up")
@option(
    "--fail-call", type=click.IntRange(min=1), help="Which call gets no answer, counted from 1."
)
@option(
    "--when",
    type=click.Choice(["before", "after"]),
    default="before",
    help="Before or after it is done.",
)
@output_option
@click.pass_obj
def cloudstack_up(session: Session, fail_call: int | None, when: str, output: str) -> None:
    """Start it; it stays, as a process of its own, and forgets all at `down`."""
    found = _api_server(session).up(fail_call, when)
    if output == JSON:
        show_json(found)
    else:
        show_record(found)


@cloudstack.command("down")
@output_option
@click.pass_obj
def cloudstack_down(session: Session, output: str) -> None:
    """End it."""
    _api_server(session).down()
    if output == JSON:
        show_json({"version": 1, "running": False})


@cloudstack.command("status")
@output_option
@click.pass_obj
def cloudstack_status(session: Session, output: str) -> None:
    """Whether it runs, and where."""
    found = _api_server(session).status()
    if output == JSON:
        show_json(found)
    else:
        show_record(found)


def _api_server(session: Session) -> ApiServerCallbacks:
    found = _lab(session).api_server
    if found is None:
        raise OperatorError(ErrorCode.LAB, "this installation has no API server to try")
    return found


def _lab(session: Session) -> LabCallbacks:
    found = session.callbacks.lab
    if found is None:
        raise OperatorError(ErrorCode.LAB, "this installation has no virtual rack")
    return found


def _show(found: Mapping[str, Any]) -> None:
    service = found["service"] or {}
    show_record(
        {
            "namespace": found["namespace"],
            "service": f"pid {service['pid']}" if service.get("pid") else "not running",
            "operators": service.get("sockets", {}).get("operators"),
            "provisioning": service.get("urls", {}).get("provisioning"),
            "entry": " ".join(found["entry"] or ()),
        }
    )
    rows = [
        (
            server["name"],
            ", ".join(server["macs"]),
            f"{server['bmc']['protocol']} {server['bmc']['address']}:{server['bmc']['port']}",
            ", ".join(amount(disk["size"]) for disk in server["disks"]),
        )
        for server in found["servers"]
    ]
    show_table(("SERVER", "MACS", "CONTROLLER", "DISKS"), rows)


def _say(line: str) -> None:
    click.echo(line, err=True)
