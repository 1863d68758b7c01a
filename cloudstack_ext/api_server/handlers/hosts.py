"""Hosts of External clusters."""

import hashlib
import uuid
from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server import refusals
from cloudstack_ext.api_server.call import Call, Handler, Work
from cloudstack_ext.api_server.handlers.extensions import EXTERNAL, extension_of
from cloudstack_ext.api_server.model.instances import Instance, InstanceState
from cloudstack_ext.api_server.model.places import MAINTAINED, Cluster, Host, ResourceState
from cloudstack_ext.api_server.state import new_id
from cloudstack_ext.api_server.wire import (
    Wire,
    external,
    has_keyword,
    listing,
    matches,
    stamp,
)

_KIND = "Host"
_UP = "Up"
_ASKED = {"Enable": ResourceState.ENABLED, "Disable": ResourceState.DISABLED}
_EVENTS = (
    "ShutdownRequested; AgentConnected; Remove; PingTimeout; AgentDisconnected;"
    " ManagementServerDown; Ping; HostDown; StartAgentRebalance"
)
_CAPACITY: Wire = {
    "cpunumber": 0,
    "cpuspeed": 0,
    "cpuallocated": "0.00%",
    "cpuallocatedvalue": 0,
    "cpuallocatedpercentage": "0.00%",
    "cpuallocatedwithoverprovisioning": "0.00%",
    "cpuwithoverprovisioning": "0",
    "memorytotal": 0,
    "memorywithoverprovisioning": "0",
    "memoryallocated": 0,
    "memoryallocatedpercentage": "0.00%",
    "memoryallocatedbytes": 0,
}
"""CloudStack counts nothing on an External host."""


def add(call: Call) -> Wire:
    """addHost: Up and Enabled at once, whatever `allocationstate` says; answers a list."""
    call.found("zoneid", call.state.zones)
    call.found("podid", call.state.pods)
    cluster = call.found_if_given("clusterid", call.state.clusters)
    if cluster is None:
        raise refusals.invalid("Can't determine cluster: clusterid is needed here")
    values = call.values
    if not (values.text("username") or "").strip() or not (values.text("password") or "").strip():
        raise refusals.invalid("Username and Password need to be provided.")
    label = values.needed("url")
    registration = call.state.registrations.get(cluster.id)
    if registration is None:
        raise refusals.server_error(_unregistered(call, cluster, label))
    guid = guid_of(label)
    if any(each.guid == guid for each in call.state.hosts.values()):
        raise refusals.server_error("Failed to add host")
    host = Host(
        id=new_id(),
        name=label,
        cluster=cluster.id,
        guid=guid,
        created=call.now,
        tags=tuple(sorted(values.words("hosttags") or ())),
        details=values.map("externaldetails") or {},
        connected=call.state.extensions[registration.extension].path_ready,
        number=call.state.next_number("host"),
    )
    call.state.hosts[host.id] = host
    return {"count": 1, "host": [_view(call, host)]}


def list_(call: Call) -> Wire:
    """listHosts: names the extension, which other answers do not."""
    call.found_if_given("id", call.state.hosts)
    rows = [
        {**_view(call, each), **extension_of(call, each.cluster)}
        for each in call.state.hosts.values()
        if _is_wanted(call, each)
    ]
    return listing("host", rows, call.values)


def update(call: Call) -> Wire:
    """updateHost: tags and external details replace the whole set; an empty text clears tags."""
    host = call.found("id", call.state.hosts)
    values = call.values
    asked = values.text("allocationstate")
    if asked is not None and asked not in _ASKED:
        raise refusals.invalid(f"Unable to resolve {asked} to a supported resource state event")
    host.state = host.state if asked is None else _ASKED[asked]
    host.name = values.text("name") or host.name
    tags = values.words("hosttags")
    host.tags = host.tags if tags is None else tuple(sorted(tags))
    details = values.map("externaldetails")
    if values.flag("cleanupexternaldetails"):
        host.details = {}
    elif details is not None:
        host.details = details
    return {"host": _view(call, host)}


def prepare_for_maintenance(call: Call) -> Work:
    """prepareHostForMaintenance: its instances are stopped; one that had any ends in an error."""
    host = call.found("id", call.state.hosts)
    if host.state is ResourceState.PREPARING or host.state in MAINTAINED:
        raise refusals.internal(f"Host is already in state [{host.state.value}]")
    running = [each for each in _on(call, host) if each.state is InstanceState.RUNNING]
    for instance in running:
        instance.state, instance.last_host, instance.host = InstanceState.STOPPED, host.id, None
    host.state = ResourceState.PREPARING
    host.maintained_at = call.now + call.settings.maintenance_s
    host.becomes = ResourceState.ERROR_IN_MAINTENANCE if running else ResourceState.MAINTENANCE
    return _work(call, host)


