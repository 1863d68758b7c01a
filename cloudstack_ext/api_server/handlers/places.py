"""Zones, pods, kinds of operating system, management servers: listed, not made here."""

from collections.abc import Mapping
from types import MappingProxyType

from cloudstack_ext.api_server.call import Call, Handler
from cloudstack_ext.api_server.model.places import ManagementServer, OsType, Pod, Zone
from cloudstack_ext.api_server.wire import Wire, has_keyword, listing, matches, stamp

_ADDRESSES: Wire = {
    "gateway": "198.51.100.1",
    "netmask": "255.255.255.128",
    "ipranges": [
        {
            "startip": "198.51.100.10",
            "endip": "198.51.100.100",
            "forsystemvms": "0",
            "vlanid": "vlan://untagged",
        }
    ],
    "startip": ["198.51.100.10"],
    "endip": ["198.51.100.100"],
    "forsystemvms": ["0"],
    "vlanid": ["vlan://untagged"],
}


def list_zones(call: Call) -> Wire:
    """ListZones."""
    call.found_if_given("id", call.state.zones)
    rows = [
        _zone(each)
        for each in call.state.zones.values()
        if matches(call.values, {"id": each.id, "name": each.name})
        and has_keyword(call.values, each.name)
    ]
    return listing("zone", rows, call.values)


def list_pods(call: Call) -> Wire:
    """ListPods."""
    call.found_if_given("id", call.state.pods)
    rows = [
        _pod(each, call.state.zones[each.zone])
        for each in call.state.pods.values()
        if matches(call.values, {"id": each.id, "name": each.name, "zoneid": each.zone})
        and has_keyword(call.values, each.name)
    ]
    return listing("pod", rows, call.values)


def list_os_types(call: Call) -> Wire:
    """listOsTypes: sorted by name."""
    call.found_if_given("id", call.state.os_types)
    rows = [
        _os_type(each)
        for each in sorted(call.state.os_types.values(), key=lambda each: each.name)
        if matches(
            call.values,
            {"id": each.id, "description": each.name, "oscategoryid": each.category},
        )
        and has_keyword(call.values, each.name)
    ]
    return listing("ostype", rows, call.values)


def list_management_servers(call: Call) -> Wire:
    """listManagementServers: state and version of each, nothing about its entry files."""
    rows = [
        _server(call, each)
        for each in call.state.servers.values()
        if matches(call.values, {"id": each.id, "name": each.name})
    ]
    return listing("managementserver", rows, call.values)


def _zone(zone: Zone) -> Wire:
    return {
        "id": zone.id,
        "name": zone.name,
        "dns1": "192.0.2.53",
        "internaldns1": "192.0.2.54",
        "guestcidraddress": "198.51.100.128/25",
        "networktype": "Advanced",
        "securitygroupsenabled": zone.security_groups,
        "allocationstate": "Enabled",
        "zonetoken": "e73f4c3b-cc71-3965-a336-05cb6b73edb2",
        "dhcpprovider": "VirtualRouter",
        "localstorageenabled": False,
        "tags": [],
        "allowuserspecifyvrmtu": False,
        "routerprivateinterfacemaxmtu": 1500,
        "routerpublicinterfacemaxmtu": 1500,
        "type": "Core",
        "isnsxenabled": False,
        "ismultiarch": False,
        "asnrange": "",
        "routedmodeenabled": True,
        "hasannotations": False,
    }


def _pod(pod: Pod, zone: Zone) -> Wire:
    return {
        "id": pod.id,
        "name": pod.name,
        "zoneid": zone.id,
        "zonename": zone.name,
        **_ADDRESSES,
        "allocationstate": "Enabled",
        "hasannotations": False,
    }


def _os_type(kind: OsType) -> Wire:
    return {
        "id": kind.id,
        "oscategoryid": kind.category,
        "oscategoryname": kind.category_name,
        "name": kind.name,
        "description": kind.name,
        "isuserdefined": False,
        "fordisplay": True,
    }


def _server(call: Call, server: ManagementServer) -> Wire:
    hosts = list(call.state.hosts) if server.id == next(iter(call.state.servers)) else []
    return {
        "id": server.id,
        "name": server.name,
        "state": server.state,
        "version": server.version,
        "javadistribution": "Debian",
        "javaversion": "17.0.15+6-Debian-1deb12u1",
        "osdistribution": "Debian GNU/Linux 12 (bookworm)",
        "lastserverstart": stamp(server.started),
        "lastserverstop": stamp(server.started),
        "lastboottime": stamp(server.started),
        "serviceip": server.address,
        "ipaddress": server.address,
        "lastagents": hosts,
        "agents": hosts,
        "agentscount": len(hosts),
        "pendingjobscount": 0,
    }


COMMANDS: Mapping[str, Handler] = MappingProxyType(
    {
        "listZones": list_zones,
        "listPods": list_pods,
        "listOsTypes": list_os_types,
        "listManagementServers": list_management_servers,
    }
)
