"""`rackwright host`: GPU hosts, from a bundle alone or as the service knows them."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import click

from provisioner.cli.host_enrolment import access_of, access_options, cloud_of, controller_of
from provisioner.cli.host_views import show_facts, show_findings, show_identity, show_tree
from provisioner.cli.names import Name
from provisioner.cli.options import option
from provisioner.cli.output import JSON, moment, show_json, show_record, show_table
from provisioner.cli.record import Reached, evidence_option, record_reading, write_record
from provisioner.cli.session import FILE, Session, asks, with_query, write_bytes
from provisioner.named_file import read_named

if TYPE_CHECKING:
    from provisioner.hosts.facts import HostFacts

NAME: Final = click.argument("name", type=Name())
NAME_OR_BUNDLE: Final = click.argument("name", type=Name(), required=False)
BUNDLE: Final = option(
    "--bundle", type=FILE, help="A file made with `rackwright host bundle-command`."
)
DRY_RUN: Final = option("--dry-run", is_flag=True, help="Look, and remember nothing.")


@click.group()
def host() -> None:
    """GPU hosts: what they are, where their GPUs hang, what stands in the way."""


@host.command("bundle-command")
def bundle_command() -> None:
    """Print the command that gathers a host's facts: `... | ssh root@HOST sh > HOST.tar.gz`."""
    from provisioner.hosts.collect import collect_script

    click.echo(collect_script(), nl=False)


@host.command()
@NAME
@BUNDLE
@access_options
@option("--controller", metavar="HOST[:PORT]", help="Of the host: one machine has one role.")
@option("--cloudstack", metavar="SITE/UUID", help="Which host it is there.")
@DRY_RUN
@evidence_option
@asks
@click.pass_obj
def add(
    session: Session,
    /,
    name: str,
    bundle: Path | None,
    controller: str | None,
    cloudstack: str | None,
    *,
    dry_run: bool,
    evidence: Path | None,
    output: str,
    **access: Any,  # noqa: ANN401 click's
) -> None:
    """Look at a host over SSH, or in a bundle, and remember it."""
    body = {
        "name": name,
        "access": access_of(access),
        "controller": controller_of(controller),
        "cloudstack": cloud_of(cloudstack),
        "bundle": _encoded(bundle),
    }
    if body["access"] is None and bundle is None:
        raise click.UsageError("give --address, or --bundle")
    done = session.service().ask("POST", with_query("/v1/hosts", **_dry(dry_run)), body)
    _show_detail(done, output)
    if not dry_run:
        _record(evidence, session, name, done, word="add")


@host.command()
@NAME_OR_BUNDLE
@BUNDLE
@DRY_RUN
@evidence_option
@asks
@click.pass_obj
def inspect(
    session: Session,
    /,
    name: str | None,
    bundle: Path | None,
    *,
    dry_run: bool,
    evidence: Path | None,
    output: str,
) -> None:
    """Look at a host anew; with --bundle alone no service is asked."""
    if name is None:
        found = _local(bundle)
        _show_detail(found, output)
        _record_local(evidence, session, bundle, found)
        return
    target = with_query(_path(name, "inspect"), **_dry(dry_run))
    done = session.service().ask("POST", target, {"bundle": _encoded(bundle)})
    _show_detail(done, output)
    if not dry_run:
        _record(evidence, session, name, done, word="inspect")


@host.command("list")
@asks
@click.pass_obj
def list_hosts(session: Session, output: str) -> None:
    """All GPU hosts, by name."""
    found = session.service().ask("GET", "/v1/hosts")
    if output == JSON:
        show_json(found)
        return
    columns = ("NAME", "MACHINE", "GPUS", "FINDINGS", "TAKEN")
    rows = [
        (
            each["name"],
            each["product"],
            _counted(each["gpus"]),
            ", ".join(f"{count} {weight}" for weight, count in each["findings"].items()),
            moment(each["taken_at"]),
        )
        for each in found["hosts"]
    ]
    show_table(columns, rows)


@host.command()
@NAME_OR_BUNDLE
@BUNDLE
@asks
@click.pass_obj
def show(session: Session, name: str | None, bundle: Path | None, output: str) -> None:
    """What is known of a host."""
    _one_of(name, bundle)
    found = _local(bundle) if name is None else session.service().ask("GET", _path(name))
    _show_detail(found, output)


