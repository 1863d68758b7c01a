"""Bytes on their way: a bar on a terminal, a line a stage elsewhere. The place of rich's bars."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from provisioner.cli.callbacks import Report
from provisioner.cli.output import JSON, console, printable


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
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.fields[stage]}", markup=False),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console(), transient=True) as progress:
        task = progress.add_task("", total=None, stage="")

        def report(stage: str, done: int, total: int) -> None:
            progress.update(task, completed=done, total=total or None, stage=printable(stage))

        yield report


def _lines() -> Report:
    told = [""]

    def report(stage: str, _done: int, _total: int) -> None:
        if stage != told[0]:
            told[0] = stage
            click.echo(printable(stage), err=True)

    return report
