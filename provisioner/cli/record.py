"""`--evidence DIR`: an unsigned record of one change: asked, done, checked, reached.

It is for the operator's own files. Wipes are proved by the signed chain, not by this.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from provisioner.cli.options import option
from provisioner.cli.session import FILE, Session
from provisioner.errors import ErrorCode, InputError

VERSION: Final = 1
evidence_option = option(
    "--evidence",
    type=FILE,
    metavar="DIR",
    help="Write an unsigned record of what was asked, done and reached into this folder.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a command leaves behind.

    Attributes:
        asked: In one line.
        done: What the service answered.
        checked: What was read afterwards, in one line.
        state: What was read.
        repeat: Words of the command that reads it again.
    """

    asked: str
    done: Mapping[str, Any]
    checked: str
    state: Mapping[str, Any]
    repeat: Sequence[str]


def write_record(folder: Path | None, session: Session, reached: Reached) -> None:
    """Write it; nothing where no folder was named. An older record is never replaced.

    Raises:
        InputError: FILE_UNREADABLE.
    """
    if folder is None:
        return
    at = datetime.fromtimestamp(session.callbacks.now(), UTC)
    body = {
        "version": VERSION,
        "signed": False,
        "at": at.isoformat(timespec="milliseconds"),
        "by": {"uid": os.getuid(), "command": ["rackwright", *session.argv]},
        "asked": reached.asked,
        "done": reached.done,
        "checked": reached.checked,
        "state": reached.state,
        "repeat": ["rackwright", *reached.repeat],
    }
    words = re.sub(r"[^a-z0-9]+", "-", reached.asked.lower()).strip("-")[:60]
    path = folder / f"{at.strftime('%Y%m%dT%H%M%S.%fZ')}-{words}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(json.dumps(body, indent=2) + "\n")
    except OSError as error:
        raise InputError(ErrorCode.FILE_UNREADABLE, f"{path}: {error.strerror}") from error


def record_reading(
    folder: Path | None,
    session: Session,
    path: str,
    *,
    asked: str,
    done: Mapping[str, Any],
    checked: str,
    repeat: Sequence[str],
) -> None:
    """The same with what the service says at one path; not asked where no folder was named."""
    if folder is None:
        return
    reached = Reached(
        asked=asked,
        done=done,
        checked=checked,
        state=session.service().ask("GET", path),
        repeat=[*repeat, "--output", "json"],
    )
    write_record(folder, session, reached)
