"""Pitfalls of what is printed, left behind or read by a tenant. Pure."""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.verdict import Pitfall, behaviour

_ENTRY = "tests/service/entry/test_entry.py::"

OUTPUTS: Final[Sequence[Pitfall]] = (
    behaviour(
        "19",
        "more than 64 KiB of output",
        "one line, never more than 32 KiB",
        "a payload of a megabyte is answered in short",
        f"{_ENTRY}test_the_largest_line_is_printed_and_one_byte_more_is_not",
    ),
    behaviour(
        "20",
        "a word on stderr breaks the JSON",
        "stderr of the entry leads nowhere",
        "prepare prints an object or nothing",
        "getconsole is a console or a failure",
        f"{_ENTRY}test_its_stderr_leads_nowhere",
    ),
    behaviour(
        "21",
        "a child in the background keeps the output",
        "the entry starts nothing; what takes long is the service's",
        "nothing is left that keeps the output open",
    ),
    behaviour(
        "46",
        "secrets in details are clear text everywhere",
        "none is put there or asked for there",
        "tests/unit/invariants/test_12_secrets.py::test_a_whole_walk_leaves_no_secret_anywhere",
    ),
    behaviour(
        "47",
        "the text of an error is invisible to the user",
        "an annotation of the instance tells it",
        "tests/unit/cloudstack_ext/test_failure_notes.py::test_a_failed_deployment_is_explained_once_and_names_no_server",
        "tests/service/faults/test_failure_notes.py::test_the_tenant_reads_why_and_reads_it_no_more_after_a_success",
    ),
    behaviour(
        "seen d",
        "the text of a failing forced stop reaches the user",
        "a tenant may read each text: no machine is named",
        "tests/service/faults/test_actions_change.py::test_a_failure_is_explained_without_naming_the_machine",
    ),
    behaviour(
        "seen g2",
        "a held output is a race: three of ten calls hang",
        "nothing is left behind",
        "nothing is left that keeps the output open",
    ),
)
