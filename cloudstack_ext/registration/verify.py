"""What can be told of a registration now: each check with its outcome. Pure.

What cannot be looked at is UNKNOWN, never well.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from cloudstack_ext.registration.model import Kind, Thing
from cloudstack_ext.registration.settings import advice
from cloudstack_ext.registration.survey import Survey
from provisioner.units import Seconds

Row = Mapping[str, Any]

CLOCKS_APART_S: Final = 30.0
"""CloudStack's own signatures expire after minutes; logs are compared by the second."""
CLIENT_CERTIFICATE: Final = "client certificate"
AUTHORITY: Final = "certificate authority"
SERVICE_CERTIFICATE: Final = "service certificate"
FILE_CHECKS: Final = (
    "entry", "entry configuration", "service reachable",
    CLIENT_CERTIFICATE, AUTHORITY, SERVICE_CERTIFICATE,
)  # fmt: skip
"""Of each management server; CloudStack's API tells nothing of them."""


class Outcome(StrEnum):
    """Of one check."""

    OK = "ok"
    WARNING = "warning"
    BAD = "bad"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that was looked at.

    Attributes:
        about: What: "management server ms1", "host h200-a", "setting wait".
        text: What was found; what to do where it is not well.
    """

    name: str
    about: str
    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was read for the checks beside the survey.

    Attributes:
        servers: Rows of listManagementServers; None where the key may not ask.
        looked_at: What was found by SSH, by the server's name.
        ahead_s: CloudStack's clock before ours, by the last answer; None: it did not say.
        answer_within: The longest that our create waits with its answer.
    """

    servers: Sequence[Row] | None
    ahead_s: float | None
    answer_within: Seconds
    looked_at: Mapping[str, Sequence[Check]] = field(default_factory=dict)


def verify(survey: Survey, seen: Seen) -> tuple[Check, ...]:
    """All checks."""
    return (
        *_plan(survey),
        *_extension(survey),
        *_hosts(survey),
        *_offerings(survey),
        *_templates(survey),
        *_servers(seen),
        _clock(seen),
        *_settings(survey, seen),
        *_endpoint(survey),
    )


def worst(checks: Sequence[Check]) -> Outcome:
    """What the whole is worth: bad before unknown before a warning."""
    for outcome in (Outcome.BAD, Outcome.UNKNOWN, Outcome.WARNING):
        if any(check.outcome is outcome for check in checks):
            return outcome
    return Outcome.OK


def _judged(name: str, about: str, wrong: str, well: str) -> Check:
    outcome = Outcome.BAD if wrong else Outcome.OK
    return Check(name=name, about=about, outcome=outcome, text=wrong or well)


def _plan(survey: Survey) -> Iterator[Check]:
    plan, about = survey.plan, "registration"
    left = len(plan.steps)
    wrong = f"differs from the file in {left} objects: `rackwright cloudstack plan`" if left else ""
    refused = "; ".join(plan.refusals)
    well = f"{plan.untouched} objects are as the file wants them"
    yield _judged("plan", about, refused or wrong, well)
    for notice in plan.notices:
        yield Check(name="plan", about=about, outcome=Outcome.WARNING, text=notice)


def _of(survey: Survey, kind: Kind) -> list[Thing]:
    """Ours: known to both sides."""
    ids = {row.id for row in survey.memory if row.kind is kind and not row.retired}
    return [thing for thing in survey.found.of(kind) if thing.id in ids]


def _extension(survey: Survey) -> Iterator[Check]:
    for thing in _of(survey, Kind.EXTENSION):
        about = f"extension {thing.name}"
        state = thing.fields["state"]
        wrong = "" if state == "Enabled" else f"is {state}: even stop and delete are refused"
        yield _judged("extension state", about, wrong, "is Enabled")
        ready = survey.found.paths_ready.get(thing.id, False)
        wrong = "" if ready else "its entry is missing, differs or cannot be run on some server"
        yield _judged("path state", about, wrong, "the path is ready")


