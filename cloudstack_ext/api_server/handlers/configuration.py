"""Global settings."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.catalogue import Setting
from cloudstack_ext.api_server.wire import Wire, given, has_keyword, listing

_JAVA = {"Number": "java.lang.Integer", "Boolean": "java.lang.Boolean"}


def list_(call: Call) -> Wire:
    """listConfigurations: `name` is a part of the name, as `keyword` is."""
    part = (call.values.text("name") or "").lower()
    rows = [
        _view(each)
        for each in sorted(call.state.settings.values(), key=lambda each: each.name)
        if part in each.name.lower()
        and has_keyword(call.values, each.name, each.value, each.description)
    ]
    return listing("configuration", rows, call.values)


def update(call: Call) -> Wire:
    """updateConfiguration: the stored value; one that is not dynamic needs a restart."""
    name, value = call.values.needed("name"), call.values.text("value")
    setting = call.state.settings.get(name)
    if setting is None:
        raise refusals.invalid(f"Config parameter with name {name} doesn't exist")
    if value is not None and not _is_of_kind(setting, value):
        raise refusals.invalid(f"Value [{value}] is not a valid [class {_JAVA[setting.kind]}].")
    setting.value = value
    return {"configuration": _view(setting)}


def _is_of_kind(setting: Setting, value: str) -> bool:
    match setting.kind:
        case "Number":
            return re.fullmatch(r"-?\d+", value) is not None
        case "Boolean":
            return value.lower() in {"true", "false"}
        case _:
            return True


def _view(setting: Setting) -> Wire:
    return given(
        category=setting.category,
        group=setting.group,
        subgroup=setting.subgroup,
        name=setting.name,
        value=setting.value,
        defaultvalue=setting.default,
        description=setting.description,
        isdynamic=setting.dynamic,
        component=setting.component,
        displaytext=setting.name.replace(".", " ").capitalize(),
        type=setting.kind,
        options=setting.options,
    )


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {"listConfigurations": list_, "updateConfiguration": update}
)
