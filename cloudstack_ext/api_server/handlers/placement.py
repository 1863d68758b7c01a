"""Which host an instance gets, and what stands between it and its extension."""

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call
from cloudstack_ext.api_server.handlers.instance_view import described
from cloudstack_ext.api_server.model.catalogue import Extension, ExtensionState, Offering
from cloudstack_ext.api_server.model.instances import Instance
from cloudstack_ext.api_server.model.places import Host, ResourceState

DISABLED = "Extension is disabled"


def planned_host(call: Call, instance: Instance, offering: Offering) -> Host:
    """The first host with the offering's first tag; how full it is plays no part.

    Raises:
        RefusalError: 530: no host has the tag; 533: those that have it are not to be had.
    """
    extension = call.state.templates[instance.template].extension
    tag = (offering.tags or "").split(",")[0]
    tagged = [
        host
        for host in call.state.hosts.values()
        if (not tag or tag in host.tags) and _extension_id(call, host) == extension
    ]
    if not tagged:
        raise refusals.internal("No suitable host found.")
    for host in tagged:
        if host.state is ResourceState.ENABLED and is_callable(extension_of_host(call, host)):
            return host
    raise no_destination(instance)


def no_destination(instance: Instance) -> refusals.RefusalError:
    """533, with the instance as it stands."""
    text = f"No destination found for a deployment for {described(instance)}"
    return refusals.RefusalError(refusals.NO_CAPACITY, text)


def extension_of_host(call: Call, host: Host) -> Extension | None:
    """None: its cluster is not registered any more."""
    return call.state.extensions.get(_extension_id(call, host) or "")


def is_callable(extension: Extension | None) -> bool:
    """Whether its verbs are called at all."""
    return (
        extension is not None and extension.state is ExtensionState.ENABLED and extension.path_ready
    )


def blocked(call: Call, host: Host | None) -> str | None:
    """Why the extension of a host is not called, in CloudStack's words; None: it is."""
    extension = extension_of_host(call, host) if host is not None else None
    if host is None or extension is None:
        return "Extension not connected"
    if extension.state is ExtensionState.DISABLED:
        return DISABLED
    if not extension.path_ready:
        return f"Extension: {extension.name} not configured for host: {host.guid}"
    return None if host.connected else "Extension is not ready"


def _extension_id(call: Call, host: Host) -> str | None:
    registration = call.state.registrations.get(host.cluster)
    return registration.extension if registration else None
