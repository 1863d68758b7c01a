"""`rackwright cloudstack service-key`: by which key the service asks about its instances."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import click

from provisioner.cli.options import option
from provisioner.cli.output import JSON, show_json, show_record
from provisioner.cli.record import evidence_option, record_reading
from provisioner.cli.session import FILE, Session, asks

if TYPE_CHECKING:
    from cloudstack_ext.cli.work import RegistrationDoors
    from cloudstack_ext.registration.wanted import Wanted

Doors = Callable[[], "RegistrationDoors"]


def service_key_command(doors: Doors) -> click.Command:
    """The command."""

    @click.command("service-key")
    @click.argument("file", type=FILE)
    @option(
        "--api-key-file",
        type=FILE,
        help="The key to ask by from now on: key = … and secret = … (mode 0600).",
    )
    @option("--remove", is_flag=True, help="Ask no more: instances are taken at their payload.")
    @evidence_option
    @asks
    @click.pass_obj
    def service_key(
        session: Session,
        file: Path,
        api_key_file: Path | None,
        *,
        remove: bool,
        evidence: Path | None,
        output: str,
    ) -> None:
        """Show, change or remove the key by which the service asks FILE's site.

        A new key is tried before it is kept, and is kept encrypted. It needs a role of type Admin
        with the rules that are named where one is missing, and no other.
        """
        from cloudstack_ext.registration.wanted import parse_wanted
        from provisioner.cli.session import read_text

        if remove and api_key_file is not None:
            raise click.UsageError("--remove and --api-key-file exclude each other")
        wanted = parse_wanted(read_text(file), source=str(file), folder=file.absolute().parent)
        path = f"/v1/sites/{quote(wanted.site, safe='')}/key"
        method, body = ("GET", None) if not remove else ("DELETE", None)
        if api_key_file is not None:
            method, body = "PUT", _tried(doors(), wanted, api_key_file)
        done = session.service().ask(method, path, body)
        if output == JSON:
            show_json(done)
        else:
            show_record({key: done[key] or "" for key in ("site", "endpoint", "key")})
        record_reading(
            evidence if method != "GET" else None,
            session,
            path,
            asked=f"{'remove' if remove else 'put'} service key of {wanted.site}",
            done=done,
            checked="what the service remembers was read back",
            repeat=["cloudstack", "service-key", str(file)],
        )

    return service_key


def _tried(doors: "RegistrationDoors", wanted: "Wanted", key_file: Path) -> dict[str, Any]:
    """The body that keeps a key: it was good a moment ago, and may call what it must."""
    from cloudstack_ext.cli.key_file import read_api_key
    from cloudstack_ext.cli.plan_view import SERVICE_RULES
    from cloudstack_ext.registration.reading import refuse_missing
    from provisioner.cli.session import read_text

    key = read_api_key(key_file)
    client = doors.connect(wanted, key, doors.clock)
    try:
        answer = asyncio.run(client.call("listApis"))
    finally:
        client.close()
    allowed = frozenset(str(row["name"]) for row in answer.get("api", ()))
    refuse_missing(SERVICE_RULES, allowed)
    more = allowed - set(SERVICE_RULES)
    if more:
        text = f"notice: this key may call {len(more)} more commands than the service does"
        click.echo(f"{text}; let its role's last rule deny *", err=True)
    return {
        "endpoint": wanted.endpoint,
        "key": key.key,
        "secret": key.secret.reveal(),
        "ca": read_text(wanted.ca) if wanted.ca else "",
    }
