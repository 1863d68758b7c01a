"""One step of an operation: fence, effect record, limit, outcome.

The durable engine calls `steps_of` and `run`; nothing it stores says more than a step's
name and "done" or "failed". What happened and why is in our own tables.
"""

import asyncio
import logging
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from provisioner.about import about, learned
from provisioner.errors import (
    ConflictError,
    ErrorCode,
    OperatorError,
    RackwrightError,
    TransientError,
)
from provisioner.operations.consoles import last_lines
from provisioner.operations.dhcp_lines import keep_dhcp
from provisioner.operations.doors import Doors, Work
from provisioner.operations.endings import cannot_tell, outcome_of
from provisioner.operations.steps import Step
from provisioner.servers.model import ServerRecord
from provisioner.servers.operation import (
    Effect,
    NewOperation,
    OperationRecord,
    Outcome,
    Status,
)
from provisioner.servers.states import Ending
from provisioner.store.waiting import stored
from provisioner.units import MonotonicSeconds, OperationId, Seconds, WallSeconds

log = logging.getLogger(__name__)
T = TypeVar("T")

DONE, FAILED = "done", "failed"
MOST_BEGINNINGS, EACH_S = 5, 60.0
"""A step that began so often and never ended takes the service down with it: give up. One more for
each minute that it may take: a write or a wipe of hours outlives as many restarts as there are."""

Follow = Callable[[OperationRecord, Outcome], Callable[[ServerRecord], NewOperation] | None]
"""What is opened in the transaction that ends an operation."""
GONE = frozenset({ErrorCode.SUPERSEDED, ErrorCode.CANCELLED})
"""Somebody else has ended the operation; what follows is theirs."""


class Watch(Protocol):
    """Who counts what was run."""

    def stage(self, operation: str, stage: str, outcome: str, seconds: float) -> None:
        """A step of this kind of operation ended, "done" or "failed"."""
        ...

    def operation(self, operation: str, outcome: str) -> None:
        """An operation of this kind ended with this status."""
        ...


