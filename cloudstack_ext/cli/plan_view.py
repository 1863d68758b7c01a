"""A plan as people know it from Terraform, and as JSON for programs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import click

from cloudstack_ext import failure_notes, truth
from cloudstack_ext.reconcile import lists
from cloudstack_ext.registration.calls import Ids, calls
from cloudstack_ext.registration.model import Act, Change, Plan, Step
from cloudstack_ext.registration.setting_changes import CHANGED_BY, SettingChange
from cloudstack_ext.registration.settings import Advice
from provisioner.cli.output import printable
from provisioner.store.codec import plain

VERSION: Final = 1
SIGNS: Final[Mapping[Act, tuple[str, str]]] = {
    Act.MAKE: ("+", "green"),
    Act.TAKE_OVER: ("=", "cyan"),
    Act.CHANGE: ("~", "yellow"),
    Act.REPLACE: ("-/+", "yellow"),
    Act.WAIT: ("...", "cyan"),
    Act.RETIRE: ("-", "red"),
    Act.REMOVE: ("-", "red"),
    Act.REMEMBER: ("=", "cyan"),
    Act.FORGET: ("=", "cyan"),
}
SERVICE_RULES: Final = tuple(sorted({*truth.COMMANDS, *lists.COMMANDS, *failure_notes.COMMANDS}))
"""What the service's own key must be allowed: a custom role of type Admin, and no more."""
EVERYTHING_ELSE: Final = "*"
"""The last rule denies it. Source: CloudStack's DynamicRoleBasedAPIAccessChecker: the first rule
that fits decides; where none does, a command that names the role's type in its own code is allowed.
"""
COUNTED: Final = (
    (Act.MAKE, "to make"),
    (Act.TAKE_OVER, "to take over"),
    (Act.CHANGE, "to change"),
    (Act.REPLACE, "to replace"),
    (Act.RETIRE, "to retire"),
    (Act.REMOVE, "to remove"),
    (Act.REMEMBER, "to remember"),
    (Act.FORGET, "to forget"),
)


def show(plan: Plan, ids: Ids, *, with_calls: bool) -> None:
    """For people; nothing is coloured where nobody looks at a terminal."""
    for step in plan.steps:
        sign, colour = SIGNS[step.act]
        name = f"{step.kind} {step.name}" + (f" ({step.id})" if step.id else "")
        head = f"{sign:>3} {step.act} {name}"
        click.secho(printable(head + (f": {step.why}" if step.why else "")), fg=colour)
        for change in _fields(step):
            click.echo(printable(f"      {_field(change, making=step.thing is None)}"))
        for call in calls(step, ids) if with_calls else ():
            click.echo(printable(f"      calls {call.command}"))
    for notice in plan.notices:
        click.echo(printable(f"notice: {notice}"))
    for refusal in plan.refusals:
        click.secho(printable(f"refused: {refusal}"), fg="red")
    click.echo(summary(plan))


def summary(plan: Plan) -> str:
    """One line."""
    if plan.refusals:
        return f"Nothing can be done: {len(plan.refusals)} reasons are named."
    if not plan.steps:
        return f"No changes: {plan.untouched} objects are as they should be."
    counted = Counter(step.act for step in plan.steps)
    parts = [f"{counted[act]} {words}" for act, words in COUNTED if counted[act]]
    return f"Plan: {', '.join(parts)}; {plan.untouched} as they should be."


def service_rules() -> tuple[tuple[str, str], ...]:
    """Of the role of the service's own key: rule and permission, in the order that counts."""
    return (*((rule, "allow") for rule in SERVICE_RULES), (EVERYTHING_ELSE, "deny"))


def show_service_rules() -> None:
    """For whoever makes the role of the service's own key."""
    rules = ", ".join(f"{permission} {rule}" for rule, permission in service_rules())
    text = (
        f"the service's own key needs a role of type Admin with these rules, in order: {rules};"
        " what no rule denies, CloudStack allows to such a role"
    )
    click.echo(text)


def show_settings(changes: Sequence[SettingChange]) -> None:
    """What `--settings` would change."""
    for each in changes:
        click.echo(printable(f"  ~ {each.text()}"))
        click.echo(f"      calls {CHANGED_BY}")


def show_advice(found: Sequence[Advice]) -> None:
    """Settings of CloudStack that an operator should look at."""
    for each in found:
        better = f" -> {each.better}" if each.better else ""
        restart = " (a change needs a restart of the management servers)" if each.restart else ""
        value = each.value if each.value not in {None, ""} else "not set"
        text = f"advice: {each.name} is {value}{better}: {each.why}{restart}"
        click.echo(printable(text))


def document(
    plan: Plan, ids: Ids, found: Sequence[Advice] = (), changes: Sequence[SettingChange] = ()
) -> dict[str, Any]:
    """For programs: docs/cloudstack.md describes it."""
    return {
        "version": VERSION,
        "steps": [_step(step, ids) for step in plan.steps],
        "refusals": list(plan.refusals),
        "notices": list(plan.notices),
        "untouched": plan.untouched,
        "advice": plain(tuple(found)),
        "settings": plain(tuple(changes)),
        "service_rules": [
            {"rule": rule, "permission": permission} for rule, permission in service_rules()
        ],
    }


def _step(step: Step, ids: Ids) -> dict[str, Any]:
    return {
        "act": step.act.value,
        "kind": step.kind.value,
        "name": step.name,
        "id": step.id,
        "why": step.why,
        "changes": [plain(change) for change in _fields(step)],
        "calls": [
            {"command": call.command, "parameters": plain(dict(call.parameters))}
            for call in calls(step, ids)
        ],
    }


def _fields(step: Step) -> Iterator[Change]:
    """What differs; of what is made, all that it is made with."""
    if step.thing is not None or step.wish is None:
        yield from step.changes
        return
    for name, value in sorted(step.wish.fields.items()):
        if value:
            yield Change(field=name, old="", new=value)
    for name, value in sorted(step.wish.details.items()):
        yield Change(field=f"details.{name}", old="", new=value)


def _field(change: Change, *, making: bool) -> str:
    if making:
        return f'+ {change.field} = "{change.new}"'
    return f'~ {change.field} = "{change.old}" -> "{change.new}"'
