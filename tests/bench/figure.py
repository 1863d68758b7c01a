"""What every figure says, and how it is shown."""

import statistics
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was run, and what each turn of it took or reached."""

    command: str
    values: list[float]

    @property
    def median(self):
        return statistics.median(self.values)

    @property
    def spread(self):
        """The least and the most."""
        return [_short(min(self.values)), _short(max(self.values))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of `./dev bench`; --output json has these names.

    `value` and `peer_value` are medians, `spread` has the least and the most of each, `ratio` says
    in words of `limit` how the two stand to each other.
    """

    name: str
    value: float
    unit: str
    peer: str | None
    peer_value: float | None
    ratio: float | None
    limit: str | None
    holds: bool
    n: int
    spread: dict
    command: str
    peer_command: str | None

    def to_json(self):
        return asdict(self)


def alone(name, unit, ours, *, most=None):
    """A figure that has a limit at the most, or none; each single value must keep it."""
    return Figure(
        name=name,
        value=_short(ours.median),
        unit=unit,
        peer=None,
        peer_value=None,
        ratio=None,
        limit=None if most is None else f"each <= {most:g} {unit}",
        holds=most is None or max(ours.values) <= most,
        n=len(ours.values),
        spread={"value": ours.spread, "peer_value": None},
        command=ours.command,
        peer_command=None,
    )


def beside(name, unit, ours, peer, theirs, *, ratio=None, limit=None, holds=True, n=None):
    """A figure beside its peer's; the ratio is ours to theirs where nothing else is given."""
    ratio = ours.median / theirs.median if ratio is None else ratio
    return Figure(
        name=name,
        value=_short(ours.median),
        unit=unit,
        peer=peer,
        peer_value=_short(theirs.median),
        ratio=_short(ratio),
        limit=limit,
        holds=holds,
        n=n or len(ours.values),
        spread={"value": ours.spread, "peer_value": theirs.spread},
        command=ours.command,
        peer_command=theirs.command,
    )


def table(figure):
    """Lines for a terminal."""
    verdict = "holds" if figure.holds else "DOES NOT HOLD"
    limit = f"limit {figure.limit}: {verdict}" if figure.limit else "no limit"
    low, high = figure.spread["value"]
    yield f"{figure.name}: {figure.value} {figure.unit} ({low} to {high}, n {figure.n}), {limit}"
    if figure.peer:
        low, high = figure.spread["peer_value"]
        yield f"  {figure.peer}: {figure.peer_value} ({low} to {high}), ratio {figure.ratio}"
    yield f"  ours: {figure.command}"
    if figure.peer_command:
        yield f"  peer: {figure.peer_command}"


def _short(value):
    return round(value, 3 if abs(value) < 100 else 1)