@dataclass(slots=True)
class Runner:
    """Does steps for the durable engine.

    Attributes:
        grace_s: After a start, an open step has at least this long before it may fail.
        started: When this process began to run steps.
        watch: None: nobody counts.
    """

    doors: Doors
    steps: Mapping[str, Step]
    follow: Follow
    started: MonotonicSeconds
    grace_s: float = 120.0
    watch: Watch | None = None

    async def steps_of(self, identifier: str) -> list[str]:
        """The list this operation began with."""
        record = await stored(self.doors.records.operations.operation, OperationId(identifier))
        return list(record.steps)

    async def run(self, identifier: str, name: str) -> str:
        """One step to its end; answers "done" or "failed" and lets no exception out.

        An exception that left a step would be stored and logged by the engine with its text.
        """
        with about(operation=identifier):
            return await self._to_its_end(OperationId(identifier), name)

    async def _to_its_end(self, operation: OperationId, name: str) -> str:
        try:
            return await self._run(operation, self.steps[name])
        except Exception as error:
            if not isinstance(error, RackwrightError):
                log.exception("step %s", name)
            failure = error
        try:
            await self._fail(operation, name, failure)
        except Exception as error:
            # the guards refuse this end, so the records are not what they seemed to be
            log.exception("end of step %s", name)
            await self._quarantine(operation, name, error)
        return FAILED

    async def _fail(self, operation: OperationId, name: str, failure: Exception) -> None:
        record = await stored(self.doors.records.operations.operation, operation)
        if record.status is not Status.OPEN:
            # an alarm or a person was quicker: what the step says of it is not why it ended
            log.warning(
                "step %s was ended: %s",
                name,
                record.brief or record.status,
                extra={"code": record.code},
            )
            await self._note_failed(operation, name)
            await self._leave(operation)
            return
        if not isinstance(failure, RackwrightError):
            outcome = cannot_tell(name, _in_words(failure))
        elif failure.code in GONE:
            await self._leave(operation)
            return
        else:
            outcome = await self._outcome(operation, name, failure)
        await self._note_failed(operation, name)
        await self._end(operation, await self._with_console(operation, outcome))

    async def _quarantine(self, operation: OperationId, name: str, failure: Exception) -> None:
        try:
            await self._end(operation, cannot_tell(name, _in_words(failure)))
        except Exception:  # the next start finds it open and closes it
            log.exception("operation stays open")

    async def _run(self, operation: OperationId, step: Step) -> str:
        records, clock = self.doors.records, self.doors.clock
        begin = partial(
            records.effects.begin,
            operation,
            step.name,
            now=clock.wall(),
            dirties=step.dirties,
            marks=step.marks,
        )
        effect = await self._patiently(begin)
        record = await stored(records.operations.operation, operation)
        learned(server=record.server, epoch=record.epoch)
        if effect.done is None:
            work = await self._work(record, step, effect)
            log.info("step %s begins", step.name)
            async with asyncio.timeout(max(0.0, work.until - clock.monotonic()) + LAST_WORD_S):
                found = await step.act(work)
            took_s = clock.monotonic() - work.begun
            done = WallSeconds(effect.begun + took_s)
            finish = partial(records.effects.finish, operation, step.name, found, now=done)
            await self._patiently(finish)
            self._note_stage(record, step.name, DONE, took_s)
        if step.name == record.steps[-1]:
            await self._end(operation, Outcome(ending=Ending.DONE))
        return DONE

    async def _work(self, record: OperationRecord, step: Step, effect: Effect) -> Work:
        records, begun = self.doors.records, self._begun(effect)
        allocation = None
        if record.allocation is not None:
            allocation = await stored(records.allocations.by_id, record.allocation)
            learned(site=allocation.key.site, instance=allocation.key.instance)
        if effect.beginnings > MOST_BEGINNINGS + self._limit(step) / EACH_S:
            raise OperatorError(
                ErrorCode.CANNOT_TELL,
                f"{step.name} began {effect.beginnings} times and never ended",
            )
        return Work(
            doors=self.doors,
            operation=record,
            server=await stored(records.servers.server, record.server),
            allocation=allocation,
            step=step.name,
            begun=begun,
            until=self._until(step, begun),
            again=effect.again,
            found={
                each.step: each.result for each in await stored(records.effects.effects, record.id)
            },
        )

    def _begun(self, effect: Effect) -> MonotonicSeconds:
        """On the clock that nobody sets (invariant 8); the wall clock only spans a restart."""
        clock = self.doors.clock
        passed = max(0.0, clock.wall() - effect.begun) if effect.again else 0.0
        return MonotonicSeconds(clock.monotonic() - passed)

    def _until(self, step: Step, begun: MonotonicSeconds) -> MonotonicSeconds:
        return MonotonicSeconds(max(begun + self._limit(step), self.started + self.grace_s))

    def _limit(self, step: Step) -> float:
        return step.limit + step.waits(self.doors.site.times)

    async def _outcome(self, operation: OperationId, name: str, error: RackwrightError) -> Outcome:
        begun = await stored(self.doors.records.effects.effects, operation)
        touched = any(self.steps[each.step].powers for each in begun)
        outcome = outcome_of(error, power_touched=touched)
        text = "step %s failed: %s %s"
        log.warning(text, name, error, error.detail, extra={"code": outcome.code})
        return outcome

    async def _with_console(self, operation: OperationId, outcome: Outcome) -> Outcome:
        try:
            console = await asyncio.to_thread(last_lines, self.doors.consoles.kept, operation)
        except OSError as error:  # a full disk must not keep an operation from its end
            log.warning("console of %s: %s", operation, error)
            return outcome
        if not console:
            return outcome
        detail = f"{outcome.detail}\nthe console's last lines:\n{console}".strip()
        return replace(outcome, detail=detail)

    async def _end(self, operation: OperationId, outcome: Outcome) -> None:
        records = self.doors.records
        record = await stored(records.operations.operation, operation)
        if record.status is Status.OPEN:
            await keep_dhcp(self.doors, record)
            now = self.doors.clock.wall()
            try:
                close = partial(
                    records.operations.close,
                    operation,
                    outcome,
                    self.follow(record, outcome),
                    now=now,
                )
                await self._patiently(close)
            except ConflictError as error:  # superseded in this very moment: theirs now
                log.info("operation had ended: %s", error)
        await self._leave(operation)

    async def _patiently(self, call: Callable[[], T]) -> T:
        """However long the database is away: what was done is not undone for that."""
        while True:
            try:
                return await stored(call)
            except TransientError as error:
                log.warning("waiting for the database: %s", error)
            await self.doors.clock.sleep(DATABASE_AGAIN_S)

    async def _leave(self, operation: OperationId) -> None:
        """It has ended, by us or by somebody else: nobody listens or waits for it any more."""
        self.doors.bell.closed(operation)
        record = await stored(self.doors.records.operations.operation, operation)
        self.doors.consoles.leave(record.server)
        if self.watch is not None:
            self.watch.operation(record.kind, record.status)

    def _note_stage(self, record: OperationRecord, step: str, how: str, seconds: float) -> None:
        log.info("step %s %s in %.1f s", step, how, seconds)
        if self.watch is not None:
            self.watch.stage(record.kind, step, how, seconds)

    async def _note_failed(self, operation: OperationId, step: str) -> None:
        record = await stored(self.doors.records.operations.operation, operation)
        for effect in await stored(self.doors.records.effects.effects, operation):
            if effect.step == step and effect.done is None:
                self._note_stage(record, step, FAILED, self.doors.clock.wall() - effect.begun)


def _in_words(error: Exception) -> str:
    return "".join(traceback.format_exception_only(error)).strip()


DATABASE_AGAIN_S = Seconds(5.0)
LAST_WORD_S = 30.0
"""Steps keep their own deadlines and say why; this cuts one that does not."""
