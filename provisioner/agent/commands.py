"""Runs one of the ramdisk's programs. Standard library only."""

import subprocess
from collections.abc import Sequence

_MOST_OUTPUT = 1 << 20


def output_of(argv: Sequence[str], *, limit_s: float) -> str | None:
    """What it printed; None when it is not there, failed, or ran too long. No shell."""
    try:
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout[:_MOST_OUTPUT].decode(errors="replace") if done.returncode == 0 else None
