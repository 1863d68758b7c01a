"""`rackwright server change`: correct what was said of a server when it was enrolled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from provisioner.cli.changes import How, change, changes
from provisioner.cli.enrolment import nic_of
from provisioner.cli.names import Name
from provisioner.cli.options import option
from provisioner.cli.session import FILE, Session, read_secret


@click.command("change")
@click.argument("name", type=Name())
@option("--address", help="Of its controller.")
@option("--port", type=int, help="Of its controller.")
@option("--user", help="Of its controller.")
@option("--password-file", type=FILE, help="Of mode 0600; its first line counts.")
@option("--ask-password", is_flag=True, help="Ask for the controller's new password.")
@option(
    "--certificate", metavar="SHA256", help="Of the controller, in hex: pinned in place of the old."
)
@option(
    "--nic",
    "nics",
    multiple=True,
    metavar="MAC,ROLE[+ROLE],PORT",
    help="All cards, in the order of ports.",
)
@changes
@click.pass_obj
def change_server(
    session: Session,
    /,
    name: str,
    how: How,
    **options: Any,  # noqa: ANN401 click's
) -> None:
    """Correct address, user, password, certificate or cards of a server.

    While no tenant has it: when it is ENROLLED, QUARANTINED, or AVAILABLE and in maintenance.
    Then it is proven to be the same machine; one that is another ends in quarantine.
    """
    body = _body(name, options)
    if not body:
        raise click.UsageError("say what is to change: --address, --user, --password-file ...")
    target = f"/v1/servers/{name}/change"
    change(session, how, asked=f"change server {name}", method="POST", target=target, body=body)


def _body(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
    given = {key: options[key] for key in ("address", "port", "user") if options[key] is not None}
    if options["certificate"] is not None:
        given["certificate_sha256"] = options["certificate"].replace(":", "").lower()
    if options["nics"]:
        given["nics"] = [nic_of(text) for text in options["nics"]]
    password = _password(name, options["password_file"], ask=options["ask_password"])
    return given if password is None else given | {"password": password}


def _password(name: str, file: Path | None, *, ask: bool) -> str | None:
    if file is not None and ask:
        raise click.UsageError("give either --password-file or --ask-password")
    if file is not None:
        return read_secret(file).reveal()
    if not ask:
        return None
    text = f"New password of {name}'s controller"
    return str(click.prompt(text, hide_input=True, err=True))
