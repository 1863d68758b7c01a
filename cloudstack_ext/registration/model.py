"""The nouns of a registration: what is wished, what is there, what is remembered, what to do. Pure.

Values of fields are text as CloudStack's parameters are, put into one form, so that equal ones
are equal: lists sorted, flags true or false, "" for what is not set.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from provisioner.units import WallSeconds

MARK_KEY: Final = "rackwright"
"""In the details of everything that is ours."""
LATER: Final = "(known after apply)"
"""The id of what is not made yet."""


LONG_AGO: Final = WallSeconds(0.0)


class Kind(StrEnum):
    """In the order of making."""

    EXTENSION = "extension"
    CLUSTER = "cluster"
    HOST = "host"
    ACTION = "action"
    TEMPLATE = "template"
    OFFERING = "offering"
    FOREIGN_TEMPLATE = "foreign-template"
    """Remembered only: made by somebody else, allowed by the file."""


MADE: Final = tuple(kind for kind in Kind if kind is not Kind.FOREIGN_TEMPLATE)
UNIQUE: Final = frozenset({Kind.EXTENSION, Kind.CLUSTER, Kind.HOST, Kind.ACTION})
"""Of these CloudStack accepts a name once; two templates or offerings may share one."""
RETIRED_NOT_REMOVED: Final = frozenset({Kind.TEMPLATE, Kind.OFFERING})
"""Instances may live on them: made invisible, deleted by `unregister` alone."""
REMADE: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.OFFERING: frozenset({"cpunumber", "cpuspeed", "memory", "gpucount", "offerha"}),
    Kind.TEMPLATE: frozenset({"extensionid", "zoneid"}),
}
"""No command changes these: the object is made anew and the old one retired."""
SETTLED: Final[Mapping[Kind, frozenset[str]]] = {
    Kind.EXTENSION: frozenset({"path"}),
    Kind.CLUSTER: frozenset({"zoneid", "podid", "hypervisor"}),
    Kind.HOST: frozenset({"clusterid"}),
}
"""No command changes these either, and the object cannot be made anew beside the old one."""


def mark_of(database: str, kind: Kind, name: str) -> str:
    """What stands under the mark's key: whose object it is, and which."""
    return f"{database}/{kind}/{name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """One object as the file wants it.

    Attributes:
        fields: By the names of CloudStack's parameters.
        details: Keys of ours beside the mark, without the prefix External:.
        facts: What the service needs to know of it later.
    """

    kind: Kind
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing:
    """One object as CloudStack shows it.

    Attributes:
        details: Without the prefix External:, and without the mark.
        mark: "" where it has none.
        kept: A template's details that are not External: an update that left them out would
            delete them.
        owner: Account and domain of it; "" for what has no account.
        shared: Somebody other than a root administrator may have made it: where it has no
            account of its own, a mark alone proves nothing.
        hidden: An offering that is Inactive, a template that is private: retired already.
    """

    kind: Kind
    id: str
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    mark: str = ""
    kept: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""
    shared: bool = False
    hidden: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """One object in our database.

    Attributes:
        number: Of the row.
        id: CloudStack's; None while it is being made.
        retired: Of an older state of the file; instances may still live on it.
        at: When the row last changed.
    """

    number: int
    kind: Kind
    name: str
    id: str | None
    facts: Mapping[str, str] = field(default_factory=dict)
    retired: bool = False
    at: WallSeconds = LONG_AGO


def bears(thing: Thing, mark: str) -> bool:
    """Whether a remembered object is still ours.

    A cluster's mark stands in its registration with the extension: without one it has none.
    """
    unregistered = thing.kind is Kind.CLUSTER and not thing.fields.get("extensionid")
    return thing.mark == mark or (unregistered and not thing.mark)


class Act(StrEnum):
    """What is done to one object."""

    MAKE = "make"
    TAKE_OVER = "take over"
    CHANGE = "change"
    REPLACE = "replace"
    WAIT = "wait"
    RETIRE = "retire"
    REMOVE = "remove"
    REMEMBER = "remember"
    FORGET = "forget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One field or detail that differs.

    Attributes:
        field: A detail's begins with `details.`.
    """

    field: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One object, one act.

    Attributes:
        id: Of the object that is there; None where it is to be made.
        wish: None where nothing of the file stands behind it.
        row: Number of its row in our memory; None where there is none yet.
        why: One sentence; "" where the act says it.
    """

    act: Act
    kind: Kind
    name: str
    id: str | None = None
    wish: Wish | None = None
    thing: Thing | None = None
    row: int | None = None
    changes: tuple[Change, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What leads from what is there to what is wanted.

    Attributes:
        steps: In order.
        refusals: Why it may not be walked; nothing is done while there is one.
        notices: What somebody should know.
        untouched: Objects that are as they should be.
    """

    steps: tuple[Step, ...] = ()
    refusals: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    untouched: int = 0


def changes(wish: Wish, thing: Thing) -> tuple[Change, ...]:
    """All that differs between the two, fields first."""
    found = _differences(
        "", wish.fields, {name: thing.fields.get(name, "") for name in wish.fields}
    )
    return (*found, *_differences("details.", wish.details, thing.details))


def _differences(prefix: str, new: Mapping[str, str], old: Mapping[str, str]) -> Iterable[Change]:
    for name in sorted({*new, *old}):
        if new.get(name, "") != old.get(name, ""):
            yield Change(field=f"{prefix}{name}", old=old.get(name, ""), new=new.get(name, ""))
