"""Commands that end: run, looked at, and turned into one clear line when they fail."""

import shlex
import subprocess
from collections.abc import Sequence

from provisioner.errors import ErrorCode, OperatorError

_LIMIT_S = 60.0


def run(argv: Sequence[str], *, given: str = "", limit_s: float = _LIMIT_S) -> str:
    """What the command wrote.

    Raises:
        OperatorError: LAB: it is not installed, ran too long or ended with another status
            than 0; `detail` has what it said.
    """
    ended = attempt(argv, given=given, limit_s=limit_s)
    if ended.returncode:
        raise OperatorError(
            ErrorCode.LAB,
            f"{shlex.join(argv)[:200]} ended with status {ended.returncode}: {_last_line(ended)}",
            detail=f"{ended.stdout}{ended.stderr}",
        )
    return ended.stdout


def attempt(
    argv: Sequence[str], *, given: str = "", limit_s: float = _LIMIT_S
) -> subprocess.CompletedProcess[str]:
    """The same where a status other than 0 is an answer.

    Raises:
        OperatorError: LAB: it is not installed, or ran too long.
    """
    try:
        return subprocess.run(
            list(argv),
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise OperatorError(
            ErrorCode.LAB, f"{argv[0]} is not installed; ./dev installs what the lab needs"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise OperatorError(
            ErrorCode.LAB, f"{shlex.join(argv)[:200]} did not end in {limit_s:.0f} s"
        ) from error


def _last_line(ended: subprocess.CompletedProcess[str]) -> str:
    lines = (ended.stderr or ended.stdout).strip().splitlines()
    return lines[-1] if lines else "it said nothing"
