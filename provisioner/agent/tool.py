"""Run one of the ramdisk's tools with a limit."""

import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
NOT_THERE = 127
TOO_LONG = 124
REAP_S = 10
MOST_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    """How a tool ended; 127 is "not there", 124 is "ran too long"."""

    status: int
    output: bytes = b""
    error: bytes = b""

    def text(self) -> str:
        """What it printed to standard output."""
        return self.output.decode(errors="replace")

    def why(self) -> str:
        """Its status and the end of what it said, in one line."""
        said = (self.error or self.output).decode(errors="replace").split()
        return f"status {self.status}: {' '.join(said)[-MOST_TEXT:]}"


RunTool = Callable[[Sequence[str], float], ToolEnded]
"""argv (no shell) and a limit in seconds."""


def run_tool(argv: Sequence[str], limit_s: float) -> ToolEnded:
    """Run without a shell; at the limit its group is killed and left behind if it hangs."""
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": PATH, "LC_ALL": "C"},
            start_new_session=True,
        )
    except OSError as error:
        return ToolEnded(status=NOT_THERE, error=str(error).encode())
    try:
        output, complaint = child.communicate(timeout=limit_s)
        return ToolEnded(status=child.returncode, output=output, error=complaint)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
    # one that hangs in the disk's driver cannot be killed; the disk is given up instead
    with suppress(subprocess.TimeoutExpired):
        child.communicate(timeout=REAP_S)
    return ToolEnded(status=TOO_LONG, error=f"ran longer than {limit_s:.0f} s".encode())
