"""`rackwright init`, `serve` and `config`: the service itself."""

from typing import Final

import click

from provisioner.cli.names import Name
from provisioner.cli.output import JSON, show_json
from provisioner.cli.session import Session, config_option, output_option

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
