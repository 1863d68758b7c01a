"""Which commands a key may call, and whose objects it may see; pure.

A role of one's own allows what its rules allow and nothing else. The real server also allows the
commands that name the role's type in their own code, whatever the rules say, unless a rule denies
them (source: DynamicRoleBasedAPIAccessChecker, read): which ones, no list says.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase

from cloudstack_ext.api_server.commands import Command
from cloudstack_ext.api_server.model.accounts import Account, Permission, Role, RoleType, User
from cloudstack_ext.api_server.state import State

_COLUMNS: Mapping[RoleType, str] = {
    RoleType.ADMIN: "admin",
    RoleType.RESOURCE_ADMIN: "admin",
    RoleType.DOMAIN_ADMIN: "domainadmin",
    RoleType.USER: "user",
}


def may_call(role: Role, command: Command) -> bool:
    """By the list for a preset role, by its rules for another one."""
    if role.preset:
        return _COLUMNS[role.type] in command.roles
    for rule in role.rules:
        if fnmatchcase(command.name.lower(), rule.rule.lower()):
            return rule.permission is Permission.ALLOW
    return False


def is_root(state: State, user: User) -> bool:
    """Whether it sees every domain's objects."""
    return state.role_of(user).type is RoleType.ADMIN


def may_see(state: State, user: User, account: Account) -> bool:
    """An admin everybody's, a domain's admin those below its domain, a user its own.

    The account of a project counts as its owner's.
    """
    own = state.accounts[user.account]
    match state.role_of(user).type:
        case RoleType.ADMIN:
            return True
        case RoleType.DOMAIN_ADMIN:
            path = state.domains[own.domain].path
            other = state.domains[account.domain].path
            return other == path or other.startswith(f"{path}/")
        case RoleType.RESOURCE_ADMIN | RoleType.USER:
            return own.id == account.id or _owns_project(state, own, account)


def _owns_project(state: State, own: Account, account: Account) -> bool:
    return any(
        project.account == account.id and project.owner == own.id
        for project in state.projects.values()
    )
