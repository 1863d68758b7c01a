"""All pitfalls in the order of their numbers; docs/pitfalls.md is made from it. Pure.

The rows stand in verdicts/, a table a verb or subject.
"""

from collections.abc import Sequence
from typing import Final

from cloudstack_ext.conformance.verdicts.deletes import DELETES
from cloudstack_ext.conformance.verdicts.outputs import OUTPUTS
from cloudstack_ext.conformance.verdicts.payloads import PAYLOADS
from cloudstack_ext.conformance.verdicts.registration import REGISTRATION
from cloudstack_ext.conformance.verdicts.starts import STARTS
from cloudstack_ext.conformance.verdicts.statuses import STATUSES
from cloudstack_ext.conformance.verdicts.stops import STOPS
from cloudstack_ext.conformance.verdicts.verbs import VERBS
from cloudstack_ext.conformance.verdicts.verdict import OWN, Kind, Pitfall

ELSEWHERE_MOST: Final = 15
"""Verdicts that are no behaviour and no check of the registration."""
SOURCES: Final = ("", "seen", "read")
"""What stands before a number: nothing in the contract's own table."""


def _place(row: Pitfall) -> tuple[int, list[tuple[bool, str]]]:
    """Letters before numbers, 2.8 before 2.10."""
    source, _, section = row.number.rpartition(" ")
    return SOURCES.index(source), [
        (part.isdigit(), part.zfill(2) if part.isdigit() else part) for part in section.split(".")
    ]


PITFALLS: Final[Sequence[Pitfall]] = sorted(
    (*STARTS, *STOPS, *DELETES, *STATUSES, *OUTPUTS, *VERBS, *PAYLOADS, *REGISTRATION), key=_place
)
CONTRACT: Final = [each for each in PITFALLS if each.number.isdigit()]
SEEN: Final = [each for each in PITFALLS if not each.number.isdigit()]


def page() -> str:
    """docs/pitfalls.md, which is written from here and never by hand."""
    count = {kind: sum(each.kind is kind for each in PITFALLS) for kind in Kind}
    counted = ", ".join(f"{number} {kind}" for kind, number in count.items())
    return f"""# Pitfalls of CloudStack's contract

Generated from `cloudstack_ext/conformance/pitfalls.py`; a test compares, and looks each name up.
Numbers are those of the contract's table; *seen* is a section of what was seen on a running server
4.22, *read* one of what was read from its source. A name in quotes is a check of
`rackwright cloudstack conformance`; a check of `verify` or a setting that it advises on stands in
code. {counted}.

## The contract's table

{_table(CONTRACT)}

## What was seen besides

What is new, refined or wrong there, and concerns an extension.

{_table(SEEN)}
"""


def _table(rows: Sequence[Pitfall]) -> str:
    head = "| | situation | verdict | what is done | by |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        f"| {row.number} | {row.situation} | {row.kind} | {row.answer} | {_by(row)} |"
        for row in rows
    )


def _by(row: Pitfall) -> str:
    if row.kind is Kind.BEHAVIOUR:
        named = [f"`{each}`" if each.startswith(OWN) else f'"{each}"' for each in row.by]
    else:
        named = [f"`{each}`" for each in row.by]
    return "; ".join([*named, *filter(None, [row.source])])
