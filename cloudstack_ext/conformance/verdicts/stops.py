"""Pitfalls of stop, and what CloudStack takes for one. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

_CALLERS = "tests/service/faults/test_callers.py::"

STOPS: Final[Sequence[Pitfall]] = (
    behaviour(
        "7",
        "stop of what is off, unknown or never created",
        "succeeds and touches nothing",
        "stop of what was never heard of succeeds",
        "stop of a stopped instance succeeds",
        "stop after delete succeeds",
    ),
    behaviour(
        "9",
        "the forced flag is not in the payload",
        "each stop is graceful first, hard at its deadline",
        "what was stopped is off",
        "tests/unit/operations/test_conversation.py::test_graceful_first_then_hard",
    ),
    behaviour(
        "10",
        "a forced stop fails: Stopped in CloudStack, the machine maybe on",
        "reconciling does a stop that CloudStack believes done",
        "tests/unit/cloudstack_ext/reconcile/test_loop.py::test_a_stop_that_cloudstack_believes_done_is_done",
    ),
    behaviour(
        "11",
        "destroy without expunge is a stop, and can be taken back",
        "disks and claim stay until delete",
        "an instance s whole life",
    ),
    behaviour(
        "seen c",
        "the stop after a failed create has NICs and disks",
        "they are not looked at",
        "stop of what was never heard of succeeds",
        "create after a failed one and its stop succeeds",
    ),
    behaviour(
        "seen 2.20",
        "stop arrives while create runs",
        "touches nothing until create has ended",
        "stop during create succeeds and the next create too",
        f"{_CALLERS}test_a_job_that_is_cancelled_ends_nothing_while_its_create_runs",
    ),
)
