"""`rackwright cloudstack plan | apply | verify | unregister | install-entry FILE`: words.

What they do stands in acts.py and is imported when one is called, so that `--help` is quick.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from provisioner.cli.options import option
from provisioner.cli.record import evidence_option
from provisioner.cli.session import FILE, Session, asks, output_option

if TYPE_CHECKING:
    from cloudstack_ext.cli.work import RegistrationDoors

Doors = Callable[[], "RegistrationDoors"]

key_option: Final = option(
    "--api-key-file",
    type=FILE,
    required=True,
    help="API key of an administrator, for this command alone: key = … and secret = … (mode 0600).",
)
dry_run_option: Final = option(
    "--dry-run", is_flag=True, help="Show steps and calls; change nothing."
)


def registration_commands(doors: Doors) -> tuple[click.Command, ...]:
    """All five."""
    return _plan(doors), _apply(doors), _verify(doors), _unregister(doors), _install_entry(doors)


def _plan(doors: Doors) -> click.Command:
    @click.command()
    @click.argument("file", type=FILE)
    @key_option
    @asks
    @click.pass_obj
    def plan(session: Session, file: Path, api_key_file: Path, output: str) -> int:
        """Show what would lead from what is there to what FILE wants; change nothing.

        Ends with 0 where nothing is to be done, with 2 where something is.
        """
        from cloudstack_ext.cli import acts

        return acts.plan(session, doors(), file, api_key_file, output)

    return plan


def _apply(doors: Doors) -> click.Command:
    @click.command()
    @click.argument("file", type=FILE)
    @key_option
    @option("--settings", is_flag=True, help="Change the settings too that FILE names.")
    @dry_run_option
    @evidence_option
    @asks
    @click.pass_obj
    def apply(
        session: Session,
        file: Path,
        api_key_file: Path,
        *,
        settings: bool,
        dry_run: bool,
        evidence: Path | None,
        output: str,
    ) -> None:
        """Make CloudStack as FILE wants it. Cut off at any moment, it goes on when called again."""
        from cloudstack_ext.cli import acts
        from cloudstack_ext.cli.how import How

        how = How(output=output, dry_run=dry_run, evidence=evidence)
        acts.apply(session, doors(), file, api_key_file, how, settings=settings)

    return apply


def _unregister(doors: Doors) -> click.Command:
    @click.command()
    @click.argument("file", type=FILE)
    @key_option
    @dry_run_option
    @evidence_option
    @asks
    @click.pass_obj
    def unregister(
        session: Session,
        file: Path,
        api_key_file: Path,
        *,
        dry_run: bool,
        evidence: Path | None,
        output: str,
    ) -> None:
        """Take everything back that is ours. Refused while there are instances; never forced."""
        from cloudstack_ext.cli import acts
        from cloudstack_ext.cli.how import How

        how = How(output=output, dry_run=dry_run, evidence=evidence)
        acts.unregister(session, doors(), file, api_key_file, how)

    return unregister


def _verify(doors: Doors) -> click.Command:
    @click.command()
    @click.argument("file", type=FILE)
    @key_option
    @asks
    @click.pass_obj
    def verify(session: Session, file: Path, api_key_file: Path, output: str) -> int:
        """Look at everything that a registration rests on.

        What cannot be looked at is UNKNOWN. Ends with 4 where something is bad or unknown.
        """
        from cloudstack_ext.cli import acts

        return acts.verify(session, doors(), file, api_key_file, output)

    return verify


def _install_entry(doors: Doors) -> click.Command:
    @click.command("install-entry")
    @click.argument("file", type=FILE)
    @option("--server", "names", multiple=True, help="Only this management server of FILE.")
    @option("--manual", is_flag=True, help="Print the commands for a root shell; connect nowhere.")
    @dry_run_option
    @evidence_option
    @output_option
    @click.pass_obj
    def install_entry(
        session: Session,
        file: Path,
        *,
        names: tuple[str, ...],
        manual: bool,
        dry_run: bool,
        evidence: Path | None,
        output: str,
    ) -> None:
        """Place the entry and its configuration on the management servers of FILE, over SSH.

        What is as it should be is left alone. Each file is there whole, or the old one stays.
        """
        from cloudstack_ext.cli import entries
        from cloudstack_ext.cli.how import How

        how = How(output=output, dry_run=dry_run, evidence=evidence)
        if manual:
            entries.print_by_hand(file, names)
        else:
            entries.install_entry(session, doors(), file, names, how)

    return install_entry
