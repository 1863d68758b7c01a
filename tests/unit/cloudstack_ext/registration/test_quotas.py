"""Limits of the key's own account, by recorded rows of listAccounts."""

import json
from pathlib import Path

import pytest

from cloudstack_ext.registration.model import Act, Kind, Plan, Step
from cloudstack_ext.registration.quotas import over_limits

RECORDED = Path(__file__).parents[3] / "data" / "cloudstack_api" / "listAccounts.json"


def account(name):
    rows = json.loads(RECORDED.read_text())["answer"]["listaccountsresponse"]["account"]
    return next(row for row in rows if row["name"] == name)


def plan(*acts, kind=Kind.TEMPLATE):
    return Plan(steps=tuple(Step(act=act, kind=kind, name=f"t{n}") for n, act in enumerate(acts)))


def test_a_root_admins_account_is_unlimited():
    assert account("admin")["templateavailable"] == "Unlimited"
    assert over_limits(plan(*[Act.MAKE] * 100), account("admin")) == ()


@pytest.mark.parametrize(("made", "refused"), [(20, False), (21, True)])
def test_one_template_more_than_are_left_is_refused(made, refused):
    found = over_limits(plan(*[Act.MAKE] * made), account("baremetal-system-account"))
    assert bool(found) is refused


def test_the_line_says_how_many_and_what_to_do():
    acts = [Act.MAKE, Act.REPLACE, Act.RETIRE, Act.CHANGE]
    row = account("baremetal-system-account") | {"templateavailable": "1"}
    (line,) = over_limits(plan(*acts), row)
    assert line == (
        "account baremetal-system-account may have 20 templates and 1 are left, the plan makes 2:"
        " raise its limit (updateResourceLimit, resourcetype 4), or name fewer images"
    )


@pytest.mark.parametrize("row", [None, {}, {"name": "a", "templateavailable": None}])
def test_where_nothing_is_told_nothing_is_refused(row):
    assert over_limits(plan(*[Act.MAKE] * 100), row) == ()


def test_other_objects_are_not_counted():
    row = account("baremetal-system-account") | {"templateavailable": "0"}
    assert over_limits(plan(Act.MAKE, kind=Kind.OFFERING), row) == ()
