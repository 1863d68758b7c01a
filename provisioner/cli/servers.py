"""`rackwright server`: look, and ask for something."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import click

from provisioner.cli.changes import How, change, changes
from provisioner.cli.enrolment import enrol
from provisioner.cli.moments import SINCE
from provisioner.cli.names import Instance, Name
from provisioner.cli.options import option
from provisioner.cli.output import (
    JSON,
    amount,
    moment,
    show_json,
    show_record,
    show_table,
)
from provisioner.cli.server_change import change_server
from provisioner.cli.session import Session, asks, with_query

NAME: Final = click.argument("name", type=Name())
ERASE: Final = option(
    "--erase",
    multiple=True,
    metavar="SERIAL",
    help="This disk may be erased although it carries data; once for each.",
)
REASON: Final = option("--reason", required=True, help="Stays on record with your name.")


@click.group()
def server() -> None:
    """Servers: enrol, look, provide, maintain, quarantine, retire."""


server.add_command(enrol)
server.add_command(change_server)


@server.command("list")
@option("--pool", type=Name(), help="Only servers of this pool.")
@option("--state", help="Only servers in this state.")
@asks
@click.pass_obj
def list_servers(session: Session, pool: str | None, state: str | None, output: str) -> None:
    """All servers, by name."""
    target = with_query("/v1/servers", pool=pool or None, state=state.upper() if state else None)
    found = session.service().ask("GET", target)
    if output == JSON:
        show_json(found)
        return
    columns = ("NAME", "POOL", "STATE", "POWER", "READ", "NOTES")
    rows = [
        (
            each["name"],
            each["pool"],
            each["state"],
            each["power"]["power"],
            moment(each["power"]["at"]),
            _notes(each),
        )
        for each in found["servers"]
    ]
    show_table(columns, rows)


@server.command()
@NAME
@asks
@click.pass_obj
def show(session: Session, name: str, output: str) -> None:
    """All that is remembered of one server."""
    found = session.service().ask("GET", _path(name))
    if output == JSON:
        show_json(found)
        return
    record = found["server"]
    controller = record["controller"]
    address = f"{controller['protocol']} {controller['host']}:{controller['port']}"
    show_record(
        {
            "name": record["name"],
            "pool": record["pool"],
            "state": record["state"],
            "power": f"{record['power']['power']}, read {moment(record['power']['at'])}",
            "notes": _notes(record),
            "firmware": record["firmware"],
            "controller": f"{address}, driver {record['driver'] or 'not chosen yet'}",
            "new baselines": "; ".join(each["reason"] for each in record["rebaselines"]),
            "identity": (record["identity"] or {}).get("system_uuid"),
            "mains return": record["restore_policy"],
            "console": record["console"],
            "kernel arguments": record["kernel_arguments"],
        }
    )
    show_table(
        ("MAC", "ROLES", "PORT"),
        [(nic["mac"], ", ".join(nic["roles"]), nic["port"]) for nic in record["nics"]],
    )
    if record["baseline"]:
        _show_disks(record["baseline"])


@server.command()
@NAME
@changes
@click.pass_obj
def verify(session: Session, name: str, how: How) -> None:
    """Speak to the controller again; its identity is pinned, then the server is inspected."""
    _act(session, how, name, "verify")


@server.command()
@NAME
@changes
@click.pass_obj
def inspect(session: Session, name: str, how: How) -> None:
    """Boot the agent and store what it finds as the baseline."""
    _act(session, how, name, "inspect")


@server.command()
@NAME
@ERASE
@changes
@click.pass_obj
def provide(session: Session, name: str, erase: tuple[str, ...], how: How) -> None:
    """Wipe a server and offer it."""
    _act(session, how, name, "provide", {"erase": list(erase)})


@server.command()
@NAME
@option("--instance", type=Instance(), required=True, metavar="UUID", help="In CloudStack.")
@option("--site", type=Name(), required=True, help="Which CloudStack, as the service knows it.")
@changes
@click.pass_obj
def adopt(session: Session, name: str, instance: str, site: str, how: How) -> None:
    """Give a server that runs to an instance of CloudStack, as it is.

    The server was found switched on when it was enrolled; the instance was deployed with
    startvm=false, and its first start is a start. Neither power nor disk nor port is touched.
    """
    _act(session, how, name, "adopt", {"site": site, "instance": instance.lower()})


@server.command()
@NAME
@REASON
@ERASE
@changes
@click.pass_obj
def rebaseline(session: Session, name: str, reason: str, erase: tuple[str, ...], how: How) -> None:
    """Take a new baseline of a quarantined server that was repaired, wipe it and offer it.

    System uuid, serial and cards must be those of before; the evidence of the wipe names the
    old and the new baseline, the reason, and disks that went away un-wiped.
    """
    _act(session, how, name, "rebaseline", {"reason": reason, "erase": list(erase)})


@server.command()
@NAME
@option("--reason", help="Stays on record with your name.")
@option("--end", is_flag=True, help="Hand it out again.")
@changes
@click.pass_obj
def maintenance(session: Session, name: str, *, reason: str | None, end: bool, how: How) -> None:
    """Do not hand a server out; with --end, hand it out again."""
    if end == (reason is not None):
        raise click.UsageError("give either --reason or --end")
    if end:
        asked = f"end the maintenance of server {name}"
        change(session, how, asked=asked, method="DELETE", target=_path(name, "maintenance"))
    else:
        _act(session, how, name, "maintenance", {"reason": reason})


@server.command()
@NAME
@REASON
@changes
@click.pass_obj
def quarantine(session: Session, name: str, reason: str, how: How) -> None:
    """Off, its ports shut in, until a person has looked at it."""
    _act(session, how, name, "quarantine", {"reason": reason})


@server.command()
@NAME
@REASON
@changes
@click.pass_obj
def retire(session: Session, name: str, reason: str, how: How) -> None:
    """Out of service for good; its history stays."""
    _act(session, how, name, "retire", {"reason": reason})


@server.command()
@NAME
@SINCE
@asks
@click.pass_obj
def calls(session: Session, name: str, since: float, output: str) -> None:
    """What was said to its controller, ports and boot services, oldest first."""
    target = with_query("/v1/calls", server=name, since=since)
    found = session.service().ask("GET", target)
    if output == JSON:
        show_json(found)
        return
    rows = [
        (moment(each["at"]), each["door"], each["text"], each["outcome"]) for each in found["calls"]
    ]
    show_table(("AT", "DOOR", "CALL", "OUTCOME"), rows)


def _act(session: Session, how: How, name: str, word: str, body: object = None) -> None:
    target = _path(name, word)
    change(session, how, asked=f"{word} server {name}", method="POST", target=target, body=body)


def _path(name: str, word: str = "") -> str:
    return f"/v1/servers/{quote(name, safe='')}" + (f"/{word}" if word else "")


def _notes(each: Mapping[str, Any]) -> str:
    notes = [str(note) for note in each["health"]]
    if each["dirty"]:
        notes.append("dirty")
    if each["maintenance"]:
        notes.append(f"maintenance: {each['maintenance']['reason']}")
    if each["reason"]:
        notes.append(each["reason"])
    return "; ".join(notes)


def _show_disks(baseline: Mapping[str, Any]) -> None:
    columns = ("DISK", "SERIAL", "MODEL", "SIZE", "TRANSPORT", "DATA")
    rows = [
        (
            disk["name"],
            disk["serial"],
            disk["model"],
            amount(disk["bytes"]),
            disk["transport"],
            "partition table" if disk["has_partition_table"] else "",
        )
        for disk in baseline["disks"]
    ]
    show_table(columns, rows)
