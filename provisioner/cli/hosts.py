"""`rackwright host`: GPU hosts, from a bundle alone or as the service knows them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from provisioner.cli.host_views import show_facts, show_findings, show_tree
from provisioner.cli.options import option
from provisioner.cli.output import JSON, show_json
from provisioner.cli.session import FILE, output_option
from provisioner.named_file import read_named

if TYPE_CHECKING:
    from provisioner.hosts.facts import HostFacts

BUNDLE: Final = option(
    "--bundle", type=FILE, required=True, help="A file made with `rackwright host bundle-command`."
)


@click.group()
def host() -> None:
    """GPU hosts: what they are, where their GPUs hang, what stands in the way."""


@host.command("bundle-command")
def bundle_command() -> None:
    """Print the command that gathers a host's facts: `... | ssh root@HOST sh > HOST.tar.gz`."""
    from provisioner.hosts.collect import collect_script

    click.echo(collect_script(), nl=False)


@host.command()
@BUNDLE
@output_option
def inspect(bundle: Path, output: str) -> None:
    """What a bundle says of its host."""
    found = {"version": 1, "facts": _plain(facts_of(bundle))}
    if output == JSON:
        show_json(found)
    else:
        show_facts(found["facts"])


@host.command()
@BUNDLE
@option("--all", "everything", is_flag=True, help="Every PCI function, not only GPUs.")
@output_option
def topology(bundle: Path, *, everything: bool, output: str) -> None:
    """Where the GPUs hang: NUMA node, root, bridges, functions."""
    from provisioner.hosts.topology import topology_of

    nodes = _plain(topology_of(facts_of(bundle), everything=everything))
    if output == JSON:
        show_json({"version": 1, "nodes": nodes})
    else:
        show_tree(nodes)


@host.command()
@BUNDLE
@output_option
def findings(bundle: Path, output: str) -> None:
    """What stands in the way, with evidence, meaning and remedy."""
    from provisioner.hosts.findings import findings_of

    found = _plain(findings_of(facts_of(bundle)))
    if output == JSON:
        show_json({"version": 1, "findings": found})
    else:
        show_findings(found)


def facts_of(path: Path) -> "HostFacts":
    """Read here, without a service.

    Raises:
        InputError: FILE_UNREADABLE, BUNDLE_INVALID.
    """
    from provisioner.hosts.bundle import read_bundle
    from provisioner.hosts.facts import Way
    from provisioner.hosts.reading import read_facts

    return read_facts(read_bundle(read_named(path), source=str(path)), way=Way.BUNDLE)


def _plain(value: object) -> Any:  # noqa: ANN401 as wide as JSON is
    from provisioner.store.codec import plain

    return plain(value)
