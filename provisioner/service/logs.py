"""The service's log: one JSON object a line, with the same fields wherever they are known."""

import json
import logging
import re
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from provisioner.config import LogLevel

FIELDS: Final = ("site", "server", "instance", "operation", "epoch")
"""What `extra` may carry; each becomes a key of the line."""
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
    """One record as one line; no secret, no line end inside."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": masked(record.getMessage())[:MOST_TEXT],
        }
        known = {key: getattr(record, key, None) for key in FIELDS}
        line |= {key: value for key, value in known.items() if value is not None}
        if record.exc_info and record.exc_info[1] is not None:
            lines = traceback.format_exception(record.exc_info[1])
            line["traceback"] = masked("".join(lines))[-MOST_TEXT:]
        return json.dumps(line, default=str)


def configure(stream: TextIO, level: LogLevel) -> None:
    """Send everything there, libraries included; called once, by the composition root."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for noisy in ("uvicorn.error", "uvicorn.access"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
