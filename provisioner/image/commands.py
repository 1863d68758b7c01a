"""Tools that a build cannot do without."""

from collections.abc import Callable, Sequence
from pathlib import Path

from provisioner.errors import ErrorCode, OperatorError
from provisioner.ports.processes import Processes
from provisioner.units import Seconds

Report = Callable[[str], None]
"""Takes one line for people: what begins now."""

LIMIT = Seconds(600)
_FIXED_TIME = {"SOURCE_DATE_EPOCH": "1672531200", "TZ": "UTC"}
"""So that a file system made twice from the same files has the same bytes."""


async def run(processes: Processes, argv: Sequence[str], *, limit: Seconds = LIMIT) -> bytes:
    """The output of a tool that must succeed.

    Raises:
        OperatorError: IMAGE_BUILD: it failed, is not there, or ran too long; its last lines are
            the detail.
    """
    name = Path(argv[0]).name
    try:
        ended = await processes.run(argv, limit=limit, environ=_FIXED_TIME)
    except TimeoutError as error:
        brief = f"{name} did not end in {limit:.0f} s"
        raise OperatorError(ErrorCode.IMAGE_BUILD, brief) from error
    if ended.status != 0:
        detail = (ended.error or ended.output).decode("utf-8", "replace")[-2000:]
        last = detail.strip().rpartition("\n")[2][:300]
        raise OperatorError(
            ErrorCode.IMAGE_BUILD, f"{name} ended with status {ended.status}: {last}", detail
        )
    return ended.output
