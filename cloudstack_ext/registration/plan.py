"""What leads from what is there to what the file wants. Pure: the heart of a registration.

An object is ours only where its mark and its id in our database agree. What bears our mark and
is not remembered (a create whose answer was lost, a database that was lost) is taken over, but
only from the key's own account: tenants can copy a template's details.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cloudstack_ext.registration.found import Found, Instance
from cloudstack_ext.registration.model import (
    LATER,
    REMADE,
    RETIRED_NOT_REMOVED,
    SETTLED,
    UNIQUE,
    Act,
    Change,
    Kind,
    Plan,
    Remembered,
    Step,
    Thing,
    Wish,
    bears,
    changes,
    mark_of,
)


def make_plan(
    wishes: Sequence[Wish],
    found: Found,
    memory: Sequence[Remembered],
    *,
    database: str,
    account: str,
) -> Plan:
    """The steps, or why there may be none.

    Args:
        wishes: In the order of making; ids of what is not made yet are LATER.
        found: What CloudStack shows.
        memory: All rows of this site, retired ones too.
        database: The id of our database, which is in every mark.
        account: Of the key, as `Thing.owner` has it.
    """
    planner = _Planner(found=found, memory=memory, database=database, account=account)
    if planner.sees_nothing():
        text = f"CloudStack shows none of {len(planner.ids)} registered objects: is this the key?"
        return Plan(refusals=(text,))
    steps = [step for wish in wishes for step in planner.reach(wish)]
    if any(step.kind is Kind.HOST and step.act is Act.MAKE for step in steps):
        steps.insert(_first_host(steps), _path_ready(wishes))
    steps += planner.left_over(wishes)
    return Plan(
        steps=tuple(steps),
        refusals=tuple(planner.refusals),
        notices=tuple(planner.notices),
        untouched=planner.untouched,
    )


def extension_and_cluster(
    memory: Iterable[Remembered], found: Found, *, database: str
) -> tuple[str, str]:
    """Their ids where they are known or bear our mark, else LATER: other wishes name them."""
    ids = []
    for kind in (Kind.EXTENSION, Kind.CLUSTER):
        there = {thing.id: thing for thing in found.of(kind)}
        known = [
            row.id for row in memory if row.kind is kind and not row.retired and row.id in there
        ]
        marked = [
            thing.id for thing in there.values() if thing.mark.startswith(f"{database}/{kind}/")
        ]
        ids.append((*known, *marked, LATER)[0] or LATER)
    return ids[0], ids[1]


def _first_host(steps: Sequence[Step]) -> int:
    return next(n for n, step in enumerate(steps) if step.kind is Kind.HOST)


def _path_ready(wishes: Sequence[Wish]) -> Step:
    name = next(wish.name for wish in wishes if wish.kind is Kind.EXTENSION)
    why = "a host that is added before the extension's path is ready stays unusable"
    return Step(act=Act.WAIT, kind=Kind.EXTENSION, name=name, why=why)


@dataclass(slots=True, kw_only=True)
class _Planner:
    found: Found
    memory: Sequence[Remembered]
    database: str
    account: str
    refusals: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    untouched: int = 0
    ids: frozenset[str] = frozenset()
    things: Mapping[tuple[Kind, str], Thing] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index what is searched again and again."""
        self.ids = frozenset(
            row.id for row in self.memory if row.id and row.kind is not Kind.FOREIGN_TEMPLATE
        )
        self.things = {(thing.kind, thing.id): thing for thing in self.found.things}

    def sees_nothing(self) -> bool:
        """An API that answers with empty lists must not make us register everything anew."""
        return bool(self.ids) and not any(thing.id in self.ids for thing in self.found.things)

    def reach(self, wish: Wish) -> Iterable[Step]:
        """What one wish needs."""
        row = next(
            (
                each
                for each in self.memory
                if each.kind is wish.kind and each.name == wish.name and not each.retired
            ),
            None,
        )
        if wish.kind is Kind.FOREIGN_TEMPLATE:
            yield from self._remembered_only(wish, row)
            return
        thing = self.things.get((wish.kind, row.id)) if row is not None and row.id else None
        if thing is not None:
            yield from self._ours(wish, row, thing)
            return
        self._look_for_names(wish)
        yield from self._not_known(wish, row)

    def _remembered_only(self, wish: Wish, row: Remembered | None) -> Iterable[Step]:
        if row is not None and row.facts == wish.facts:
            self.untouched += 1
            return
        yield _step(Act.REMEMBER, wish, row=row)

    def _ours(self, wish: Wish, row: Remembered | None, thing: Thing) -> Iterable[Step]:
        assert row is not None
        expected = mark_of(self.database, wish.kind, wish.name)
        if not bears(thing, expected):
            has = f"has the mark {thing.mark}" if thing.mark else "has lost its mark"
            self.refusals.append(
                f"{wish.kind} {wish.name} ({thing.id}) {has}: put {expected} back into its"
                " details if it is ours, else rename it"
            )
            return
        yield from self._differing(wish, row, thing, Act.CHANGE)

    def _differing(
        self, wish: Wish, row: Remembered | None, thing: Thing, act: Act
    ) -> Iterable[Step]:
        differing = changes(wish, thing)
        fields = {change.field for change in differing}
        settled = fields & SETTLED.get(wish.kind, frozenset())
        if settled:
            names = ", ".join(sorted(settled))
            self.refusals.append(
                f"{wish.kind} {wish.name}: {names} cannot be changed; `unregister` it first"
            )
        elif (
            wish.kind is Kind.CLUSTER
            and thing.fields.get("extensionid")
            and "extensionid" in fields
        ):
            other = thing.fields["extensionid"]
            self.refusals.append(f"cluster {wish.name} belongs to another extension ({other})")
        elif fields & REMADE.get(wish.kind, frozenset()):
            names = ", ".join(sorted(fields & REMADE[wish.kind]))
            why = f"no command changes {names}; the old one is retired, its instances live on"
            yield _step(Act.REPLACE, wish, thing, row=row, changes=differing, why=why)
            yield _retire(wish.kind, wish.name, thing)
        elif differing or act is Act.TAKE_OVER:
            yield _step(act, wish, thing, row=row, changes=differing)
        elif row is not None and row.facts != wish.facts:
            yield _step(Act.REMEMBER, wish, thing, row=row)
        else:
            self.untouched += 1

    def _not_known(self, wish: Wish, row: Remembered | None) -> Iterable[Step]:
        marked = [each for each in self._marked(wish) if self._may_take(each, row)]
        half = self._half_made_cluster(wish, row)
        if len(marked) > 1:
            ids = ", ".join(each.id for each in marked)
            self.refusals.append(
                f"{wish.kind} {wish.name}: {len(marked)} objects bear its mark ({ids}):"
                " delete all but one"
            )
        elif marked or half:
            thing = marked[0] if marked else half
            assert thing is not None
            yield from self._differing(wish, row, thing, Act.TAKE_OVER)
        elif not self._name_is_taken(wish):
            why = "it was registered, and somebody has deleted it" if row and row.id else ""
            yield _step(Act.MAKE, wish, row=row, why=why)

    def _marked(self, wish: Wish) -> list[Thing]:
        mark = mark_of(self.database, wish.kind, wish.name)
        return [
            thing
            for thing in self.found.of(wish.kind)
            if thing.mark == mark and thing.id not in self.ids
        ]

    def _may_take(self, thing: Thing, row: Remembered | None) -> bool:
        """Of the key's own account; without one, only what no tenant's admin can make."""
        being_made = row is not None and row.id is None
        ours = not thing.owner or thing.owner == self.account
        if ours and (being_made or not thing.shared):
            return True
        owner = thing.owner or "a domain's administrator, perhaps"
        self.notices.append(
            f"{thing.kind} {thing.name} ({thing.id}) bears our mark and is of {owner}: left alone"
        )
        return False

    def _half_made_cluster(self, wish: Wish, row: Remembered | None) -> Thing | None:
        """CloudStack makes a cluster first and registers its extension, with the mark, then."""
        if wish.kind is not Kind.CLUSTER or row is None or row.id is not None:
            return None
        return next(
            (
                each
                for each in self.found.of(Kind.CLUSTER)
                if each.name == wish.name
                and not each.mark
                and not each.fields.get("extensionid")
                and each.fields.get("podid") == wish.fields["podid"]
            ),
            None,
        )

    def _name_is_taken(self, wish: Wish) -> bool:
        if wish.kind not in UNIQUE:
            return False
        other = next((each for each in self.found.of(wish.kind) if each.name == wish.name), None)
        if other is None:
            return False
        whose = f"with the mark {other.mark}" if other.mark else "without a mark"
        self.refusals.append(
            f"{wish.kind} {wish.name}: the name is taken by {other.id}, {whose}: it is not ours"
        )
        return True

    def _look_for_names(self, wish: Wish) -> None:
        """Two templates or offerings of one name are allowed, and puzzle people."""
        if wish.kind in UNIQUE:
            return
        same = [
            each.id
            for each in self.found.of(wish.kind)
            if each.name == wish.name and not each.mark and not each.hidden
        ]
        if same:
            self.notices.append(
                f"{wish.kind} {wish.name}: somebody else's has the same name ({', '.join(same)})"
            )

    def left_over(self, wishes: Iterable[Wish]) -> list[Step]:
        """What was registered and is wanted no more; the last that was made goes first."""
        wanted = {(wish.kind, wish.name) for wish in wishes}
        order = {kind: number for number, kind in enumerate(Kind)}
        rows = sorted(self.memory, key=lambda row: order[row.kind], reverse=True)
        steps: list[Step] = []
        for row in rows:
            if row.retired or (row.kind, row.name) not in wanted:
                steps += self._not_wanted(row)
        return steps

    def _not_wanted(self, row: Remembered) -> Iterable[Step]:
        thing = self.things.get((row.kind, row.id or ""))
        if thing is None:
            if not row.retired:
                yield Step(act=Act.FORGET, kind=row.kind, name=row.name, id=row.id, row=row.number)
            return
        if not bears(thing, mark_of(self.database, row.kind, row.name)):
            self.notices.append(
                f"{row.kind} {row.name} ({row.id}) is not wanted and bears no mark of ours any"
                " more: left alone"
            )
        elif row.kind in RETIRED_NOT_REMOVED:
            if not (row.retired and thing.hidden):
                yield _retire(row.kind, row.name, thing)
        elif row.kind in {Kind.EXTENSION, Kind.CLUSTER}:
            self.refusals.append(
                f"{row.kind} {row.name} is registered and the file names another one:"
                " `unregister` it first"
            )
        else:
            yield from self._removed(row, thing)

    def _removed(self, row: Remembered, thing: Thing) -> Iterable[Step]:
        on_it = [each for each in self.found.instances or () if each.host == thing.id]
        if row.kind is Kind.HOST and on_it:
            self.refusals.append(f"host {row.name} has instances: {names_of(on_it)}")
            return
        yield Step(
            act=Act.REMOVE, kind=row.kind, name=row.name, id=thing.id, thing=thing, row=row.number
        )


def names_of(instances: Sequence[Instance]) -> str:
    """The first few, for people."""
    shown = ", ".join(f"{each.name} ({each.id})" for each in instances[:5])
    return f"{shown} and {len(instances) - 5} more" if len(instances) > 5 else shown  # noqa: PLR2004


def _step(
    act: Act,
    wish: Wish,
    thing: Thing | None = None,
    *,
    row: Remembered | None = None,
    changes: tuple[Change, ...] = (),
    why: str = "",
) -> Step:
    return Step(
        act=act,
        kind=wish.kind,
        name=wish.name,
        id=thing.id if thing else None,
        wish=wish,
        thing=thing,
        row=row.number if row else None,
        changes=changes,
        why=why,
    )


def _retire(kind: Kind, name: str, thing: Thing) -> Step:
    how = "Inactive" if kind is Kind.OFFERING else "private"
    return Step(
        act=Act.RETIRE, kind=kind, name=name, id=thing.id, thing=thing, why=f"becomes {how}"
    )
