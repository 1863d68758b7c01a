"""Domains, accounts, users and their keys."""

import secrets
from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.limits import limit_of
from cloudstack_ext.api_server.model.accounts import (
    ACCOUNT_TYPES,
    Account,
    Domain,
    Role,
    RoleType,
    User,
)
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, given, has_keyword, listing, matches, stamp
from provisioner.secret import Secret

KEY_BYTES = 64
_COUNTED = [
    "vm",
    "ip",
    "volume",
    "snapshot",
    "backup",
    "template",
    "project",
    "network",
    "vpc",
    "cpu",
    "memory",
    "gpu",
    "bucket",
]


def list_domains(call: Call) -> Wire:
    """listDomains: the caller's own, with `listall` those below it too."""
    call.found_if_given("id", call.state.domains)
    own = call.state.accounts[call.caller.account].domain
    below = bool(call.values.flag("listall")) or call.values.text("id") is not None
    rows = [
        _domain(call, each)
        for each in call.state.domains.values()
        if matches(call.values, {"id": each.id, "name": each.name})
        and has_keyword(call.values, each.name)
        and (each.id == own or (below and each.path.startswith(call.state.domains[own].path)))
    ]
    return listing("domain", rows, call.values)


def list_accounts(call: Call) -> Wire:
    """listAccounts: the caller's own, with `listall` or `domainid` all that the caller sees."""
    one = call.found_if_given("id", call.state.accounts)
    every = call.values.flag("listall") or call.values.text("domainid") or one is not None
    rows = [
        _account(call, each)
        for each in call.state.accounts.values()
        if matches(call.values, {"id": each.id, "name": each.name, "domainid": each.domain})
        and may_see(call.state, call.caller, each)
        and (every or each.id == call.caller.account)
    ]
    return listing("account", rows, call.values)


def create_account(call: Call) -> Wire:
    """createAccount: with its first user, in `domainid` or the caller's own domain."""
    values = call.values
    domain = call.found_if_given("domainid", call.state.domains)
    home = domain.id if domain else call.state.accounts[call.caller.account].domain
    name = values.text("account") or values.needed("username")
    if any(each.name == name and each.domain == home for each in call.state.accounts.values()):
        raise refusals.invalid(f"The specified account: {name} already exists")
    account = Account(
        id=new_id(),
        name=name,
        domain=home,
        role=_role(call).id,
        number=call.state.next_number("account"),
        created=call.now,
    )
    call.state.accounts[account.id] = account
    _add_user(call, account)
    return {"account": _account(call, account)}


def create_user(call: Call) -> Wire:
    """createUser: one more of an account."""
    name = call.values.needed("account")
    domain = call.values.text("domainid") or call.state.accounts[call.caller.account].domain
    accounts = [
        each for each in call.state.accounts.values() if each.name == name and each.domain == domain
    ]
    if not accounts:
        raise refusals.invalid(f"Unable to find account {name} in domain id={domain}")
    return {"user": _user(call, _add_user(call, accounts[0]))}


def list_users(call: Call) -> Wire:
    """ListUsers."""
    call.found_if_given("id", call.state.users)
    rows = [
        _user(call, each)
        for each in call.state.users.values()
        if matches(
            call.values,
            {
                "id": each.id,
                "username": each.name,
                "account": call.state.accounts[each.account].name,
                "domainid": call.state.accounts[each.account].domain,
            },
        )
        and may_see(call.state, call.caller, call.state.accounts[each.account])
    ]
    return listing("user", rows, call.values)


def register_user_keys(call: Call) -> Wire:
    """registerUserKeys: new ones; the old stop working."""
    user = _visible(call)
    user.key = secrets.token_urlsafe(KEY_BYTES)
    user.secret = Secret(secrets.token_urlsafe(KEY_BYTES))
    return _keys(user)


def get_user_keys(call: Call) -> Wire:
    """GetUserKeys."""
    return _keys(_visible(call))


