"""What an account may have of each resource: nothing bounds a root admin's.

Source: a recorded refusal of a deployment (GPUs); those of other resources have its words, since
CloudStack makes them all in one place (ResourceLimitManagerImpl, read).
"""

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call
from cloudstack_ext.api_server.model.accounts import Account, RoleType


def limit_of(call: Call, account: Account, resource: str) -> int | None:
    """None: as many as it likes."""
    if call.state.roles[account.role].type is RoleType.ADMIN:
        return None
    return call.state.limits.get(resource)


def refuse_over(call: Call, account: Account, resource: str, *, used: int, wanted: int) -> None:
    """Raises a refusal where it would have more than it may."""
    most = limit_of(call, account, resource)
    if most is None or used + wanted <= most:
        return
    domain = call.state.domains[account.domain]
    raise refusals.over_limit(
        f"Maximum amount of resources of Type = '{resource}', tag = 'null' for Account"
        f" Name = {account.name} in Domain Id = {domain.number} is exceeded: Account"
        f" Resource Limit = {most}, Current Account Resource Amount = {used},"
        f" Current Account Resource Reservation = 0, Requested Resource Amount = {wanted}."
    )
