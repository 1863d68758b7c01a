"""Custom actions: made and listed here, run in `instances`."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.accounts import RoleType
from cloudstack_ext.api_server.model.catalogue import CustomAction
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, given, has_keyword, listing, matches, stamp

RESOURCE = "VirtualMachine"
_NAME = re.compile(r"[A-Za-z0-9 _-]+")
_TYPES = ("STRING", "NUMBER", "BOOLEAN", "DATE")
_FORMATS = ("NONE", "UUID", "EMAIL", "PASSWORD", "URL", "DECIMAL")
_DEFAULT_FORMAT = "NONE"
_TIMEOUT_S = 3


def add(call: Call) -> Wire:
    """addCustomAction: disabled unless asked otherwise; Admin is always among the roles."""
    extension = call.found("extensionid", call.state.extensions)
    values, name = call.values, call.values.needed("name")
    if not _NAME.fullmatch(name):
        text = "It can contain only alphabets, numbers, hyphen, underscore and space"
        raise refusals.invalid(f"Invalid action name: {name}. {text}")
    of_extension = [each for each in call.state.actions.values() if each.extension == extension.id]
    if any(each.name == name for each in of_extension):
        raise refusals.internal("Action by name already exists")
    action = CustomAction(
        id=new_id(),
        name=name,
        extension=extension.id,
        created=call.now,
        description=values.text("description"),
        roles=_roles((RoleType.ADMIN, *(values.words("allowedroletypes") or ()))),
        success_message=values.text("successmessage"),
        error_message=values.text("errormessage"),
        timeout_s=values.number("timeout") or _TIMEOUT_S,
        enabled=bool(values.flag("enabled")),
        details=values.map("details") or {},
        parameters=_parameters(call),
    )
    call.state.actions[action.id] = action
    return {"extensioncustomaction": _view(call, action)}


def list_(call: Call) -> Wire:
    """listCustomActions: the newest first; others than administrators see what they may run."""
    call.found_if_given("id", call.state.actions)
    rows = [
        _view(call, each)
        for each in reversed(call.state.actions.values())
        if _is_wanted(call, each)
    ]
    return listing("extensioncustomaction", rows, call.values)


def update(call: Call) -> Wire:
    """updateCustomAction: roles as given (Admin may go), parameters and details replaced."""
    action = call.found("id", call.state.actions)
    values = call.values
    enabled, roles = values.flag("enabled"), values.words("allowedroletypes")
    parameters = _parameters(call)
    action.roles = action.roles if roles is None else _roles(roles)
    action.enabled = action.enabled if enabled is None else enabled
    action.description = values.text("description") or action.description
    action.success_message = values.text("successmessage") or action.success_message
    action.error_message = values.text("errormessage") or action.error_message
    action.timeout_s = values.number("timeout") or action.timeout_s
    if values.flag("cleanupparameters"):
        action.parameters = ()
    elif values.rows("parameters") is not None:
        action.parameters = parameters
    if values.flag("cleanupdetails"):
        action.details = {}
    else:
        action.details = action.details if (new := values.map("details")) is None else new
    return {"extensioncustomaction": _view(call, action)}


def delete(call: Call) -> Wire:
    """DeleteCustomAction."""
    del call.state.actions[call.found("id", call.state.actions).id]
    return {"success": True}


def may_run(call: Call, action: CustomAction) -> bool:
    """Whether the caller's role is among the action's; a root admin always may."""
    role = call.state.role_of(call.caller).type
    return role is RoleType.ADMIN or role.value in action.roles


def _is_wanted(call: Call, action: CustomAction) -> bool:
    values = call.values
    enabled = values.flag("enabled")
    texts = {"id": action.id, "name": action.name, "extensionid": action.extension}
    return (
        matches(values, texts)
        and has_keyword(values, action.name)
        and (enabled is None or enabled == action.enabled)
        and (call.root or (action.enabled and may_run(call, action)))
        and _is_of_resource(call, action)
    )


def _is_of_resource(call: Call, action: CustomAction) -> bool:
    """`resourceid`: the extension of the instance's host."""
    resource = call.values.text("resourceid")
    if resource is None:
        return True
    instance = call.state.instances.get(resource)
    template = call.state.templates.get(instance.template) if instance else None
    return template is not None and template.extension == action.extension


def _roles(names: tuple[str, ...]) -> tuple[str, ...]:
    known = {role.value: role for role in RoleType}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise refusals.invalid(f"Invalid role specified - {unknown[0]}")
    return tuple(role.value for role in RoleType if role.value in names)


def _parameters(call: Call) -> tuple[Mapping[str, object], ...]:
    return tuple(_parameter(row) for row in call.values.rows("parameters") or ())


def _parameter(row: Mapping[str, str]) -> Mapping[str, object]:
    name, kind = row.get("name", ""), row.get("type", "").upper()
    if not name:
        raise refusals.invalid("Invalid parameter specified with empty name")
    if not kind:
        raise refusals.invalid(f"No type specified for parameter: {name}")
    form = row.get("validationformat", _DEFAULT_FORMAT).upper()
    if kind not in _TYPES or form not in _FORMATS:
        raise refusals.invalid(f"Invalid type or validation format for parameter: {name}")
    options = [each.strip() for each in row.get("valueoptions", "").split(",") if each.strip()]
    return given(
        name=name,
        type=kind,
        validationformat=form,
        valueoptions=options or None,
        required=row.get("required", "").lower() == "true",
    )


def _view(call: Call, action: CustomAction) -> Wire:
    return given(
        id=action.id,
        name=action.name,
        description=action.description,
        extensionid=action.extension,
        extensionname=call.state.extensions[action.extension].name,
        resourcetype=RESOURCE,
        allowedroletypes=list(action.roles),
        successmessage=action.success_message,
        errormessage=action.error_message,
        timeout=action.timeout_s,
        enabled=action.enabled,
        details=dict(action.details),
        parameters=[dict(each) for each in action.parameters],
        created=stamp(action.created),
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "addCustomAction": add,
        "listCustomActions": list_,
        "updateCustomAction": update,
        "deleteCustomAction": delete,
    }
)
