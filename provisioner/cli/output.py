"""What a command prints: tables for people, JSON for programs. The place of rich's tables.

Text that came from servers is never taken as markup, nor as something a terminal obeys.
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from rich.console import Console

TABLE: Final = "table"
JSON: Final = "json"
WIDE: Final = 10_000
"""Columns where nobody looks at a terminal: nothing is cut."""
KIB: Final = 1024


def printable(value: object) -> str:
    """One line of text that a terminal shows and does not obey."""
    text = "" if value is None else str(value)
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)


def moment(at: float | None) -> str:
    """A time as people read it, in UTC; "" where there is none."""
    if at is None:
        return ""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def amount(count: int) -> str:
    """Bytes as people read them."""
    value, units = float(count), ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]
    while value >= KIB and len(units) > 1:
        value, units = value / KIB, units[1:]
    return f"{value:.0f} {units[0]}" if units[0] == "B" else f"{value:.1f} {units[0]}"


def console() -> "Console":
    """On standard output, as wide as the terminal, or as wide as needed where there is none."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDE
    return Console(width=width, highlight=False, emoji=False, markup=False)


def show_json(tree: object) -> None:
    """For programs."""
    click.echo(json.dumps(tree, indent=2))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """For people: one row a line."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(each)) for each in row))
    console().print(table)


def show_record(fields: Mapping[str, object]) -> None:
    """For people: one field a line; empty ones are left out."""
    width = max((len(name) for name in fields), default=0)
    for name, value in fields.items():
        if value not in (None, "", (), [], {}):
            click.echo(f"{name:<{width}}  {printable(value)}")


def show_plan(asked: Mapping[str, Any]) -> None:
    """What would be done, or is being done: steps, and the calls of each."""
    for step in asked["steps"]:
        click.echo(f"  {printable(step['name'])}")
        for call in step["calls"]:
            click.echo(f"    {printable(call['door'])}: {printable(call['text'])}")
