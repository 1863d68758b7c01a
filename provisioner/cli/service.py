"""`rackwright init`, `serve` and `config`: the service itself."""

from pathlib import Path
from typing import Final

import click

from provisioner.cli.callbacks import IssuedEntry
from provisioner.cli.names import Name
from provisioner.cli.options import option
from provisioner.cli.output import JSON, show_json
from provisioner.cli.session import FILE, Session, config_option, output_option

ROLES: Final = ("viewer", "operator", "admin")


@click.group(invoke_without_command=True)
@config_option
@output_option
@click.pass_context
def init(context: click.Context, output: str) -> None:
    """Make keys, certificates, marker and the first operator's token, once."""
    if context.invoked_subcommand is not None:
        return
    session: Session = context.obj
    made = session.callbacks.service.initialise(session.settings())
    if output == JSON:
        files = [str(path) for path in made.files]
        show_json({"version": 1, "files": files, "token": made.token.reveal()})
        return
    for path in made.files:
        click.echo(path)
    click.echo(f"the first operator's token, shown this once: {made.token.reveal()}")


@init.command()
@click.argument("name", type=Name())
@click.argument("role", type=click.Choice(ROLES))
@config_option
@output_option
@click.pass_obj
def token(session: Session, name: str, role: str, output: str) -> None:
    """Make a token for operator NAME in ROLE; it is shown this once."""
    from provisioner.config import Role

    made = session.callbacks.service.add_token(session.settings(), name, Role(role))
    if output == JSON:
        show_json({"version": 1, "name": name, "role": role, "token": made.reveal()})
    else:
        click.echo(made.reveal())


@init.command()
@click.argument("name", type=Name())
@option("--site", type=Name(), help="The CloudStack that it speaks for.")
@option("--out", type=FILE, help="Folder for entry.conf, ca.pem, entry.pem and entry.key.")
@option(
    "--days",
    type=click.IntRange(1, 3650),
    default=730,
    show_default=True,
    help="How long its certificate is good.",
)
@option("--revoke", is_flag=True, help="Instead: its certificates count no longer, at once.")
@option("--but-newest", is_flag=True, help="With --revoke: the one issued last stays good.")
@config_option
@output_option
@click.pass_obj
def entry(
    session: Session,
    *,
    name: str,
    site: str | None,
    out: Path | None,
    days: int,
    revoke: bool,
    but_newest: bool,
    output: str,
) -> None:
    """Make a certificate for the entry of management server NAME, or revoke those it has."""
    if revoke and site is None and out is None:
        _revoke(session, name, output, but_newest=but_newest)
    elif site is not None and out is not None and not revoke and not but_newest:
        issue = session.callbacks.service.issue_entry
        _show_issued(issue(session.settings(), name, site, out, days), name, site, output)
    else:
        raise click.UsageError("either --site SITE --out DIR, or --revoke [--but-newest]")


def _show_issued(made: IssuedEntry, name: str, site: str, output: str) -> None:
    if output == JSON:
        files = [str(path) for path in made.files]
        ends, serial = made.ends.isoformat(), made.serial
        shown = {"name": name, "site": site, "serial": serial, "ends": ends, "files": files}
        show_json({"version": 1, **shown, "restart": made.restart})
        return
    for path in made.files:
        click.echo(path)
    click.echo(f"certificate {made.serial} of entry {name}, site {site}: good to {made.ends}")
    if made.restart:
        click.echo("the listener has a new certificate too: restart the service")


def _revoke(session: Session, name: str, output: str, *, but_newest: bool) -> None:
    settings = session.settings()
    ended = session.callbacks.service.revoke_entry(settings, name, but_newest=but_newest)
    if output == JSON:
        show_json({"version": 1, "name": name, "revoked": list(ended)})
        return
    for serial in ended:
        click.echo(f"revoked {serial}")
    if not ended:
        click.echo("nothing to revoke")


@click.command()
@config_option
@click.pass_obj
def serve(session: Session) -> None:
    """Run the service until SIGTERM; its log goes to standard error, one JSON object a line."""
    session.callbacks.service.serve(session.settings())


@click.group()
def config() -> None:
    """Settings."""


@config.command()
@config_option
@output_option
@click.pass_obj
def check(session: Session, output: str) -> None:
    """Name everything that is wrong with the settings, at once."""
    notices = list(session.settings().notices())
    if output == JSON:
        show_json({"version": 1, "file": str(session.config), "good": True, "notices": notices})
        return
    for notice in notices:
        click.echo(f"notice: {notice}")
    click.echo(f"{session.config}: good")
