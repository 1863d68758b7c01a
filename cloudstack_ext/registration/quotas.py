"""Limits of the key's own account that a plan would run into. Pure.

Source of the fields: recorded listAccounts. CloudStack limits no root admin's account, and no
command that a registration makes counts for another one's; templates alone are counted.
"""

from collections.abc import Mapping
from typing import Any, Final

from cloudstack_ext.registration.model import Act, Kind, Plan

Row = Mapping[str, Any]
TEMPLATE_TYPE: Final = 4
"""`resourcetype` of templates, by recorded listResourceLimits."""


def over_limits(plan: Plan, account: Row | None) -> tuple[str, ...]:
    """Why CloudStack would refuse what the plan makes; nothing where the API does not tell.

    Args:
        plan: All of it.
        account: The row of listAccounts; None where it is not known which one is the key's.
    """
    left = _number((account or {}).get("templateavailable"))
    steps = [step for step in plan.steps if step.kind is Kind.TEMPLATE]
    wanted = sum(step.act in {Act.MAKE, Act.REPLACE} for step in steps)
    if account is None or left is None or wanted <= left:
        return ()
    name, most = account.get("name"), account.get("templatelimit")
    text = (
        f"account {name} may have {most} templates and {left} are left, the plan makes {wanted}:"
        f" raise its limit (updateResourceLimit, resourcetype {TEMPLATE_TYPE}), or name fewer"
        " images"
    )
    return (text,)


def _number(value: object) -> int | None:
    """None where it is unlimited, or not said."""
    text = str(value)
    return int(text) if text.lstrip("-").isdigit() else None
