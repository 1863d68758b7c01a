"""The service's log: one JSON object a line, with the same fields wherever they are known."""

import json
import logging
import re
import sys
import threading
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from provisioner.about import FIELDS, known
from provisioner.setting_files import LogLevel

log = logging.getLogger(__name__)

MOST_TEXT: Final = 16_000

_SECRET: Final = re.compile(
    r"(?i)(\b(?:bearer|basic)\s+|"
    r"\b[\w.-]*(?:token|password|passwd|secret|private[_-]?key)[\w-]*[\"']?\s*[=:]\s*[\"']?)"
    r"[^\s\"',;&)]+"
)
"""A last net below the type Secret, for texts of others (headers, command lines, URLs)."""


def masked(text: str) -> str:
    """The text with three stars where a token or password would stand."""
    return _SECRET.sub(r"\1***", text)


class JsonLines(logging.Formatter):
    """One record as one line; no secret, no line end inside.

    Args:
        site: Where nothing says another; None where the service speaks with several.
    """

    def __init__(self, site: str | None = None) -> None:
        super().__init__()
        self._site = site

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": masked(record.getMessage())[:MOST_TEXT],
        }
        fields: dict[str, object] = {"site": self._site, **known()}
        fields |= {key: getattr(record, key) for key in FIELDS if hasattr(record, key)}
        line |= {key: fields[key] for key in FIELDS if fields.get(key) is not None}
        if record.exc_info and record.exc_info[1] is not None:
            lines = traceback.format_exception(record.exc_info[1])
            line["traceback"] = masked("".join(lines))[-MOST_TEXT:]
        return json.dumps(line, default=str)


def configure(stream: TextIO, level: LogLevel, site: str | None = None) -> None:
    """Send everything there, libraries included; called once, by the composition root.

    What Python itself would print (warnings, exceptions that end a thread or that nobody can
    catch) is a line like the others.
    """
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines(site))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    threading.excepthook = _thread_ended
    sys.unraisablehook = _ignored
    for noisy in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _thread_ended(ended: threading.ExceptHookArgs) -> None:
    if not isinstance(ended.exc_value, SystemExit):
        name = ended.thread.name if ended.thread else "a thread"
        log.error("%s ended", name, exc_info=ended.exc_value)


def _ignored(what: "sys.UnraisableHookArgs") -> None:
    log.error("%s in %r", what.err_msg or "exception ignored", what.object, exc_info=what.exc_value)
