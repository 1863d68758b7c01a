"""Payloads of a lab instance: those that a real management server sent, with its own values.

The seven templates are recordings (tests/data/payloads tells where from). Only what names the
instance, its network, image and contents is replaced, and only where the recording has it; a
test walks both trees. Pure but for reading the templates.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from cloudstack_ext.contract import DETAILS, Verb
from cloudstack_ext.management_server.wire import wire


@dataclass(frozen=True, slots=True, kw_only=True)
class LabInstance:
    """What differs from one instance to the next.

    Attributes:
        name: The instance's internal name, "i-7-57-VM".
        mac: CloudStack's own, before prepare answered another.
        vlan: Of its one network.
        image: Name in the pool's map; operators give it to the template.
        ssh_key: One line of a public key file; None keeps the recorded one.
        user_data: As the tenant wrote it; None keeps the recorded one.
    """

    uuid: str
    name: str
    nic_uuid: str
    mac: str
    address: str
    netmask: str
    gateway: str
    dns: str
    vlan: int
    image: str
    hostname: str
    ssh_key: str | None = None
    user_data: bytes | None = None


def lab_payload(verb: Verb, instance: LabInstance) -> bytes:
    """The payload of this verb as it stands in the file: one line, as Gson writes it."""
    body = json.loads(template(verb))
    body["virtualmachineid"] = instance.uuid
    body["virtualmachinename"] = instance.name
    details = body[DETAILS]
    details["uuid"] = instance.uuid
    details["name"] = instance.name
    for nic in details["nics"]:
        _replace(nic, _nic(instance))
    outer = {"image": instance.image, "cloudstack.vlan": str(instance.vlan)}
    _replace(body["externaldetails"]["virtualmachine"], outer)
    _replace(details["details"], {"External:image": instance.image, **_key(instance)})
    contents = _contents(instance)
    for entry in details.get("vmData", []):
        entry[2] = contents.get((entry[0], entry[1]), entry[2])
    return wire(body)


def template(verb: Verb) -> str:
    """The recording of this verb, as it was recorded."""
    folder = resources.files("cloudstack_ext.lab") / "payloads"
    return (folder / f"{verb}.json").read_text("utf-8")


def _replace(found: dict[str, Any], wanted: Mapping[str, str]) -> None:
    """Set what is there; add nothing."""
    found.update({key: value for key, value in wanted.items() if key in found})


def _nic(instance: LabInstance) -> dict[str, str]:
    network = f"vlan://{instance.vlan}"
    return {
        "nicUuid": instance.nic_uuid,
        "mac": instance.mac,
        "ip": instance.address,
        "netmask": instance.netmask,
        "gateway": instance.gateway,
        "dns1": instance.dns,
        "broadcastUri": network,
        "isolationUri": network,
    }


def _key(instance: LabInstance) -> dict[str, str]:
    """CloudStack drops a key's comment and ends it with a blank and a line end."""
    if instance.ssh_key is None:
        return {}
    kind, coded = instance.ssh_key.split()[:2]
    return {"SSH.PublicKey": f"{kind} {coded} \n"}


def _contents(instance: LabInstance) -> dict[tuple[str, str], str]:
    contents = {
        ("metadata", "local-hostname"): instance.hostname,
        ("metadata", "local-ipv4"): instance.address,
        ("metadata", "public-ipv4"): instance.address,
        ("metadata", "instance-id"): instance.uuid,
        ("metadata", "vm-id"): instance.uuid,
    }
    for key in _key(instance).values():
        contents["metadata", "public-keys"] = key
    if instance.user_data is not None:
        contents["userdata", "user_data"] = base64.b64encode(instance.user_data).decode()
    return contents
