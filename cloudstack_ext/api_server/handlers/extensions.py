"""Extensions, and which cluster is registered with which."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.catalogue import Extension, ExtensionState, Registration
from cloudstack_ext.api_server.model.instances import InstanceState
from cloudstack_ext.api_server.model.places import Cluster
from cloudstack_ext.api_server.ripening import write_template_entry
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, given, has_keyword, listing, matches, stamp

ORCHESTRATOR: Final = "Orchestrator"
CLUSTER: Final = "Cluster"
EXTERNAL: Final = "External"
_SHELL = ".sh"
_RESOURCES, _EVERYTHING = "resource", "all"


def create(call: Call) -> Wire:
    """createExtension: the path is called ready at once; the next check looks."""
    name, kind = call.values.needed("name"), call.values.needed("type")
    if kind != ORCHESTRATOR:
        raise refusals.invalid(f"Invalid type specified - {kind}")
    if any(each.name == name for each in call.state.extensions.values()):
        raise refusals.internal("Extension by name already exists")
    path = f"{name}/{call.values.text('path') or f'{name}{_SHELL}'}"
    extension = Extension(
        id=new_id(),
        name=name,
        path=path,
        prepare=call.values.flag("orchestratorrequirespreparevm"),
        created=call.now,
        description=call.values.text("description"),
        state=call.choice("state", ExtensionState) or ExtensionState.ENABLED,
        details=call.values.map("details") or {},
    )
    if path.endswith(_SHELL):
        write_template_entry(list(call.state.servers.values()), path)
    call.state.extensions[extension.id] = extension
    return {"extension": _view(call, extension)}


def list_(call: Call) -> Wire:
    """listExtensions: the newest first."""
    call.found_if_given("id", call.state.extensions)
    rows = [
        _view(call, each)
        for each in reversed(call.state.extensions.values())
        if matches(call.values, {"id": each.id, "name": each.name})
        and has_keyword(call.values, each.name)
    ]
    return listing("extension", rows, call.values)


def update(call: Call) -> Wire:
    """updateExtension: details replace the whole set; the path cannot be changed."""
    extension = call.found("id", call.state.extensions)
    values = call.values
    extension.description = values.text("description") or extension.description
    prepare = values.flag("orchestratorrequirespreparevm")
    extension.prepare = extension.prepare if prepare is None else prepare
    extension.state = call.choice("state", ExtensionState) or extension.state
    details = values.map("details")
    if values.flag("cleanupdetails"):
        extension.details = {}
    elif details is not None:
        extension.details = details
    return {"extension": _view(call, extension)}


def delete(call: Call) -> Wire:
    """deleteExtension: its clusters, actions and templates must be gone."""
    extension = call.found("id", call.state.extensions)
    state = call.state
    if any(each.extension == extension.id for each in state.registrations.values()):
        text = "Extension has associated resources, unregister them to delete the extension"
        raise refusals.internal(text)
    if any(each.extension == extension.id for each in state.actions.values()):
        raise refusals.internal("Extension has associated custom actions, delete them first")
    templates = (each for each in state.templates.values() if not each.removed)
    if any(each.extension == extension.id for each in templates):
        raise refusals.internal("Extension has associated templates, delete them first")
    del state.extensions[extension.id]
    return {"success": True}


def register(call: Call) -> Wire:
    """registerExtension: a cluster has one extension at most."""
    extension = call.found("extensionid", call.state.extensions)
    cluster = _resource(call)
    if cluster.id in call.state.registrations:
        raise refusals.internal("Cluster is already registered with an extension")
    register_cluster(call, extension, cluster, call.values.map("details"))
    return {"extension": _view(call, extension)}


def unregister(call: Call) -> Wire:
    """unregisterExtension: accepted with hosts and instances, which are Stopped without a call."""
    extension = call.found("extensionid", call.state.extensions)
    cluster = _resource(call)
    registration = call.state.registrations.get(cluster.id)
    if registration is not None and registration.extension == extension.id:
        del call.state.registrations[cluster.id]
        hosts = {host.id for host in call.state.hosts_of(cluster.id)}
        for instance in call.state.living():
            if instance.host in hosts:
                instance.state, instance.last_host = InstanceState.STOPPED, instance.host
                instance.host = None
    return {"extension": _view(call, extension)}


def register_cluster(
    call: Call, extension: Extension, cluster: Cluster, details: Mapping[str, str] | None
) -> None:
    """Make it the extension's; `details` is the resource map."""
    call.state.registrations[cluster.id] = Registration(
        extension=extension.id,
        cluster=cluster.id,
        created=call.now,
        details=dict(details or {}),
    )


def extension_of(call: Call, cluster: str) -> Wire:
    """`extensionid` and `extensionname` of a cluster; nothing where it has none."""
    registration = call.state.registrations.get(cluster)
    if registration is None:
        return {}
    extension = call.state.extensions[registration.extension]
    return {"extensionid": extension.id, "extensionname": extension.name}


def _resource(call: Call) -> Cluster:
    kind, resource = call.values.needed("resourcetype"), call.values.needed("resourceid")
    if kind != CLUSTER:
        raise refusals.invalid(f"Currently only [{CLUSTER}] can be used as a resource: {kind}")
    if resource not in call.state.clusters:
        raise refusals.invalid("Invalid cluster ID specified")
    return call.state.clusters[resource]


def _view(call: Call, extension: Extension) -> Wire:
    wanted = call.values.words("details") if call.values.command == "listExtensions" else None
    shows_resources = wanted is None or {_RESOURCES, _EVERYTHING} & set(wanted)
    return given(
        id=extension.id,
        name=extension.name,
        description=extension.description,
        type=ORCHESTRATOR,
        path=f"{call.settings.extensions_path}/{extension.path}",
        pathready=extension.path_ready,
        isuserdefined=extension.user_defined,
        orchestratorrequirespreparevm=extension.prepare,
        state=extension.state.value,
        details=dict(extension.details) or None,
        resources=(_resources(call, extension) or None) if shows_resources else None,
        created=stamp(extension.created),
    )


def _resources(call: Call, extension: Extension) -> list[Wire]:
    return [
        given(
            id=each.cluster,
            name=call.state.clusters[each.cluster].name,
            type=CLUSTER,
            details=dict(each.details) or None,
            created=stamp(each.created),
        )
        for each in call.state.registrations.values()
        if each.extension == extension.id
    ]


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "createExtension": create,
        "listExtensions": list_,
        "updateExtension": update,
        "deleteExtension": delete,
        "registerExtension": register,
        "unregisterExtension": unregister,
    }
)
