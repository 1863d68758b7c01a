"""All checks, one after the other."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cloudstack_ext.conformance import (  # noqa: F401 each puts its checks into the suite
    circumstances,
    deletes,
    outputs,
    starts,
    statuses,
    stops,
)
from cloudstack_ext.conformance.model import (
    CHECKS,
    Check,
    FailedError,
    NotJudgedError,
    Outcome,
    Result,
)
from cloudstack_ext.conformance.stage import Stage

log = logging.getLogger(__name__)


def chosen(text: str) -> tuple[Check, ...]:
    """Checks with that in their names, in their order; all of them for ""."""
    return tuple(each for each in CHECKS if text in each.name)


async def run(
    stage: Stage, report: Callable[[Result], None], checks: Sequence[Check]
) -> list[Result]:
    """Judge, telling each result as it comes."""
    results = []
    for each in checks:
        outcome, detail = Outcome.PASSED, ""
        try:
            await each.act(stage)
        except FailedError as error:
            outcome, detail = Outcome.FAILED, str(error)
        except NotJudgedError as error:
            outcome, detail = Outcome.NOT_JUDGED, str(error)
        await stage.tidy()
        result = Result(name=each.name, outcome=outcome, pitfalls=each.pitfalls, detail=detail)
        report(result)
        results.append(result)
    await stage.end()
    return results


def document(results: Sequence[Result]) -> Mapping[str, Any]:
    """For programs."""
    return {
        "version": 1,
        "tests": [
            {
                "name": each.name,
                "outcome": each.outcome.value,
                "pitfalls": list(each.pitfalls),
                "detail": each.detail,
            }
            for each in results
        ],
    }
