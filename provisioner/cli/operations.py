"""`rackwright operation`: look, follow, end, begin again, let go on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import click

from provisioner.cli.changes import How, change, changes
from provisioner.cli.follow import OPEN
from provisioner.cli.follow import follow as follow_operation
from provisioner.cli.names import Identifier, Name
from provisioner.cli.options import option
from provisioner.cli.output import JSON, amount, moment, show_json, show_record, show_table
from provisioner.cli.session import FILE, Session, asks, with_query, write_bytes

ID: Final = click.argument("identifier", metavar="ID", type=Identifier())


@click.group()
def operation() -> None:
    """Operations: look, follow, cancel, retry, release."""


@operation.command("list")
@option("--open", "open_only", is_flag=True, help="Only those that have not ended.")
@option("--server", type=Name(), help="Only those of this server.")
@option("--most", type=int, default=100, show_default=True, help="At most so many.")
@asks
@click.pass_obj
def list_operations(
    session: Session,
    *,
    open_only: bool,
    server: str | None,
    most: int,
    output: str,
) -> None:
    """Operations, newest first."""
    wanted = {"server": server, "most": most, "open": "true" if open_only else None}
    found = session.service().ask("GET", with_query("/v1/operations", **wanted))
    if output == JSON:
        show_json(found)
        return
    rows = [
        (
            each["id"],
            each["kind"],
            each["server"],
            each["status"],
            moment(each["opened_at"]),
            moment(each["ended_at"]),
            _word(each),
        )
        for each in found["operations"]
    ]
    show_table(("ID", "KIND", "SERVER", "STATUS", "OPENED", "ENDED", "WHAT"), rows)


@operation.command()
@ID
@option("--bundle", type=FILE, help="Write everything that was kept into this tar.gz.")
@asks
@click.pass_obj
def show(session: Session, identifier: str, bundle: Path | None, output: str) -> None:
    """One operation with its stages."""
    service = session.service()
    found = service.ask("GET", _path(identifier))
    if bundle is not None:
        write_bytes(bundle, service.fetch(f"{_path(identifier)}/bundle"))
    if output == JSON:
        show_json(found)
        return
    _show(found["operation"])


@operation.command()
@ID
@asks
@click.pass_obj
def follow(session: Session, identifier: str, output: str) -> None:
    """Tell what happens until it has ended; the exit status is how it ended."""
    follow_operation(session.service(), quote(identifier, safe=""), output)


@operation.command()
@ID
@changes
@click.pass_obj
def cancel(session: Session, identifier: str, how: How) -> None:
    """End it before its next step; the server is quarantined where power was touched."""
    asked, target = f"cancel operation {identifier}", f"{_path(identifier)}/cancel"
    change(session, how, asked=asked, method="POST", target=target, wanted_end="cancelled")


@operation.command()
@ID
@changes
@click.pass_obj
def retry(session: Session, identifier: str, how: How) -> None:
    """Begin the same again for the same server, where its state allows it."""
    target = f"{_path(identifier)}/retry"
    change(session, how, asked=f"retry operation {identifier}", method="POST", target=target)


@operation.command()
@ID
@changes
@click.pass_obj
def release(session: Session, identifier: str, how: How) -> None:
    """Wipe now what waits for its turn, or was protected; its note says why it waits."""
    asked, target = f"release operation {identifier}", f"{_path(identifier)}/release"
    change(session, how, asked=asked, method="POST", target=target)


def _path(identifier: str) -> str:
    return f"/v1/operations/{quote(identifier, safe='')}"


def _word(each: Mapping[str, Any]) -> str:
    """What it does now, or why it ended as it did: what it did last is in its stages."""
    if each["code"]:
        return f"{each['code']}: {each['brief']}"
    if each["status"] != OPEN:
        return str(each["brief"])
    done, total = each["progress_bytes"]
    share = f" {amount(done)} of {amount(total)}" if total else ""
    return f"{each['note']}{share}".strip()


def _show(each: Mapping[str, Any]) -> None:
    show_record(
        {
            "id": each["id"],
            "kind": f"{each['kind']} ({each['steps_name']})",
            "server": each["server"],
            "asked by": each["who"],
            "status": each["status"],
            "opened": moment(each["opened_at"]),
            "ended": moment(each["ended_at"]),
            "what": _word(each),
        }
    )
    rows = [
        (
            stage["name"],
            moment(stage["began_at"]),
            moment(stage["ended_at"]),
            "" if stage["seconds"] is None else f"{stage['seconds']:.1f}",
            stage["beginnings"] if stage["beginnings"] > 1 else "",
        )
        for stage in each["stages"]
    ]
    show_table(("STAGE", "BEGAN", "ENDED", "SECONDS", "TIMES"), rows)
    for line in str(each["detail"]).splitlines():
        show_record({"detail": line})
