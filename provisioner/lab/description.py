"""What `rackwright lab status --output json` says: version 1 of a form that others rely on."""

import json
from typing import Any

from provisioner.lab import namespaces
from provisioner.lab.commands import run
from provisioner.lab.layout import (
    PROVISIONING,
    PROVISIONING_BRIDGE,
    DiskSpec,
    ServerSpec,
    tenant_bridge,
)
from provisioner.lab.network import links
from provisioner.lab.rack import Rack
from provisioner.lab.services import SERVICE, ServiceStart, known_service
from provisioner.units import Vlan

VERSION = 1


def describe(rack: Rack) -> dict[str, Any]:
    """The document; `service` and what belongs to it are null before it was ever started."""
    service = known_service(rack.paths)
    running = rack.record.running(SERVICE)
    return {
        "version": VERSION,
        "namespace": rack.layout.rack,
        "service": None if service is None else _service(service, running.pid if running else None),
        "entry": None if service is None else list(service.entry),
        "evidence_key": None if service is None else service.evidence_key,
        "servers": [_server(rack, server) for server in rack.layout.servers],
        "networks": {
            "provisioning": {
                "bridge": PROVISIONING_BRIDGE,
                "network": str(PROVISIONING.network),
                "address": str(PROVISIONING.ip),
            },
            "tenants": _tenants(rack),
        },
    }


def _service(service: ServiceStart, pid: int | None) -> dict[str, Any]:
    return {
        "pid": pid,
        "sockets": {"extension": service.extension, "operators": service.operators},
        "urls": {
            "operators": service.operators_url or None,
            "provisioning": service.provisioning_url,
        },
        "ca": service.ca,
        "database": service.database,
    }


def _server(rack: Rack, server: ServerSpec) -> dict[str, Any]:
    return {
        "name": server.name,
        "macs": [server.mac],
        "bmc": {
            "protocol": server.protocol.value,
            "address": str(server.controller),
            "port": server.controller_port,
            "user": server.user,
            "password_file": str(rack.paths.password(server)),
        },
        "serial_log": str(rack.paths.serial_log(server)),
        "power_log": str(rack.paths.power_log(server)),
        "disks": [_disk(rack, disk) for disk in server.disks],
    }


def _disk(rack: Rack, disk: DiskSpec) -> dict[str, Any]:
    return {
        "file": str(rack.paths.disk(disk)),
        "size": disk.source.size_bytes,
        "serial": disk.serial,
    }


def _tenants(rack: Rack) -> list[dict[str, Any]]:
    """One for each VLAN that has a bridge; `address` is the tenants' namespace's own there."""
    if not namespaces.exists(rack.layout.rack):
        return []
    prefix = tenant_bridge(Vlan(0)).removesuffix("0")
    found = [name.removeprefix(prefix) for name in links(rack.layout.rack) if prefix in name]
    addresses = _addresses(rack.layout.tenant)
    return [
        {
            "vlan": int(vlan),
            "bridge": f"{prefix}{vlan}",
            "namespace": rack.layout.tenant,
            "address": addresses.get(f"v{vlan}"),
        }
        for vlan in sorted(found, key=int)
    ]


def _addresses(namespace: str) -> dict[str, str]:
    shown = json.loads(run(["ip", "-n", namespace, "-4", "-json", "addr", "show"]))
    return {
        link["ifname"]: f"{link['addr_info'][0]['local']}/{link['addr_info'][0]['prefixlen']}"
        for link in shown
        if link.get("addr_info")
    }
