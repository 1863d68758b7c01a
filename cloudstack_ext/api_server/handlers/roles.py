"""Roles and their rules."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.accounts import Permission, Role, RoleType, Rule
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, given, has_keyword, listing, matches


def create(call: Call) -> Wire:
    """createRole: of a type, or with the rules of another role."""
    values, name = call.values, call.values.needed("name")
    model, kind = call.found_if_given("roleid", call.state.roles), values.text("type")
    if any(each.name == name for each in call.state.roles.values()):
        raise refusals.invalid(f"Role name {name} already in use")
    if model is None and kind not in set(RoleType):
        raise refusals.invalid("Invalid role type provided")
    public = values.flag("ispublic")
    role = Role(
        id=new_id(),
        name=name,
        type=model.type if model else RoleType(kind or ""),
        description=values.text("description"),
        public=True if public is None else public,
        rules=[
            Rule(id=new_id(), rule=each.rule, permission=each.permission)
            for each in (model.rules if model else ())
        ],
    )
    call.state.roles[role.id] = role
    return {"role": _view(role)}


def list_(call: Call) -> Wire:
    """ListRoles."""
    call.found_if_given("id", call.state.roles)
    rows = [
        _view(each)
        for each in call.state.roles.values()
        if matches(call.values, {"id": each.id, "name": each.name, "type": each.type.value})
        and has_keyword(call.values, each.name)
    ]
    return listing("role", rows, call.values)


def create_permission(call: Call) -> Wire:
    """createRolePermission: the last of the role's rules."""
    role = call.found("roleid", call.state.roles)
    rule, permission = call.values.needed("rule"), call.values.needed("permission").lower()
    if permission not in set(Permission):
        raise refusals.invalid("Invalid permission value: allow or deny")
    if role.preset:
        raise refusals.not_permitted("Role permission cannot be added for Default roles")
    if any(each.rule == rule for each in role.rules):
        raise refusals.invalid(f"Rule {rule} is already there for the role")
    made = Rule(
        id=new_id(),
        rule=rule,
        permission=Permission(permission),
        description=call.values.text("description"),
    )
    role.rules.append(made)
    return {"rolepermission": _rule_view(role, made)}


def list_permissions(call: Call) -> Wire:
    """listRolePermissions: in the order in which they are asked."""
    role = call.found_if_given("roleid", call.state.roles)
    roles = [role] if role else list(call.state.roles.values())
    rows = [
        {**_rule_view(each, rule), "rolename": each.name} for each in roles for rule in each.rules
    ]
    return listing("rolepermission", rows, call.values)


def _view(role: Role) -> Wire:
    return given(
        type=role.type.value,
        isdefault=role.preset or None,
        state="enabled",
        id=role.id,
        name=role.name,
        description=role.description,
        ispublic=role.public,
    )


def _rule_view(role: Role, rule: Rule) -> Wire:
    return given(
        id=rule.id,
        roleid=role.id,
        rule=rule.rule,
        permission=rule.permission.value,
        description=rule.description,
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "createRole": create,
        "listRoles": list_,
        "createRolePermission": create_permission,
        "listRolePermissions": list_permissions,
    }
)
