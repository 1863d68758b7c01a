"""`rackwright audit`: who did what."""

import click

from provisioner.cli.moments import SINCE
from provisioner.cli.names import Name
from provisioner.cli.options import option
from provisioner.cli.output import JSON, moment, show_json, show_table
from provisioner.cli.session import Session, asks, with_query


@click.group()
def audit() -> None:
    """Audit: who did what, operators and management servers."""


@audit.command("list")
@option(
    "--server", type=Name(), help="Only acts on this server, its operations, and of who had it."
)
@SINCE
@option("--most", type=int, default=100, show_default=True, help="At most so many.")
@asks
@click.pass_obj
def list_acts(
    session: Session, *, server: str | None, since: float, most: int, output: str
) -> None:
    """Who did what, newest first; `status` of CloudStack is not in it."""
    target = with_query("/v1/audit", server=server, since=since, most=most)
    found = session.service().ask("GET", target)
    if output == JSON:
        show_json(found)
        return
    rows = [
        (moment(each["at"]), each["who"], each["act"], each["subject"], each["detail"])
        for each in found["acts"]
    ]
    show_table(("AT", "WHO", "ACT", "ON", "DETAIL"), rows)
