"""What all changing commands share: dry run, waiting, evidence, and how it is told."""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from provisioner.cli.follow import DONE, follow
from provisioner.cli.options import option
from provisioner.cli.output import JSON, printable, show_json, show_plan
from provisioner.cli.record import Reached, evidence_option, write_record
from provisioner.cli.session import Door, Session, asks, with_query
from provisioner.errors import OperatorError

QUARANTINE: Final = "quarantine"


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """The options of a change.

    Attributes:
        wait: Follow what was opened until it has ended.
        evidence: Folder for the unsigned record.
    """

    output: str
    dry_run: bool
    wait: bool
    evidence: Path | None


def changes(function: Callable[..., None]) -> Callable[..., None]:
    """Options of a command that touches hardware; it takes them as its argument `how`."""

    @functools.wraps(function)
    def gathered(
        *given: Any,  # noqa: ANN401 what click passes
        output: str,
        dry_run: bool,
        wait: bool,
        evidence: Path | None,
        **more: Any,  # noqa: ANN401
    ) -> None:
        how = How(output=output, dry_run=dry_run, wait=wait, evidence=evidence)
        function(*given, how=how, **more)

    wrapped: Callable[..., None] = evidence_option(asks(gathered))
    wrapped = option("--wait", is_flag=True, help="Follow it until it has ended.")(wrapped)
    help_text = "Show steps and calls; change nothing."
    return option("--dry-run", is_flag=True, help=help_text)(wrapped)


def change(
    session: Session,
    how: How,
    *,
    asked: str,
    method: str,
    target: str,
    body: object = None,
    wanted_end: str = DONE,
) -> None:
    """Ask for a change of a server, tell what became of it, and record it.

    Args:
        session: This call.
        how: Its options.
        asked: The request in one line, for the record.
        method: Of HTTP.
        target: Path of the route.
        body: What the route takes.
        wanted_end: The status in which a followed operation has ended well.
    """
    service = session.service()
    suffix = "?dry_run=true" if how.dry_run else ""
    done: Mapping[str, Any] = service.ask(method, target + suffix, body)
    _tell(done, how)
    operation = done["operation"]
    try:
        if how.wait and operation and not how.dry_run:
            _follow(service, done, how, wanted_end)
    finally:
        if how.evidence is not None and not how.dry_run:
            _record(session, how, asked, done)


def _follow(service: Door, done: Mapping[str, Any], how: How, wanted_end: str) -> None:
    """To its end; where it did not do what it was for, to that of the quarantine after it too.

    Whether the server is off is worse news than why it had to be switched off.
    """
    failure: OperatorError | None = None
    try:
        last = follow(service, done["operation"], how.output, wanted_end=wanted_end)
        if last["status"] == DONE:
            return
    except OperatorError as error:
        failure = error
    opened = with_query("/v1/operations", server=done["server"], open="true")
    for each in service.ask("GET", opened)["operations"]:
        if each["kind"] == QUARANTINE:
            follow(service, each["id"], how.output)
    if failure is not None:
        raise failure


def _tell(done: Mapping[str, Any], how: How) -> None:
    if how.output == JSON:
        if not (how.wait and done["operation"]):  # else the events are what is printed
            show_json(done)
        return
    click.echo(("would do: " if done["dry_run"] else "") + printable(done["text"]))
    if done["dry_run"]:
        show_plan(done)
    elif done["operation"]:
        click.echo(f"operation {printable(done['operation'])}")


def _record(session: Session, how: How, asked: str, done: Mapping[str, Any]) -> None:
    """Read afterwards what it became, also where the operation that was followed failed."""
    service, server = session.service(), done["server"]
    state = {"server": service.ask("GET", f"/v1/servers/{server}")["server"]}
    repeat = ["server", "show", server, "--output", "json"]
    if done["operation"]:
        shown = service.ask("GET", f"/v1/operations/{done['operation']}")
        state["operation"] = shown["operation"]
    read = state["server"]
    reached = Reached(
        asked=asked,
        done=_without_calls(done),
        checked=f"{server} is {read['state']}, power {read['power']['power']}",
        state=state,
        repeat=repeat,
    )
    write_record(how.evidence, session, reached)


def _without_calls(done: Mapping[str, Any]) -> dict[str, Any]:
    """Only a plan knows calls beforehand: none beside a step that is done would be untrue."""
    steps = [{key: step[key] for key in step if key != "calls"} for step in done["steps"]]
    return {**done, "steps": steps}
