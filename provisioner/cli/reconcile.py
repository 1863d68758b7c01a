"""`rackwright reconcile`: what differs between CloudStack and us, and what is done about it."""

from typing import Any
from urllib.parse import quote

import click

from provisioner.cli.changes import How, change, changes
from provisioner.cli.output import JSON, show_json, show_table
from provisioner.cli.session import Session, asks

COLUMNS = ("ID", "SITE", "WHAT", "INSTANCE", "SERVER", "THERE", "HERE", "CAUSE", "REMEDY")


@click.group()
def reconcile() -> None:
    """Differences between CloudStack and us."""


@reconcile.command("list")
@asks
@click.pass_obj
def list_differences(session: Session, output: str) -> None:
    """Each difference with its cause and remedy, as of each site's last look."""
    found = session.service().ask("GET", "/v1/differences")
    if output == JSON:
        show_json(found)
        return
    rows = [_row(site["site"], each) for site in found["sites"] for each in site["differences"]]
    show_table(COLUMNS, rows)
    for site in found["sites"]:
        click.echo(_asked(site), err=True)


@reconcile.command()
@click.argument("difference", nargs=-1, required=True)
@changes
@click.pass_obj
def apply(session: Session, difference: tuple[str, ...], how: How) -> None:
    """Do what each DIFFERENCE waits for, if it is still so: CloudStack is asked anew."""
    for identifier in difference:
        target = f"/v1/differences/{quote(identifier, safe='')}/apply"
        change(session, how, asked=f"apply difference {identifier}", method="POST", target=target)


def _row(site: str, each: dict[str, Any]) -> tuple[str, ...]:
    return (
        each["id"],
        site,
        each["kind"],
        each["name"],
        each["server"] or "",
        each["there"],
        each["here"],
        each["cause"],
        each["remedy"] or "by itself",
    )


def _asked(site: dict[str, Any]) -> str:
    ago = site["asked_s_ago"]
    asked = "not asked" if ago is None else f"asked {ago:.0f} s ago"
    return f"{site['site']}: {asked}" + (f"; {site['doubt']}" if site["doubt"] else "")
