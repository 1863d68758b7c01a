"""Clusters."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.handlers.extensions import (
    EXTERNAL,
    extension_of,
    register_cluster,
)
from cloudstack_ext.api_server.model.places import AllocationState, Cluster
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import Wire, has_keyword, listing, matches

_RATIO = "1.0"


def add(call: Call) -> Wire:
    """addCluster: with `extensionid` it is registered in the same call; answers a list."""
    zone = call.found("zoneid", call.state.zones)
    pod = call.found("podid", call.state.pods)
    extension = call.found_if_given("extensionid", call.state.extensions)
    name, hypervisor = call.values.needed("clustername"), call.values.needed("hypervisor")
    if pod.zone != zone.id:
        raise refusals.invalid(f"Pod with id {pod.id} doesn't belong to the zone {zone.id}")
    if hypervisor == EXTERNAL and zone.security_groups:
        text = f"{EXTERNAL} hypervisor is not supported in a zone with security groups"
        raise refusals.invalid(text)
    if any(each.name == name and each.pod == pod.id for each in call.state.clusters.values()):
        text = f"Unable to create cluster {name} in pod {pod.name} and data center {zone.name}"
        raise refusals.server_error(text)
    cluster = Cluster(
        id=new_id(),
        name=name,
        zone=zone.id,
        pod=pod.id,
        hypervisor=hypervisor,
        arch=call.values.text("arch") or "x86_64",
        number=call.state.next_number("cluster"),
        created=call.now,
    )
    call.state.clusters[cluster.id] = cluster
    if extension is not None:
        register_cluster(call, extension, cluster, call.values.map("externaldetails"))
    return {"count": 1, "cluster": [_view(call, cluster)]}


def list_(call: Call) -> Wire:
    """listClusters: the only answer that names the extension."""
    call.found_if_given("id", call.state.clusters)
    rows = [
        {**_view(call, each), **extension_of(call, each.id)}
        for each in call.state.clusters.values()
        if matches(
            call.values,
            {
                "id": each.id,
                "name": each.name,
                "zoneid": each.zone,
                "podid": each.pod,
                "hypervisor": each.hypervisor,
                "allocationstate": each.state.value,
            },
        )
        and has_keyword(call.values, each.name)
    ]
    return listing("cluster", rows, call.values)


def update(call: Call) -> Wire:
    """updateCluster: `externaldetails` replaces the resource map."""
    cluster = call.found("id", call.state.clusters)
    cluster.name = call.values.text("clustername") or cluster.name
    cluster.state = call.choice("allocationstate", AllocationState) or cluster.state
    details, registration = (
        call.values.map("externaldetails"),
        call.state.registrations.get(cluster.id),
    )
    if details is not None and registration is not None:
        registration.details = details
    return {"cluster": _view(call, cluster)}


def delete(call: Call) -> Wire:
    """deleteCluster: its hosts must be gone."""
    cluster = call.found("id", call.state.clusters)
    if call.state.hosts_of(cluster.id):
        text = f"Cluster: {cluster.number} cannot be removed. Cluster still has hosts"
        raise refusals.internal(text)
    del call.state.clusters[cluster.id]
    call.state.registrations.pop(cluster.id, None)
    return {"success": True}


def _view(call: Call, cluster: Cluster) -> Wire:
    return {
        "id": cluster.id,
        "name": cluster.name,
        "podid": cluster.pod,
        "podname": call.state.pods[cluster.pod].name,
        "zoneid": cluster.zone,
        "zonename": call.state.zones[cluster.zone].name,
        "hypervisortype": cluster.hypervisor,
        "clustertype": "CloudManaged",
        "allocationstate": cluster.state.value,
        "managedstate": "Managed",
        "cpuovercommitratio": _RATIO,
        "memoryovercommitratio": _RATIO,
        "resourcedetails": {"memoryOvercommitRatio": _RATIO, "cpuOvercommitRatio": _RATIO},
        "arch": cluster.arch,
        "hasannotations": False,
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "addCluster": add,
        "listClusters": list_,
        "updateCluster": update,
        "deleteCluster": delete,
    }
)