@host.command()
@NAME_OR_BUNDLE
@BUNDLE
@option("--all", "everything", is_flag=True, help="Every PCI function, not only GPUs.")
@asks
@click.pass_obj
def topology(
    session: Session, name: str | None, bundle: Path | None, *, everything: bool, output: str
) -> None:
    """Where the GPUs hang: NUMA node, root, bridges, functions."""
    _one_of(name, bundle)
    if name is None:
        from provisioner.hosts.topology import topology_of

        nodes = topology_of(facts_of(bundle), everything=everything)
        found = {"version": 1, "nodes": _plain(nodes)}
    else:
        wanted = {"all": "true"} if everything else {}
        found = session.service().ask("GET", with_query(_path(name, "topology"), **wanted))
    if output == JSON:
        show_json(found)
    else:
        show_tree(found["nodes"])


@host.command()
@NAME_OR_BUNDLE
@BUNDLE
@asks
@click.pass_obj
def findings(session: Session, name: str | None, bundle: Path | None, output: str) -> None:
    """What stands in the way, with evidence, meaning and remedy."""
    _one_of(name, bundle)
    if name is None:
        from provisioner.hosts.findings import findings_of

        found = {"version": 1, "findings": _plain(findings_of(facts_of(bundle)))}
    else:
        found = session.service().ask("GET", _path(name, "findings"))
    if output == JSON:
        show_json(found)
    else:
        show_findings(found["findings"])


@host.command("bundle")
@NAME
@click.argument("file", type=FILE)
@asks
@click.pass_obj
def fetch_bundle(session: Session, name: str, file: Path, output: str) -> None:
    """Write the texts that a host's facts are from into FILE."""
    content = session.service().fetch(_path(name, "bundle"))
    write_bytes(file, content)
    found = {"version": 1, "file": str(file), "bytes": len(content)}
    if output == JSON:
        show_json(found)
    else:
        show_record({"file": file, "bytes": len(content)})


def facts_of(path: Path | None) -> "HostFacts":
    """Read here, without a service.

    Raises:
        InputError: FILE_UNREADABLE, BUNDLE_INVALID.
    """
    from provisioner.hosts.bundle import read_bundle
    from provisioner.hosts.facts import Way
    from provisioner.hosts.reading import read_facts

    if path is None:
        raise click.UsageError("give a host's NAME, or --bundle FILE")
    return read_facts(read_bundle(read_named(path), source=str(path)), way=Way.BUNDLE)


def _local(bundle: Path | None) -> dict[str, Any]:
    return {"version": 1, "facts": _plain(facts_of(bundle))}


def _one_of(name: str | None, bundle: Path | None) -> None:
    if (name is None) == (bundle is None):
        raise click.UsageError("give a host's NAME, or --bundle FILE")


def _encoded(bundle: Path | None) -> str:
    return "" if bundle is None else base64.b64encode(read_named(bundle)).decode()


def _dry(dry_run: bool) -> dict[str, str]:  # noqa: FBT001 as click gives it
    return {"dry_run": "true"} if dry_run else {}


def _show_detail(found: Mapping[str, Any], output: str) -> None:
    if output == JSON:
        show_json(found)
        return
    if found.get("dry_run"):
        click.echo("only looked at, nothing is remembered")
    if "host" in found:
        show_identity(found["host"])
    show_facts(found["facts"])


def _record(
    evidence: Path | None, session: Session, name: str, done: Mapping[str, Any], *, word: str
) -> None:
    record_reading(
        evidence,
        session,
        _path(name),
        asked=f"{word} host {name}",
        done=done,
        checked=f"host {name} was read back",
        repeat=["host", "show", name],
    )


def _record_local(
    evidence: Path | None, session: Session, bundle: Path | None, found: Mapping[str, Any]
) -> None:
    """No service was asked, so what is reached is what the bundle says."""
    words = ["host", "inspect", "--bundle", str(bundle), "--output", "json"]
    reached = Reached(
        asked=f"inspect bundle {bundle}",
        done={"sha256": found["facts"]["origin"]["sha256"]},
        checked=f"{bundle} was read",
        state=found,
        repeat=words,
    )
    write_record(evidence, session, reached)


def _counted(names: list[str]) -> str:
    return ", ".join(f"{names.count(each)} x {each}" for each in dict.fromkeys(names))


def _path(name: str, word: str = "") -> str:
    return f"/v1/hosts/{quote(name, safe='')}" + (f"/{word}" if word else "")


def _plain(value: object) -> Any:  # noqa: ANN401 as wide as JSON is
    from provisioner.store.codec import plain

    return plain(value)
