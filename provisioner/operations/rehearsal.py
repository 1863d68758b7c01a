"""A dry run: the very steps of an operation, walked through doors that change nothing.

No description of a step can drift from the step, since the step itself is run: against a
controller, ports, agent and records that do as they are told and note every call. Nothing is
written, nobody is called.
"""

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from provisioner.operations.conversation import Conversations
from provisioner.operations.desk import PlannedCall, PlannedStep
from provisioner.operations.doors import Doors, Records, Site, Work
from provisioner.operations.ideal import (
    IdealBell,
    IdealClock,
    IdealConsoles,
    IdealControllers,
    IdealOffers,
    IdealPorts,
    IdealRecords,
)
from provisioner.operations.ideal_agent import IdealAgent
from provisioner.operations.steps import StepList
from provisioner.ports.clock import Clock
from provisioner.servers.allocation import Allocation
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import Effect, NewOperation, OperationRecord, Status
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, Seconds, ServerName, WallSeconds

Rehearse = Callable[[ServerRecord, NewOperation, StepList], Awaitable[tuple[PlannedStep, ...]]]


@dataclass(slots=True)
class CallsNoted:
    """The journal of a rehearsal: calls of the step that runs now."""

    now: list[PlannedCall] = field(default_factory=list)

    def call(self, server: ServerName, door: str, text: str, outcome: str) -> None:
        """Note one call; asking the same again and again is one line."""
        del server, outcome
        planned = PlannedCall(door=door, text=text)
        if not self.now or self.now[-1] != planned:
            self.now.append(planned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rehearsal:
    """Walks lists of steps.

    Attributes:
        records: Read only: pools and images are the real ones.
    """

    records: Records
    clock: Clock
    site: Site

    async def __call__(
        self, server: ServerRecord, new: NewOperation, steps: StepList
    ) -> tuple[PlannedStep, ...]:
        """Every step with its calls, in the order of a run where all goes well."""
        calls, clock = CallsNoted(), IdealClock(self.clock.wall())
        allocation = await self._allocation(server)
        record = _as_opened(server, new, allocation, clock.wall())
        controllers = IdealControllers(server)
        agent = IdealAgent(server=server, ends=controllers.switch_off)
        ideal = IdealRecords(
            server=server,
            operation=record,
            allocation=allocation,
            agent=agent,
            real=self.records,
        )
        # made-up time would be over before a record is read in its thread
        conversations = Conversations(
            controllers, clock, calls, call_limit=Seconds(math.inf), jitter=lambda: 0.0
        )
        doors = Doors(
            records=cast("Records", ideal.as_records(calls)),
            conversations=conversations,
            ports=IdealPorts(),
            offers=IdealOffers(),
            clock=clock,
            bell=IdealBell(),
            consoles=IdealConsoles(),
            site=self.site,
        )
        planned = []
        for step in steps.steps:
            calls.now = []
            begun = clock.monotonic()
            work = Work(
                doors=doors,
                operation=record,
                server=ideal.server,
                allocation=allocation,
                step=step.name,
                begun=begun,
                until=MonotonicSeconds(begun + step.limit + step.waits(self.site.times)),
                found=dict(ideal.found),
            )
            result: dict[str, Any] = dict(await step.act(work))
            ideal.found[step.name] = result
            ideal.done(
                Effect(
                    step=step.name,
                    begun=WallSeconds(begun),
                    again=False,
                    done=clock.wall(),
                    result=result,
                )
            )
            planned.append(PlannedStep(name=step.name, calls=tuple(calls.now)))
        return tuple(planned)

    async def _allocation(self, server: ServerRecord) -> Allocation | None:
        """Whose the server is: an operation is opened for that one."""
        living = await stored(self.records.allocations.living)
        return next((each for each in living if each.server == server.name), None)


def _as_opened(
    server: ServerRecord, new: NewOperation, allocation: Allocation | None, now: WallSeconds
) -> OperationRecord:
    return OperationRecord(
        id=new.id,
        kind=new.kind,
        steps_name=new.steps_name,
        steps=new.steps,
        server=server.name,
        epoch=server.epoch,
        who=new.who,
        status=Status.OPEN,
        opened_at=now,
        parameters=new.parameters,
        allocation=allocation.id if allocation else None,
    )
