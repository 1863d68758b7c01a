"""Walking a plan. Cut off at any call, the next plan finds what was made and goes on from there.

Before something is made our memory says so; after it, it has the id. A making whose answer was
lost is looked up by its mark, never sent again by the same walk. Nothing is changed while
somebody else has the turn.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from cloudstack_ext.parameters import Answer
from cloudstack_ext.registration.calls import Call, calls
from cloudstack_ext.registration.held import HeldApi
from cloudstack_ext.registration.memory import Memory
from cloudstack_ext.registration.model import Act, Kind, Remembered, Step, Wish, mark_of
from cloudstack_ext.registration.plan import names_of
from cloudstack_ext.registration.reading import (
    CHECK_INTERVAL,
    Api,
    read_instances,
    read_things,
)
from cloudstack_ext.registration.survey import Survey
from provisioner.errors import (
    ConflictError,
    ErrorCode,
    OperatorError,
    TransientError,
)
from provisioner.ports.clock import Clock
from provisioner.units import Seconds

ANSWER_WITHIN_S: Final = 60.0
"""No command of a registration was seen to take longer; the client waits no longer either."""
LOOKED_UP_AFTER_S: Final = (1.0, 2.0, 4.0, 8.0)
"""A command whose answer was lost may still be at work."""
CHECK_EVERY_S: Final = 300.0
"""CloudStack's own default between two checks of the extensions' paths."""
CHECK_LATENESS_S: Final = 60.0
POLL_S: Final = Seconds(5.0)
MAINTENANCE_WITHIN_S: Final = 300.0
"""An empty host was seen in maintenance after 8 s."""
MAINTAINED: Final = "Maintenance"

Say = Callable[[str], None]


async def apply(survey: Survey, api: Api, memory: Memory, clock: Clock, say: Say) -> None:
    """Do what the plan says, step by step.

    Raises:
        ConflictError: REGISTRATION_REFUSED: the plan has refusals; nothing was done.
        InputError: CLOUDSTACK_RIGHTS: the key may not do all of it; nothing was done.
        TransientError: REGISTRATION_PATH, CLOUDSTACK_SILENT and the client's others: apply again.
        RackwrightError: As the client and the service raise.
    """
    if survey.plan.refusals:
        raise ConflictError(ErrorCode.REGISTRATION_REFUSED, "; ".join(survey.plan.refusals))
    survey.refuse_missing_rights()
    held = HeldApi(api, memory)
    walk = Walk(survey=survey, api=held, memory=memory, clock=clock, say=say)
    for step in survey.plan.steps:
        await walk.step(step)


@dataclass(slots=True, kw_only=True)
class Walk:
    """One walk of one plan."""

    survey: Survey
    api: Api
    memory: Memory
    clock: Clock
    say: Say
    rows: dict[int, Remembered] = field(init=False)

    def __post_init__(self) -> None:
        """Rows by their numbers."""
        self.rows = {row.number: row for row in self.survey.memory}

    async def step(self, step: Step) -> None:
        """One object, one act."""
        # also before what only our own rows learn
        await self.memory.hold()
        self.say(f"{step.kind} {step.name}: {step.act}")
        acts: Mapping[Act, Callable[[Step], Awaitable[None]]] = {
            Act.MAKE: self._make,
            Act.REPLACE: self._make,
            Act.TAKE_OVER: self._take_over,
            Act.CHANGE: self._change,
            Act.WAIT: self._wait_for_path,
            Act.RETIRE: self._retire,
            Act.REMOVE: partial(remove, self),
            Act.REMEMBER: self._remember,
            Act.FORGET: self._forget,
        }
        await acts[step.act](step)

    async def _make(self, step: Step) -> None:
        assert step.wish is not None
        late = await self._made_late(step, step.wish)
        if late is not None:
            await self._settled(late[0], step, late[1])
            return
        number = await self.memory.begin(step.kind, step.name, step.wish.facts)
        (call,) = calls(step, self.survey.ids)
        try:
            made = await self.api.call(call.command, call.parameters)
            identifier = _id_in(made, call)
        except TransientError as error:
            if error.code is not ErrorCode.CLOUDSTACK_SILENT:
                raise
            identifier = await self._looked_up(step.wish, error)
        await self._settled(number, step, identifier)

    async def _made_late(self, step: Step, wish: Wish) -> tuple[int, str] | None:
        """Row and id of what an earlier walk asked for a moment ago, and CloudStack made since.

        Its command may be at work until its answer was due: only then it is sent again.
        """
        row = self.rows.get(step.row or 0)
        if row is None or row.id is not None:
            return None
        age = self.clock.wall() - row.at
        if not 0 <= age < ANSWER_WITHIN_S:
            return None
        self.say(f"{step.kind} {step.name}: was asked for {age:.0f} s ago, waits for its answer")
        await self.clock.sleep(Seconds(ANSWER_WITHIN_S - age))
        identifier = await self._marked(wish)
        return (row.number, identifier) if identifier else None

    async def _looked_up(self, wish: Wish, lost: TransientError) -> str:
        """The id of what was made although its answer was lost."""
        for wait in LOOKED_UP_AFTER_S:
            await self.clock.sleep(Seconds(wait))
            identifier = await self._marked(wish)
            if identifier:
                return identifier
        text = f"{lost.brief}; nothing bears its mark yet: apply again"
        raise TransientError(lost.code, text, lost.detail) from lost

    async def _marked(self, wish: Wish) -> str:
        """The id of what bears the mark of this wish and is not remembered; "" is nothing."""
        mark = mark_of(self.survey.ids.database, wish.kind, wish.name)
        known = {row.id for row in self.rows.values()}
        return next(
            (
                thing.id
                for thing in await read_things(self.api, wish.kind)
                if thing.mark == mark
                and thing.id not in known
                and thing.owner in {"", self.survey.places.account}
            ),
            "",
        )

    async def _take_over(self, step: Step) -> None:
        assert step.wish is not None
        assert step.id is not None
        number = step.row or await self.memory.begin(step.kind, step.name, step.wish.facts)
        if step.thing is not None and not step.thing.mark:
            # without its mark it could not be found again: the mark comes first
            await self._call_all(step)
            await self._settled(number, step, step.id)
            return
        await self._settled(number, step, step.id)
        await self._call_all(step)

    async def _settled(self, number: int, step: Step, identifier: str) -> None:
        assert step.wish is not None
        await self.memory.settle(number, identifier, step.wish.facts)
        if step.kind is Kind.EXTENSION:
            self.survey = replace(self.survey, ids=replace(self.survey.ids, extension=identifier))
        if step.kind is Kind.CLUSTER:
            self.survey = replace(self.survey, ids=replace(self.survey.ids, cluster=identifier))
        self.say(f"{step.kind} {step.name}: is {identifier}")

    async def _call_all(self, step: Step) -> None:
        for call in calls(step, self.survey.ids):
            await self.api.call(call.command, call.parameters)

    async def _remember(self, step: Step) -> None:
        """Where the facts are others than those that we hold."""
        assert step.wish is not None
        row = self.rows.get(step.row or 0)
        if row is not None and row.facts == step.wish.facts:
            return
        number = step.row or await self.memory.begin(step.kind, step.name, step.wish.facts)
        await self.memory.settle(number, step.id or step.name, step.wish.facts)

    async def _change(self, step: Step) -> None:
        await self._call_all(step)
        await self._remember(step)

    async def _retire(self, step: Step) -> None:
        await self._call_all(step)
        row = next((row for row in self.rows.values() if row.id == step.id), None)
        if row is not None:
            await self.memory.settle(row.number, step.id or "", row.facts, retired=True)

    async def _forget(self, step: Step) -> None:
        if step.row is not None:
            await self.memory.forget(step.row)

    async def _wait_for_path(self, _step: Step) -> None:
        """Until the path is called ready by a check that was made after the extension was.

        A missing file is called ready at first: CloudStack looks only at its next check.
        """
        extension = self.survey.ids.extension
        interval = _seconds(self.survey.found.settings.get(CHECK_INTERVAL)) or CHECK_EVERY_S
        rows = await self.memory.rows()
        wall, now = self.clock.wall(), self.clock.monotonic()
        made = max((row.at for row in rows if row.id == extension), default=wall)
        # a row of the future is a clock that was set back
        checked = now + max(0.0, min(made, wall) + interval - wall)
        until = checked + interval + CHECK_LATENESS_S
        self.say(f"extension: waits for CloudStack's next check, about {checked - now:.0f} s")
        while self.clock.monotonic() < until:
            if self.clock.monotonic() >= checked and await self._path_ready(extension):
                return
            await self.memory.hold()
            await self.clock.sleep(POLL_S)
        text = (
            "the extension's path is not ready after two checks: its entry is missing, differs or"
            " cannot be run on a management server"
        )
        raise TransientError(ErrorCode.REGISTRATION_PATH, text)

    async def _path_ready(self, extension: str) -> bool:
        rows = await self.api.every("listExtensions", "extension", {"id": extension})
        return len(rows) == 1 and bool(rows[0].get("pathready"))


async def remove(walk: Walk, step: Step) -> None:
    """Delete one object, and forget it; a host goes through maintenance first, never forced."""
    for call in calls(step, walk.survey.ids):
        if call.command == "prepareHostForMaintenance":
            await _maintain(walk, step)
        else:
            await walk.api.call(call.command, call.parameters)
    if step.row is not None:
        await walk.memory.forget(step.row)


async def _maintain(walk: Walk, step: Step) -> None:
    """The job ends long before the host is there."""
    await _refuse_instances(walk, step)
    until = walk.clock.monotonic() + MAINTENANCE_WITHIN_S
    state = await _host_state(walk.api, step)
    if state == "Enabled":
        await walk.api.call("prepareHostForMaintenance", {"id": step.id or ""})
        state = await _host_state(walk.api, step)
    while state != MAINTAINED:
        if walk.clock.monotonic() >= until or state.startswith("Error"):
            text = f"host {step.name} does not come into maintenance: it is {state}"
            raise OperatorError(ErrorCode.CLOUDSTACK_REFUSED, text)
        await walk.memory.hold()
        await walk.clock.sleep(POLL_S)
        state = await _host_state(walk.api, step)


async def _refuse_instances(walk: Walk, step: Step) -> None:
    """Maintenance would stop them; the plan may rest on a list that came empty."""
    remembered = {row.id for row in walk.rows.values()} | {walk.survey.ids.extension}
    extensions = [
        thing.id for thing in walk.survey.found.of(Kind.EXTENSION) if thing.id in remembered
    ]
    found = await read_instances(walk.api, extensions=extensions, hosts=[step.id or ""])
    on_it = [each for each in found if each.host == step.id]
    if on_it:
        text = f"host {step.name} has instances: {names_of(on_it)}"
        raise ConflictError(ErrorCode.REGISTRATION_REFUSED, text)


async def _host_state(api: Api, step: Step) -> str:
    rows = await api.every("listHosts", "host", {"id": step.id or ""})
    return str(rows[0].get("resourcestate", "")) if rows else "gone"


def _id_in(answer: Answer, call: Call) -> str:
    """Some commands answer a list of one, others the object."""
    found: Any = answer.get(call.key)
    one = found[0] if isinstance(found, list) and found else found
    if not isinstance(one, Mapping) or not one.get("id"):
        text = f"{call.command} answered without the {call.key} that it made"
        raise OperatorError(ErrorCode.CLOUDSTACK_NONSENSE, text)
    return str(one["id"])


def _seconds(text: str | None) -> float:
    try:
        return float(text or 0)
    except ValueError:
        return 0.0
