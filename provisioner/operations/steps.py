"""A step: one name in a list, one act that is safe to repeat."""

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from provisioner.config import Times
from provisioner.operations.doors import Work
from provisioner.servers.operation import NewOperation
from provisioner.servers.states import Intent
from provisioner.units import OperationId, Seconds

Act = Callable[[Work], Awaitable[Mapping[str, Any]]]
"""Changes the world until it is so; answers what later steps need (JSON values, no secret)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one name in a list does.

    Attributes:
        name: Twice in one list never: the effect record is keyed by operation and step.
        act: Safe to repeat: each begins by looking.
        limit: Counted from the first beginning; after it the step has failed.
        waits: What the step may wait besides, by this installation's settings.
        powers: It may switch the server on: from its beginning on the server counts as used.
        dirties: It switches the server on for a tenant: dirty is set in the transaction of its
            beginning (invariant 3).
        marks: Fields of the allocation that are true from its beginning on, set with it: what an
            end of any kind leaves behind stands on record before the act.
    """

    name: str
    act: Act
    limit: Seconds
    waits: Callable[[Times], float] = lambda _times: 0.0
    powers: bool = False
    dirties: bool = False
    marks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepList:
    """A released list: never edited, a change makes the next number.

    Attributes:
        name: "deploy/1".
    """

    name: str
    kind: Intent
    steps: tuple[Step, ...]

    def names(self) -> tuple[str, ...]:
        """As stored with each operation."""
        return tuple(step.name for step in self.steps)


def table_of(lists: tuple[StepList, ...]) -> Mapping[str, Step]:
    """Every step by its name; one name means one thing in all lists.

    Raises:
        ValueError: A name stands twice in a list, or for two different steps.
    """
    table: dict[str, Step] = {}
    for each in lists:
        if len(set(each.names())) != len(each.steps):
            raise ValueError(f"{each.name} names a step twice")
        for step in each.steps:
            if table.setdefault(step.name, step) is not step:
                raise ValueError(f"two steps are called {step.name}")
    return table


def new_operation(steps: StepList, who: str) -> NewOperation:
    """An operation of this list, with an id of its own."""
    return NewOperation(
        id=OperationId(str(uuid.uuid4())),
        kind=steps.kind,
        steps_name=steps.name,
        steps=steps.names(),
        who=who,
    )
