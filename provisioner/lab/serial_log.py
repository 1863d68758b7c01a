"""Reading a server's serial console as it was written down."""

import re
import time
from dataclasses import dataclass
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError

_CONTROL = re.compile(rb"\x1b\[[0-9;=?]*[a-zA-Z]|\x1b[c78=>]|\r")
_LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class SerialLog:
    """A log that only grows; marks are places in it.

    Attributes:
        path: May not exist yet.
    """

    path: Path

    def mark(self) -> int:
        """Where it ends now."""
        return self.path.stat().st_size if self.path.exists() else 0

    def text(self, since: int = 0) -> str:
        """What was written since the mark, without terminal control."""
        if not self.path.exists():
            return ""
        with self.path.open("rb") as log:
            log.seek(since)
            return _CONTROL.sub(b"", log.read()).decode("utf-8", "replace")

    def last_lines(self, count: int, since: int = 0) -> str:
        """For an error's detail."""
        return "\n".join(self.text(since).splitlines()[-count:])

    def wait_for(self, pattern: str, *, since: int = 0, within_s: float) -> re.Match[str]:
        """The first match of the pattern in what was written since the mark.

        Raises:
            OperatorError: LAB: nothing like it came; `detail` has the last 20 lines.
        """
        wanted = re.compile(pattern, re.MULTILINE)
        deadline = time.monotonic() + within_s
        while (found := wanted.search(self.text(since))) is None:
            if time.monotonic() > deadline:
                raise OperatorError(
                    ErrorCode.LAB,
                    f"{self.path} did not show {pattern!r} within {within_s:.0f} s",
                    detail=self.last_lines(20, since),
                )
            time.sleep(_LOOK_S)
        return found