def cancel_maintenance(call: Call) -> Work:
    """cancelHostMaintenance: Enabled again."""
    host = call.found("id", call.state.hosts)
    if host.state not in MAINTAINED and host.state is not ResourceState.PREPARING:
        raise refusals.internal(f"Host is not in maintenance but [{host.state.value}]")
    host.state = ResourceState.ENABLED
    return _work(call, host)


def reconnect(call: Call) -> Work:
    """reconnectHost: cures a host that was added before the path was ready."""
    host = call.found("id", call.state.hosts)
    registration = call.state.registrations.get(host.cluster)
    host.connected = (
        registration is not None and call.state.extensions[registration.extension].path_ready
    )
    return _work(call, host)


def delete(call: Call) -> Wire:
    """deleteHost: in maintenance, or forced; then its instances are Stopped without a call."""
    host = call.found("id", call.state.hosts)
    if host.state not in MAINTAINED and not call.values.flag("forced"):
        raise refusals.internal(
            f"Host with UUID [{host.id}] is not in maintenance mode and no forced deletion was"
            " requested."
        )
    for instance in _on(call, host):
        instance.state, instance.host = InstanceState.STOPPED, None
    del call.state.hosts[host.id]
    return {"success": True}


def guid_of(label: str) -> str:
    """Of a host, from its label; source: the recorded ones, Java's UUID of a name's bytes."""
    digest = bytearray(hashlib.md5(label.encode(), usedforsecurity=False).digest())
    return f"{EXTERNAL}:{uuid.UUID(bytes=bytes(digest), version=3)}"


def _on(call: Call, host: Host) -> list[Instance]:
    return [each for each in call.state.living() if each.host == host.id]


def _is_wanted(call: Call, host: Host) -> bool:
    cluster = call.state.clusters[host.cluster]
    texts = {
        "id": host.id,
        "name": host.name,
        "clusterid": host.cluster,
        "zoneid": cluster.zone,
        "podid": cluster.pod,
        "hypervisor": cluster.hypervisor,
        "resourcestate": host.state.value,
        "state": host.agent,
        "type": "Routing",
    }
    return matches(call.values, texts) and has_keyword(call.values, host.name)


def _work(call: Call, host: Host) -> Work:
    return Work(
        finish=lambda _reply: {"host": _view(call, host)},
        kind=_KIND,
        entity=host.id,
        stamped="host",
    )


def _unregistered(call: Call, cluster: Cluster, label: str) -> str:
    zone, pod = call.state.zones[cluster.zone], call.state.pods[cluster.pod]
    return (
        f"Could not add host at [{label}] with zone [Zone"
        f' {{"id": "{zone.number}", "name": "{zone.name}", "uuid": "{zone.id}"}}], pod [HostPod'
        f' {{"id":{pod.number},"name":"{pod.name}","uuid":"{pod.id}"}}] and cluster [Cluster'
        f' {{id: "{cluster.number}", name: "{cluster.name}", uuid: "{cluster.id}"}}] due to:'
        f" [Cluster: {cluster.name} is not registered with an extension]."
    )


def _view(call: Call, host: Host) -> Wire:
    cluster = call.state.clusters[host.cluster]
    server = next(iter(call.state.servers.values()))
    managed = (
        {"managementserverid": server.id, "managementservername": server.name}
        if host.agent == _UP
        else {}
    )
    tags = ",".join(host.tags)
    tagged = {"hosttags": tags, "explicithosttags": tags, "istagarule": False} if tags else {}
    return {
        "id": host.id,
        "name": host.name,
        "state": host.agent,
        "type": "Routing",
        "ipaddress": EXTERNAL,
        "zoneid": cluster.zone,
        "zonename": call.state.zones[cluster.zone].name,
        "podid": cluster.pod,
        "podname": call.state.pods[cluster.pod].name,
        "version": call.settings.version,
        "hypervisor": cluster.hypervisor,
        **_CAPACITY,
        "capabilities": "hvm",
        "lastpinged": stamp(call.now),
        **managed,
        "clusterid": cluster.id,
        "clustername": cluster.name,
        "clustertype": "CloudManaged",
        "islocalstorageactive": False,
        "created": stamp(host.created),
        "events": _EVENTS,
        **tagged,
        "hostha": {"haenable": False, "hastate": "Disabled"},
        "outofbandmanagement": {"powerstate": "Disabled", "enabled": False},
        "resourcestate": host.state.value,
        "hahost": False,
        "details": {
            **external(host.details),
            "com.cloud.network.Networks.RouterPrivateIpStrategy": "HostLocal",
            "memoryOvercommitRatio": "1.0",
            "cpuOvercommitRatio": "1.0",
            "guid": host.guid,
        },
        "ueficapability": False,
        "encryptionsupported": False,
        "arch": cluster.arch,
        "hasannotations": any(each.entity == host.id for each in call.state.annotations.values()),
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "addHost": add,
        "listHosts": list_,
        "updateHost": update,
        "prepareHostForMaintenance": prepare_for_maintenance,
        "cancelHostMaintenance": cancel_maintenance,
        "reconnectHost": reconnect,
        "deleteHost": delete,
    }
)
