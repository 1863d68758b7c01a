"""Following an operation: a line a stage, and a bar fed by acknowledged bytes."""

import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, Final

import click

from provisioner.cli.output import JSON, moment, printable
from provisioner.cli.progress import reporting
from provisioner.cli.session import Door
from provisioner.errors import ErrorCode, OperatorError, TransientError

OPEN: Final = "open"
DONE: Final = "done"


def follow(
    service: Door, identifier: str, output: str, *, wanted_end: str = DONE
) -> Mapping[str, Any]:
    """Print what happens until the operation has ended; answers its last form.

    Raises:
        RackwrightError: As the operation ended, where it did not end well.
        TransientError: SERVICE_STOPPING: the service let go; the operation goes on.
    """
    last: Mapping[str, Any] = {}
    told: set[str] = set()
    bars = output != JSON and sys.stdout.isatty()
    with reporting(output) if bars else nullcontext(_nothing) as advance:
        for event in service.events(f"/v1/operations/{identifier}/events"):
            last = event["operation"]
            if output == JSON:
                click.echo(json.dumps(event))
                continue
            _tell_stages(last, told)
            done, total = last["progress_bytes"]
            advance(last["note"] or _running(last), done, total)
    _judge(last, identifier, wanted_end)
    return last


def _tell_stages(operation: Mapping[str, Any], told: set[str]) -> None:
    for stage in operation["stages"]:
        if stage["ended_at"] is not None and stage["name"] not in told:
            told.add(stage["name"])
            line = f"{moment(stage['ended_at'])}  {stage['name']}  {stage['seconds']:.1f} s"
            click.echo(printable(line))


def _judge(operation: Mapping[str, Any], identifier: str, wanted_end: str) -> None:
    status = operation.get("status", OPEN)
    if status in {DONE, wanted_end}:
        return
    if status == OPEN:
        text = f"the service let go; `rackwright operation follow {identifier}` goes on"
        raise TransientError(ErrorCode.SERVICE_STOPPING, text)
    known = operation["code"] or status.upper()
    code = ErrorCode(known) if known in set(ErrorCode) else ErrorCode.CANNOT_TELL
    raise OperatorError(
        code, operation["brief"] or f"the operation was {status}", operation["detail"]
    )


def _nothing(_stage: str, _done: int, _total: int) -> None:
    """Where stages are told by lines alone."""


def _running(operation: Mapping[str, Any]) -> str:
    stages = operation["stages"]
    begun = [stage["name"] for stage in stages if stage["began_at"] and not stage["ended_at"]]
    return str(begun[-1]) if begun else ""
