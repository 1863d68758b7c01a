"""Notes on objects, which tenants read."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.instances import Annotation
from cloudstack_ext.api_server.permissions import may_see
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, has_keyword, listing, matches, stamp

_INSTANCE, _HOST = "VM", "HOST"


def add(call: Call) -> Wire:
    """addAnnotation: at most 255 characters."""
    kind, entity = call.values.text("entitytype"), call.values.text("entityid")
    text = call.values.text("annotation")
    if not kind or not entity or not text:
        raise refusals.invalid("entitytype, entityid and annotation must be given")
    annotation = Annotation(
        id=new_id(),
        kind=kind.upper(),
        entity=entity,
        entity_name=_name_of(call, kind.upper(), entity),
        text=text,
        user=call.caller.id,
        admins_only=bool(call.values.flag("adminsonly")),
        created=call.now,
    )
    call.state.annotations[annotation.id] = annotation
    return {"annotation": _view(call, annotation)}


def list_(call: Call) -> Wire:
    """listAnnotations: users do not see those for administrators."""
    rows = [
        _view(call, each)
        for each in call.state.annotations.values()
        if matches(
            call.values,
            {
                "id": each.id,
                "entityid": each.entity,
                "entitytype": each.kind,
                "userid": each.user,
            },
        )
        and has_keyword(call.values, each.text)
        and (call.root or _is_for_users(call, each))
    ]
    return listing("annotation", rows, call.values)


def remove(call: Call) -> Wire:
    """removeAnnotation: answers what was removed."""
    annotation = call.found("id", call.state.annotations)
    if not call.root and annotation.user != call.caller.id:
        raise refusals.not_permitted()
    del call.state.annotations[annotation.id]
    return {"annotation": _view(call, annotation)}


def _name_of(call: Call, kind: str, entity: str) -> str:
    """Of what can be annotated here; anything else is nothing."""
    instance, host = call.state.instances.get(entity), call.state.hosts.get(entity)
    if kind == _INSTANCE and instance is not None and not instance.removed:
        if not may_see(call.state, call.caller, call.state.accounts[instance.account]):
            raise refusals.not_permitted()
        return instance.internal_name
    if kind == _HOST and host is not None and call.root:
        return host.name
    raise refusals.invalid("Invalid entity type or ID specified for annotation")


def _is_for_users(call: Call, annotation: Annotation) -> bool:
    instance = call.state.instances.get(annotation.entity)
    return (
        not annotation.admins_only
        and instance is not None
        and may_see(call.state, call.caller, call.state.accounts[instance.account])
    )


def _view(call: Call, annotation: Annotation) -> Wire:
    return {
        "id": annotation.id,
        "entitytype": annotation.kind,
        "entityid": annotation.entity,
        "entityname": annotation.entity_name,
        "annotation": annotation.text,
        "userid": annotation.user,
        "username": call.state.users[annotation.user].name,
        "adminsonly": annotation.admins_only,
        "created": stamp(annotation.created),
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {"addAnnotation": add, "listAnnotations": list_, "removeAnnotation": remove}
)
