"""`rackwright cloudstack conformance -- ENTRY…`: judges anybody's extension by its entry point."""

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from provisioner.cli.options import option
from provisioner.cli.output import JSON, printable, show_json, show_table
from provisioner.cli.session import output_option
from provisioner.errors import ErrorCode, InputError

if TYPE_CHECKING:
    from cloudstack_ext.conformance.model import Result
    from cloudstack_ext.conformance.stage import Wishes
    from provisioner.ports.clock import Clock

FAILED: Final = 1
"""Exit status where a check failed; 0 where none did."""
DETAIL = "KEY=VALUE"


def conformance_command(make_clock: "Callable[[], Clock]") -> click.Command:
    """The command.

    Args:
        make_clock: A real one: the entry point's processes take real time.
    """

    @click.command()
    @click.argument("entry", nargs=-1, required=True, type=click.UNPROCESSED)
    @option(
        "--instances-may-be-created",
        is_flag=True,
        help="Say that instances with new UUIDs may be created there, and deleted again.",
    )
    @option("--host-detail", multiple=True, metavar=DETAIL, help="External detail of the host.")
    @option(
        "--template-detail", multiple=True, metavar=DETAIL, help="External detail of the template."
    )
    @option(
        "--wait",
        type=click.IntRange(min=5),
        default=1800,
        show_default=True,
        help="CloudStack's `wait` in seconds: the longest that a create may take.",
    )
    @option(
        "--patience",
        type=click.FloatRange(min=0.1),
        default=60.0,
        show_default=True,
        help="Seconds until a state shows in status, or a machine is free again.",
    )
    @option(
        "--middle",
        type=click.FloatRange(min=0.05),
        default=1.0,
        show_default=True,
        help="Seconds from the begin of a create to its middle, where it is killed.",
    )
    @option("--only", default="", metavar="TEXT", help="Tests with that in their names alone.")
    @output_option
    def conformance(
        entry: tuple[str, ...],
        host_detail: tuple[str, ...],
        template_detail: tuple[str, ...],
        *,
        instances_may_be_created: bool,
        wait: int,
        patience: float,
        middle: float,
        only: str,
        output: str,
    ) -> int:
        """Judge the extension whose entry point is ENTRY…, as a management server would use it.

        It is called as CloudStack calls it: ENTRY… VERB PAYLOAD.json WAIT. Exit, output, time and
        later answers are judged, nothing else. At least two machines should be free. Ends with 1
        where a test failed.
        """
        from cloudstack_ext.conformance.stage import Wishes

        _refuse(entry, instances_may_be_created=instances_may_be_created)
        wishes = Wishes(
            host=_details(host_detail),
            template=_details(template_detail),
            wait_s=wait,
            patience_s=patience,
            kill_after_s=middle,
        )
        return _show(_judged(entry, make_clock(), wishes, only), output)

    return conformance


def _refuse(entry: Sequence[str], *, instances_may_be_created: bool) -> None:
    if not instances_may_be_created:
        text = "it creates instances and deletes them: say --instances-may-be-created"
        raise InputError(ErrorCode.USAGE, text)
    if shutil.which(entry[0]) is None:
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{entry[0]}: not there or not executable")


def _details(given: Sequence[str]) -> dict[str, str]:
    pairs = [each.partition("=") for each in given]
    for key, sign, _ in pairs:
        if not (key and sign):
            raise click.UsageError(f"a detail is {DETAIL}, not {printable(key)}")
    return {key: value for key, _, value in pairs}


def _judged(entry: Sequence[str], clock: "Clock", wishes: "Wishes", only: str) -> "list[Result]":
    import asyncio

    from cloudstack_ext.conformance.stage import make_stage
    from cloudstack_ext.conformance.suite import chosen, run

    checks = chosen(only)
    if not checks:
        raise click.UsageError(f"no test has {printable(only)} in its name")

    with tempfile.TemporaryDirectory(prefix="rackwright-conformance-") as folder:
        stage = make_stage(entry, Path(folder), clock, wishes)
        return asyncio.run(run(stage, _say, checks))


def _say(result: "Result") -> None:
    click.echo(f"{result.outcome:<10}  {result.name}", err=True)


def _show(results: "Sequence[Result]", output: str) -> int:
    from cloudstack_ext.conformance.model import Outcome
    from cloudstack_ext.conformance.suite import document

    count = {each: sum(result.outcome is each for result in results) for each in Outcome}
    if output == JSON:
        show_json(document(results))
    else:
        rows = [(r.outcome.upper(), r.name, ", ".join(r.pitfalls), r.detail) for r in results]
        show_table(("OUTCOME", "TEST", "PITFALLS", "SEEN"), rows)
        click.echo(", ".join(f"{number} {outcome}" for outcome, number in count.items()))
    return FAILED if count[Outcome.FAILED] else 0
