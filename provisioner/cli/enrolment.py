"""`rackwright server enrol`: from a manifest, or from options; passwords from files or asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from provisioner.cli.changes import How, change, changes
from provisioner.cli.options import option
from provisioner.cli.session import FILE, Session, read_secret, read_text
from provisioner.errors import RackwrightError

if TYPE_CHECKING:
    from provisioner.secret import Secret
    from provisioner.servers.manifest import Manifest, ServerEntry

NIC_PARTS: Final = 3
WHOLE: Final = frozenset({"min_bytes", "max_bytes"})
YES_NO: Final = frozenset({"rotational", "smallest_nvme"})
CONTROLLER: Final = ("protocol", "address", "port", "user", "password_file", "system")
OWN: Final = ("name", "pool", "firmware", "kernel_arguments", "console")


@click.command()
@click.argument("manifest", type=FILE, required=False)
@option("--name", help="Of one server, instead of a manifest.")
@option("--pool", help="Servers of a pool may stand in for each other.")
@option("--protocol", help="Of its controller: redfish or ipmi.")
@option("--address", help="Of its controller.")
@option("--port", type=int, help="Of its controller, where not the protocol's own.")
@option("--user", help="Of its controller.")
@option("--password-file", help="Of mode 0600; its first line counts. Left out: asked for.")
@option("--system", help="Where the controller has several systems.")
@option("--firmware", help="bios or uefi.")
@option(
    "--nic", "nics", multiple=True, metavar="MAC,ROLE[+ROLE],PORT", help="In the order of ports."
)
@option("--root-disk", multiple=True, metavar="PROPERTY=VALUE", help="Which disk it is.")
@option("--kernel-arguments", help="For the ramdisk.")
@option("--console", help="Of the ramdisk: ttyS1,115200n8.")
@changes
@click.pass_obj
def enrol(
    session: Session,
    /,
    manifest: Path | None,
    how: How,
    **options: Any,  # noqa: ANN401 click's
) -> None:
    """Enrol the servers of a MANIFEST (docs/examples/servers.yaml), or one from options."""
    found = _manifest(manifest, options)
    folder = manifest.parent if manifest else Path()
    # every password before the first server: nobody waits at a prompt between two of them
    wanted = [(entry, _password(entry, folder)) for entry in found.servers]
    failed: list[RackwrightError] = []
    for entry, password in wanted:
        try:
            _enrol(session, how, entry, password)
        except RackwrightError as error:
            if len(wanted) == 1:
                raise
            click.echo(f"{entry.name}: {error}", err=True)
            failed.append(error)
    if failed:
        last, count = failed[-1], f"{len(failed)} of {len(wanted)}"
        raise type(last)(last.code, f"{count} servers were not enrolled; the last: {last.brief}")


def _enrol(session: Session, how: How, entry: "ServerEntry", password: "Secret") -> None:
    body = {"server": entry.without_password_file().to_json(), "password": password.reveal()}
    asked = f"enrol server {entry.name}"
    change(session, how, asked=asked, method="POST", target="/v1/servers", body=body)


def _manifest(path: Path | None, options: Mapping[str, Any]) -> "Manifest":
    from provisioner.servers.manifest import manifest_of, parse_manifest

    given = {key: value for key, value in options.items() if value not in {None, ()}}
    if path is not None:
        if given:
            raise click.UsageError("give a manifest or options, not both")
        return parse_manifest(read_text(path), source=str(path))
    if not given:
        raise click.UsageError("give a manifest, or --name and the other options of one server")
    return manifest_of({"version": 1, "servers": [_tree(given)]}, source="options")


def _tree(given: Mapping[str, Any]) -> dict[str, Any]:
    """One server as the manifest has it; what is missing or wrong is found there."""
    tree = {key: given[key] for key in OWN if key in given}
    tree["controller"] = {key: given[key] for key in CONTROLLER if key in given}
    tree["nics"] = [nic_of(text) for text in given.get("nics", ())]
    tree["root_disk"] = _properties(given.get("root_disk", ()))
    return tree


def nic_of(text: str) -> dict[str, Any]:
    """One card as the manifest has it; what is missing or wrong is found there."""
    parts = text.split(",", NIC_PARTS - 1)
    if len(parts) != NIC_PARTS:
        raise click.UsageError(f"--nic {text}: MAC,ROLE[+ROLE],PORT is expected")
    return {"mac": parts[0], "roles": parts[1].split("+"), "port": parts[2]}


def _properties(pairs: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--root-disk {pair}: PROPERTY=VALUE is expected")
        if key in WHOLE and value.isdecimal():
            found[key] = int(value)
        elif key in YES_NO and value in {"true", "false"}:
            found[key] = value == "true"
        else:
            found[key] = value
    return found


def _password(entry: "ServerEntry", folder: Path) -> "Secret":
    from provisioner.secret import Secret

    named = entry.controller.password_file
    if named is not None:
        return read_secret(folder / named)
    return Secret(click.prompt(f"Password of {entry.name}'s controller", hide_input=True, err=True))
