"""The payload of one call, made of the server's rows. Pure.

Which keys are there in which circumstance follows the recordings; a test compares each.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from cloudstack_ext.contract import DETAILS
from cloudstack_ext.management_server.cloud import Caller, Extension, Host
from cloudstack_ext.management_server.instances import Instance, Nic
from cloudstack_ext.management_server.wire import wire

STARTS = ("create", "start")
NETWORKED = ("prepare", *STARTS, "reboot")
PREFIX = "External:"
ISO = {
    "data": {
        "org.apache.cloudstack.storage.to.TemplateObjectTO": {
            "id": 0,
            "format": "ISO",
            "accountId": 0,
            "hvm": False,
            "bootable": False,
            "directDownload": False,
            "deployAsIs": False,
            "followRedirects": False,
        }
    },
    "diskSeq": 3,
    "type": "ISO",
}
"""The empty drive that create and start carry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A custom action.

    Attributes:
        name: argv[1] too, as typed, with its spaces.
        parameters: Typed; a date is the text "Dec 1, 2026, 10:00:00 AM" (seen 2.15). None where
            the action declares none: then all that is given is dropped.
        details: Its visible ones.
    """

    name: str
    parameters: Mapping[str, Any] | None = None
    details: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """One call for one instance.

    Attributes:
        caller: None in the `status` of all but the first instance of a host (seen h.2).
        clean_up: The stop after a failed create or start, which has NICs and disks (seen c).
    """

    verb: str
    caller: Caller | None
    action: Action | None = None
    clean_up: bool = False


def body_of(
    sending: Sending, instance: Instance, host: Host, extension: Extension
) -> dict[str, Any]:
    """The whole payload, before it is written."""
    body: dict[str, Any] = {} if sending.caller is None else {"caller": asdict(sending.caller)}
    body["virtualmachineid"] = instance.uuid
    body["virtualmachinename"] = instance.name
    body[DETAILS] = _details(sending, instance)
    if sending.action is not None:
        body["action"] = sending.action.name
        if sending.action.parameters is not None:
            body["parameters"] = dict(sending.action.parameters)
    body["externaldetails"] = _external(sending, instance, host, extension)
    return body


def payload_of(sending: Sending, instance: Instance, host: Host, extension: Extension) -> bytes:
    """As it stands in the file: one line, as Gson writes it."""
    return wire(body_of(sending, instance, host, extension))


def class_payload(name: str) -> bytes:
    """Of a Java class name: no instance at all (seen 2.3)."""
    return wire({"action": name})


def statuses_payload(host: Host, extension: Extension) -> bytes:
    """Of the newer verb `statuses`, reconstructed (read 2.12): no server was seen to send it."""
    return wire({"externaldetails": _pool_details(host, extension)})


def _details(sending: Sending, instance: Instance) -> dict[str, Any]:
    verb = sending.verb if sending.action is None else ""
    networked, starts = verb in NETWORKED or sending.clean_up, verb in STARTS
    details: dict[str, Any] = {
        "id": instance.number,
        "name": instance.name,
        "state": instance.state.value,
        "type": "User",
        "cpus": instance.cpus,
        "minSpeed": 2000,
        "maxSpeed": 2000,
        "minRam": 4 * 2**30,
        "maxRam": 4 * 2**30,
        "arch": "x86_64",
        "bootArgs": "",
        "enableHA": instance.offers_ha,
        "limitCpuUse": False,
        "enableDynamicallyScaleVm": False,
        "vncPassword": "r4nd0m",
        "details": instance.offering | instance.details,
        "uuid": instance.uuid,
        "enterHardwareSetup": False,
        "disks": [ISO] if starts or sending.clean_up else [],
        "nics": [_nic(verb, n, nic) for n, nic in enumerate(instance.nics)] if networked else [],
        "configDriveLocation": "SECONDARY",
    }
    if verb != "stop":
        details |= {"guestOsDetails": {}, "extraConfig": {}, "networkIdToNetworkNameMap": {}}
    if starts:
        details |= _only_at_starts(instance)
    return details


def _only_at_starts(instance: Instance) -> dict[str, Any]:
    names = {str(nic.network_id): f"D1-A1-Z1-S{nic.network_id}" for nic in instance.nics}
    more: dict[str, Any] = {
        "networkIdToNetworkNameMap": names,
        "metadataManufacturer": "Apache Software Foundation",
        "metadataProductName": "CloudStack External Hypervisor",
    }
    if instance.vm_data:
        more |= {"vmData": instance.vm_data, "configDriveLabel": "config-2"}
    return more


def _nic(verb: str, number: int, nic: Nic) -> dict[str, Any]:
    found: dict[str, Any] = {
        "deviceId": number,
        "networkRateMbps": 200,
        "defaultNic": not number,
        "pxeDisable": False,
        "nicUuid": nic.nic_uuid,
        "details": {"PromiscuousMode": "false", "ForgedTransmits": "true"},
        "dpdkEnabled": False,
        "networkId": nic.network_id,
        "networkSegmentName": f"D1-A1-Z1-S{nic.network_id}",
        "uuid": nic.network,
        "netmask": nic.netmask,
        "gateway": nic.gateway,
        "mac": nic.mac,
        "dns1": nic.dns,
        "broadcastType": "Vlan",
        "type": "Guest",
        "securityGroupEnabled": False,
    }
    if verb == "prepare":
        found["mtu"] = 1500
    if verb == "reboot":
        del found["dns1"], found["networkRateMbps"]
    if nic.ip is not None:
        found["ip"] = nic.ip
    if nic.vlan is not None:
        found |= {"broadcastUri": f"vlan://{nic.vlan}", "isolationUri": f"vlan://{nic.vlan}"}
    return found


def _external(
    sending: Sending, instance: Instance, host: Host, extension: Extension
) -> dict[str, Any]:
    """Four maps that nothing is merged across (seen k.1); the instance's own wins."""
    found = _pool_details(host, extension)
    machine = {
        key.removeprefix(PREFIX): value
        for key, value in (instance.offering | instance.details).items()
        if key.startswith(PREFIX)
    }
    vlan = instance.nics[0].vlan if instance.nics else None
    if sending.action is None and sending.verb in STARTS and vlan is not None:
        machine["cloudstack.vlan"] = str(vlan)
    found["virtualmachine"] = machine
    if sending.action is not None and sending.action.details:
        found["action"] = dict(sending.action.details)
    return {key: value for key, value in found.items() if value}  # empty maps are left out


def _pool_details(host: Host, extension: Extension) -> dict[str, Any]:
    return {
        "extension": dict(extension.details),
        "host": dict(host.details),
        "resourcemap": dict(host.resourcemap),
    }
