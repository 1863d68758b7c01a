"""Bytes on their way: a bar on a terminal, a line a stage elsewhere. The place of rich's bars."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from provisioner.cli.callbacks import Report
from provisioner.cli.output import JSON, amount, console, printable


@contextmanager
def reporting(output: str) -> Iterator[Report]:
    """A function to call with stage, bytes done and bytes in all, from any thread.

    Args:
        output: Where it is JSON, or standard output is no terminal, stages go to standard
            error as lines, so that what a program reads stays clean.
    """
    if output == JSON or not sys.stdout.isatty():
        yield _lines()
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.fields[stage]}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[moved]}", markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(), transient=True) as progress:
        task = progress.add_task("", total=None, stage="", moved="")

        def report(stage: str, done: int, total: int) -> None:
            text, moved = printable(stage), moved_text(done, total)
            progress.update(task, completed=done, total=total or None, stage=text, moved=moved)

        yield report


def is_watched() -> bool:
    """Somebody sits there; else standard error is for the one line of an error."""
    return sys.stdout.isatty() or sys.stderr.isatty()


def unheard(_stage: str, _done: int, _total: int) -> None:
    """Where nobody hears of progress."""


def moved_text(done: int, total: int) -> str:
    """Bytes done of all; only what is known, and nothing where no bytes move."""
    if total:
        return f"{amount(done)} of {amount(total)}"
    return amount(done) if done else ""


def _lines() -> Report:
    told = [""]

    def report(stage: str, _done: int, _total: int) -> None:
        if stage != told[0]:
            told[0] = stage
            click.echo(printable(stage), err=True)

    return report