def _visible(call: Call) -> User:
    user = call.found("id", call.state.users)
    if not may_see(call.state, call.caller, call.state.accounts[user.account]):
        raise refusals.not_permitted()
    return user


def _keys(user: User) -> Wire:
    secret = user.secret.reveal() if user.secret else None
    return {"userkeys": given(apikey=user.key, secretkey=secret, apikeyaccess="INHERIT")}


def _role(call: Call) -> Role:
    role = call.found_if_given("roleid", call.state.roles)
    if role is not None:
        return role
    wanted = call.values.number("accounttype") or 0
    kinds = {number: kind for kind, number in ACCOUNT_TYPES.items()}
    kind = kinds.get(wanted, RoleType.USER)
    return next(each for each in call.state.roles.values() if each.preset and each.type is kind)


def _add_user(call: Call, account: Account) -> User:
    values, name = call.values, call.values.needed("username")
    same = [each for each in call.state.users.values() if each.name == name]
    if any(call.state.accounts[each.account].domain == account.domain for each in same):
        raise refusals.invalid(f"The user {name} already exists in domain {account.domain}")
    user = User(
        id=new_id(),
        name=name,
        account=account.id,
        first_name=values.needed("firstname"),
        last_name=values.needed("lastname"),
        email=values.needed("email"),
        created=call.now,
    )
    call.state.users[user.id] = user
    return user


def _domain(call: Call, domain: Domain) -> Wire:
    domains = call.state.domains
    parent = domains[domain.parent] if domain.parent else None
    return given(
        id=domain.id,
        name=domain.name,
        level=domain.path.count("/"),
        parentdomainid=parent.id if parent else None,
        parentdomainname=parent.name if parent else None,
        haschild=any(each.parent == domain.id for each in domains.values()),
        path=domain.path,
        state="Active",
        created=stamp(domain.created) if domain.created is not None else None,
        hasannotations=False,
    )


def _account(call: Call, account: Account) -> Wire:
    users = [each for each in call.state.users.values() if each.account == account.id]
    return {
        "id": account.id,
        "name": account.name,
        **_place_and_role(call, account),
        "domainpath": call.state.domains[account.domain].path,
        **{f"{each}limit": "Unlimited" for each in _COUNTED},
        **_templates(call, account),
        "state": "enabled",
        "created": stamp(account.created),
        "user": [_user(call, each) for each in users],
        "isdefault": False,
        "groups": [],
        "apikeyaccess": "INHERIT",
    }


def _templates(call: Call, account: Account) -> Wire:
    """How many it has, and how many more it may have."""
    there = [each for each in call.state.templates.values() if not each.removed]
    total = sum(each.account == account.id for each in there)
    most = limit_of(call, account, "template")
    return {
        "templatelimit": "Unlimited" if most is None else str(most),
        "templatetotal": total,
        "templateavailable": "Unlimited" if most is None else str(max(0, most - total)),
    }


def _user(call: Call, user: User) -> Wire:
    account = call.state.accounts[user.account]
    return given(
        id=user.id,
        username=user.name,
        firstname=user.first_name,
        lastname=user.last_name,
        email=user.email,
        created=stamp(user.created),
        state="enabled",
        account=account.name,
        usersource="native",
        **_place_and_role(call, account),
        apikey=user.key,
        accountid=account.id,
        iscallerchilddomain=False,
        isdefault=False,
        is2faenabled=False,
        is2famandated=False,
    )


def _place_and_role(call: Call, account: Account) -> Mapping[str, object]:
    role, domain = call.state.roles[account.role], call.state.domains[account.domain]
    return {
        "accounttype": ACCOUNT_TYPES[role.type],
        "roleid": role.id,
        "roletype": role.type.value,
        "rolename": role.name,
        "domainid": domain.id,
        "domain": domain.name,
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "listDomains": list_domains,
        "listAccounts": list_accounts,
        "createAccount": create_account,
        "createUser": create_user,
        "listUsers": list_users,
        "registerUserKeys": register_user_keys,
        "getUserKeys": get_user_keys,
    }
)