def _hosts(survey: Survey) -> Iterator[Check]:
    for thing in _of(survey, Kind.HOST):
        about = f"host {thing.name}"
        state, resource = thing.fields["state"], thing.fields["resourcestate"]
        wrong = "" if state == "Up" else f"is {state}: `reconnectHost` mends one added too early"
        yield _judged("host state", about, wrong, "is Up")
        if resource != "Enabled":
            text = f"is {resource}: no new instance comes here"
            yield Check(name="host state", about=about, outcome=Outcome.WARNING, text=text)
    yield Check(
        name="maintenance",
        about="hosts",
        outcome=Outcome.OK,
        text="never put a pool's host into maintenance: CloudStack stops all its instances",
    )


def _offerings(survey: Survey) -> Iterator[Check]:
    ours = {thing.id for thing in _of(survey, Kind.OFFERING)}
    retired = {row.id for row in survey.memory if row.kind is Kind.OFFERING and row.retired}
    tags = {pool.tag for pool in survey.wanted.pools}
    for thing in survey.found.of(Kind.OFFERING):
        about = f"offering {thing.name}"
        first = thing.fields["hosttags"].partition(",")[0].strip()
        if first not in tags:
            continue
        if thing.fields.get("vgpuprofileid"):
            text = "has a vGPU profile: a stopped instance of it ends the pings of its whole host"
            yield Check(name="offering", about=about, outcome=Outcome.BAD, text=text)
        if thing.id not in ours | retired and not thing.hidden:
            text = f"is not ours and leads to a host of ours by its tag {first}"
            yield Check(name="offering", about=about, outcome=Outcome.WARNING, text=text)


def _templates(survey: Survey) -> Iterator[Check]:
    known = {row.id for row in survey.memory if row.kind is Kind.TEMPLATE}
    known |= {each.id for each in survey.wanted.foreign_templates}
    extension = survey.ids.extension
    for thing in survey.found.of(Kind.TEMPLATE):
        if extension and thing.fields["extensionid"] == extension and thing.id not in known:
            text = f"({thing.id}) of {thing.owner} is for our extension and not in the file"
            about = f"template {thing.name}"
            yield Check(name="template", about=about, outcome=Outcome.WARNING, text=text)


def _servers(seen: Seen) -> Iterator[Check]:
    if seen.servers is None:
        text = "are not listed for this key: add the rule listManagementServers"
        about = "management servers"
        yield Check(name="server state", about=about, outcome=Outcome.UNKNOWN, text=text)
        for checks in seen.looked_at.values():
            yield from checks
        return
    versions = {str(row.get("version")) for row in seen.servers}
    for row in seen.servers:
        about = f"management server {row.get('name')}"
        state = str(row.get("state"))
        wrong = "" if state == "Up" else f"is {state}"
        yield _judged("server state", about, wrong, f"is Up, {row.get('version')}")
        yield from seen.looked_at.get(str(row.get("name")), _not_looked_at(about))
    if len(versions) > 1:
        text = f"are of several versions: {', '.join(sorted(versions))}"
        yield Check(
            name="server state", about="management servers", outcome=Outcome.WARNING, text=text
        )


def _not_looked_at(about: str) -> tuple[Check, ...]:
    text = "was not looked at: CloudStack's API does not tell, and the file's servers lack it"
    return tuple(
        Check(name=name, about=about, outcome=Outcome.UNKNOWN, text=text) for name in FILE_CHECKS
    )


def _clock(seen: Seen) -> Check:
    about = "clocks"
    if seen.ahead_s is None:
        text = "CloudStack's answers do not say what time it is there"
        return Check(name="clock", about=about, outcome=Outcome.UNKNOWN, text=text)
    apart = abs(seen.ahead_s)
    wrong = f"{apart:.0f} s apart: look at both machines' time" if apart > CLOCKS_APART_S else ""
    return _judged("clock", about, wrong, f"CloudStack's and ours differ by {apart:.0f} s")


def _settings(survey: Survey, seen: Seen) -> Iterator[Check]:
    for each in advice(survey.found.settings, answer_within=seen.answer_within):
        better = f"; better {each.better}" if each.better else ""
        text = f"is {each.value or 'not set'}{better}: {each.why}"
        about = f"setting {each.name}"
        yield Check(name="setting", about=about, outcome=Outcome.WARNING, text=text)


def _endpoint(survey: Survey) -> Iterator[Check]:
    if survey.wanted.endpoint.startswith("http://"):
        text = "is not encrypted: answers can be read and changed on their way"
        yield Check(name="endpoint", about="endpoint", outcome=Outcome.WARNING, text=text)
