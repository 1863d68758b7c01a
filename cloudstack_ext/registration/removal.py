"""What leads back to a CloudStack without us. Pure.

Refused while there are instances: unregistering would stop them all, and deleting a host by
force would leave them without one for ever.
"""

from collections.abc import Iterable, Sequence

from cloudstack_ext.registration.found import Found
from cloudstack_ext.registration.model import (
    MADE,
    Act,
    Kind,
    Plan,
    Remembered,
    Step,
    Thing,
    bears,
    mark_of,
)
from cloudstack_ext.registration.plan import names_of

ORDER = tuple(reversed(MADE))


def make_removal(
    found: Found, memory: Sequence[Remembered], *, database: str, account: str
) -> Plan:
    """The steps, or why there may be none.

    Args:
        found: What CloudStack shows, with all instances of our extension.
        memory: All rows of this site.
        database: The id of our database.
        account: Of the key.
    """
    if _sees_nothing(found, memory):
        text = (
            "CloudStack shows none of the registered objects: is this the endpoint, and the key?"
            " Where they were all deleted by hand, DELETE /v1/registered/NUMBER forgets each"
        )
        return Plan(refusals=(text,))
    refusals, steps = [], []
    if found.instances:
        count = len(found.instances)
        refusals.append(f"there are {count} instances: {names_of(found.instances)}")
    things = {(thing.kind, thing.id): thing for thing in found.things}
    seen: set[tuple[Kind, str]] = set()
    for kind in ORDER:
        for row in (row for row in memory if row.kind is kind):
            thing = things.get((kind, row.id or ""))
            if thing is not None and not bears(thing, mark_of(database, kind, row.name)):
                refusals.append(
                    f"{kind} {row.name} ({row.id}) does not bear our mark: put it back, or delete"
                    " the object by hand"
                )
            elif thing is not None:
                seen.add((kind, thing.id))
                steps.append(_removal(thing, row.name, row.number))
        others = _unremembered(found.of(kind), seen, database=database, account=account)
        steps += [_removal(thing, thing.name, None) for thing in others]
    forgotten = [
        Step(act=Act.FORGET, kind=row.kind, name=row.name, id=row.id, row=row.number)
        for row in memory
        if (row.kind, row.id or "") not in things
    ]
    # the extension's row stays to the end: all others are gone once it alone is not shown
    return Plan(steps=(*forgotten, *steps), refusals=tuple(refusals))


def _sees_nothing(found: Found, memory: Sequence[Remembered]) -> bool:
    """Another CloudStack. The extension alone may be gone: of a removal cut off at its end."""
    ids = {row.id for row in memory if row.id and row.kind is not Kind.FOREIGN_TEMPLATE}
    more = any(row.id and row.kind in ORDER[:-1] for row in memory)
    return more and not any(thing.id in ids for thing in found.things)


def _removal(thing: Thing, name: str, row: int | None) -> Step:
    return Step(act=Act.REMOVE, kind=thing.kind, name=name, id=thing.id, thing=thing, row=row)


def _unremembered(
    things: Iterable[Thing], seen: set[tuple[Kind, str]], *, database: str, account: str
) -> list[Thing]:
    """What a making that was cut off left behind."""
    return [
        thing
        for thing in things
        if thing.mark.startswith(f"{database}/{thing.kind}/")
        and (thing.kind, thing.id) not in seen
        and thing.owner in {"", account}
        and not thing.shared
    ]
