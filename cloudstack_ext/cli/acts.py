"""What the commands of a registration do, and how it is told."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

import click

from cloudstack_ext.cli import plan_view
from cloudstack_ext.cli.entries import look_at_servers
from cloudstack_ext.cli.how import How
from cloudstack_ext.cli.work import RegistrationDoors, Work, run
from cloudstack_ext.registration import verify as checks_of
from cloudstack_ext.registration.apply import apply as walk
from cloudstack_ext.registration.held import HeldApi
from cloudstack_ext.registration.model import Plan
from cloudstack_ext.registration.reading import refuse_missing
from cloudstack_ext.registration.removal import make_removal
from cloudstack_ext.registration.setting_changes import (
    CHANGED_BY,
    SettingChange,
    change_settings,
    setting_changes,
)
from cloudstack_ext.registration.survey import Survey
from cloudstack_ext.registration.verify import Check, Outcome, Seen
from provisioner.cli.output import JSON, printable, show_json, show_table
from provisioner.cli.record import Reached, write_record
from provisioner.cli.session import Session
from provisioner.errors import ConflictError, ErrorCode, Kind, OperatorError
from provisioner.store.codec import plain

LIST_SERVERS: Final = "listManagementServers"
CHANGES: Final = 2
"""A plan's exit status where something is to be done; 0 where nothing is."""


def plan(
    session: Session, doors: RegistrationDoors, file: Path, key_file: Path, output: str
) -> int:
    """Show it; the command's exit status."""

    async def look(work: Work) -> int:
        seen = await work.look()
        _show(work, seen, output, with_calls=False)
        _refuse(seen.plan)
        seen.refuse_missing_rights()
        return CHANGES if seen.plan.steps else 0

    return run(session, doors, file, key_file, look)


def apply(
    session: Session,
    doors: RegistrationDoors,
    file: Path,
    key_file: Path,
    how: How,
    *,
    settings: bool,
) -> None:
    """Walk the plan, look again, and say what is left."""
    way = _Way(word="register", plan_of=lambda seen: seen.plan, settings=settings)
    run(session, doors, file, key_file, partial(_walk, session, file, how, way))


def unregister(
    session: Session, doors: RegistrationDoors, file: Path, key_file: Path, how: How
) -> None:
    """Walk the way back, look again, and say what is left."""
    way = _Way(word="unregister", plan_of=_removal)
    # pools that are gone must not keep it there
    run(session, doors, file, key_file, partial(_walk, session, file, how, way), known_pools=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """One of the two ways: to what the file wants, or back.

    Attributes:
        word: For the record.
        settings: Those of the file are changed too.
    """

    word: str
    plan_of: Callable[[Survey], Plan]
    settings: bool = False

    async def look(self, work: Work) -> Survey:
        seen = await work.look()
        return seen.with_plan(self.plan_of(seen))


async def _walk(session: Session, file: Path, how: How, way: _Way, work: Work) -> None:
    asked = printable(f"{way.word} {file.name}")
    if how.dry_run:
        await _ready(work, way, shown=how.output)
        return
    async with work.memory.turn(asked):
        seen, changes = await _ready(work, way)
        await walk(seen, work.client, work.memory, work.clock, _say)
        await change_settings(HeldApi(work.client, work.memory), changes, _say)
        after = await way.look(work)
    _tell_done(seen.plan, after.plan, how.output, changes)
    _record(session, how, asked, done=seen.plan, after=after, file=file)
    _settled(after.plan)


async def _ready(
    work: Work, way: _Way, *, shown: str | None = None
) -> tuple[Survey, tuple[SettingChange, ...]]:
    """What would be changed, after nothing was found that stands in its way.

    Args:
        work: Of this command.
        way: To go.
        shown: How it is printed before anything is refused; None: not at all.
    """
    seen = await way.look(work)
    changes = setting_changes(work.wanted, seen.found.settings) if way.settings else ()
    if shown is not None:
        _show(work, seen, shown, with_calls=True, changes=changes)
    _refuse(seen.plan)
    seen.refuse_missing_rights()
    if changes:
        refuse_missing((CHANGED_BY,), seen.found.commands)
    return seen, changes


def verify(
    session: Session, doors: RegistrationDoors, file: Path, key_file: Path, output: str
) -> int:
    """Look, show, and the command's exit status."""

    async def look(work: Work) -> int:
        seen = await work.look()
        servers = None
        if LIST_SERVERS in seen.found.commands:
            servers = await work.client.every(LIST_SERVERS, "managementserver")
        looked_at = await look_at_servers(work.wanted, doors)
        more = Seen(
            servers=servers,
            ahead_s=work.client.ahead_s,
            answer_within=work.answer_within,
            looked_at=looked_at,
        )
        return _show_checks(checks_of.verify(seen, more), output)

    return run(session, doors, file, key_file, look)


def _show_checks(checks: tuple[Check, ...], output: str) -> int:
    end = checks_of.worst(checks)
    if output == JSON:
        show_json({"version": 1, "outcome": end.value, "checks": plain(checks)})
    else:
        rows = [(each.outcome.upper(), each.name, each.about, each.text) for each in checks]
        show_table(("OUTCOME", "CHECK", "OF", "FOUND"), rows)
        click.echo(f"{end}: {len(checks)} checks")
    return Kind.OPERATOR.exit_code if end in {Outcome.BAD, Outcome.UNKNOWN} else 0


def _removal(seen: Survey) -> Plan:
    return make_removal(
        seen.found, seen.memory, database=seen.ids.database, account=seen.places.account
    )


def _show(
    work: Work,
    seen: Survey,
    output: str,
    *,
    with_calls: bool,
    changes: tuple[SettingChange, ...] = (),
) -> None:
    advised = work.advice(seen)
    if output == JSON:
        show_json(plan_view.document(seen.plan, seen.ids, advised, changes))
        return
    plan_view.show(seen.plan, seen.ids, with_calls=with_calls)
    plan_view.show_settings(changes)
    plan_view.show_advice(advised)
    plan_view.show_service_rules()


def _refuse(refused: Plan) -> None:
    if refused.refusals:
        raise ConflictError(ErrorCode.REGISTRATION_REFUSED, "; ".join(refused.refusals))


def _tell_done(done: Plan, after: Plan, output: str, changes: tuple[SettingChange, ...]) -> None:
    if output == JSON:
        acts = [{"act": each.act, "kind": each.kind, "name": each.name} for each in done.steps]
        settings, left = plain(changes), len(after.steps)
        show_json({"version": 1, "done": plain(acts), "settings": settings, "left": left})
    else:
        click.echo(f"Done: {len(done.steps)} steps. {plan_view.summary(after)}")


def _settled(after: Plan) -> None:
    """CloudStack may take a value and keep another: that is said, not repeated for ever."""
    _refuse(after)
    if after.steps:
        left = ", ".join(f"{step.act} {step.kind} {step.name}" for step in after.steps)
        text = f"all was done, and CloudStack shows something else afterwards: {left}"
        raise OperatorError(ErrorCode.CLOUDSTACK_REFUSED, text)


def _record(
    session: Session, how: How, asked: str, *, done: Plan, after: Survey, file: Path
) -> None:
    reached = Reached(
        asked=asked,
        done=plan_view.document(done, after.ids),
        checked=plan_view.summary(after.plan),
        state={"registered": plain(after.memory), "left": len(after.plan.steps)},
        repeat=["cloudstack", "plan", str(file), "--output", "json"],
    )
    write_record(how.evidence, session, reached)


def _say(line: str) -> None:
    click.echo(printable(line), err=True)
