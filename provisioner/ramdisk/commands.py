"""Runs one program of the build and takes its failure for what it is."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError

LIMIT_S = 600.0
"""No step of a build takes a tenth of this; a hanging mirror does."""


def run(argv: Sequence[str], *, folder: Path | None = None, output: Path | None = None) -> bytes:
    """Run without a shell, without input, in the C locale; answer what it printed.

    Args:
        argv: Program and arguments.
        folder: Working folder; None keeps ours.
        output: A file that receives the standard output instead.

    Raises:
        OperatorError: RAMDISK_BUILD: it failed, is not there, or ran too long.
    """
    try:
        with (output or Path(os.devnull)).open("wb") as file:
            done = subprocess.run(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=file if output else subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                # apt finds its proxy in the caller's environment
                env={**os.environ, "LC_ALL": "C", "TZ": "UTC"},
                timeout=LIMIT_S,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OperatorError(
            ErrorCode.RAMDISK_BUILD, f"cannot run {Path(argv[0]).name}: {error}"
        ) from error
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise OperatorError(
            ErrorCode.RAMDISK_BUILD,
            f"{_name(argv)} ended with {done.returncode}: {last[0][:300]}",
            detail=" ".join(argv),
        )
    return done.stdout or b""


def _name(argv: Sequence[str]) -> str:
    program = argv[argv.index("--argv0") + 1] if "--argv0" in argv else argv[0]
    return Path(program).name
