"""Pitfalls of delete, and what is never deleted. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

_CALLERS = "tests/service/faults/test_callers.py::"

DELETES: Final[Sequence[Pitfall]] = (
    behaviour(
        "12",
        "expunge is delete: quick, again and again, wiped afterwards",
        "answered within ten seconds, for ever true; the wipe goes on behind it",
        "delete of what was never heard of succeeds",
        "delete ends soon",
        "delete may come again",
        "delete during create ends it",
        "start after delete fails",
        "create after delete fails",
    ),
    behaviour(
        "13",
        "what never ran is expunged without any call",
        "a claim that no create takes up ends by itself",
        "delete of what was never heard of succeeds",
        f"{_CALLERS}test_a_stop_after_a_failed_create_gives_the_server_back_when_nobody_asks_again",
    ),
    behaviour(
        "14",
        "a failing or slow delete blocks the expunge thread",
        "it succeeds soon, and may come again",
        "delete ends soon",
        "delete may come again",
    ),
    behaviour(
        "seen 6.4",
        "deleting a project deletes protected instances",
        "fenced and held without a wipe",
        "tests/unit/operations/test_turns.py::test_a_protected_instance_is_fenced_and_stays_un_wiped_until_its_hold_is_over",
    ),
)
