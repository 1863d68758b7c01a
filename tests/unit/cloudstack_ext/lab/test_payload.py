import base64
import json
from dataclasses import fields

import pytest

from cloudstack_ext.contract import Verb, parse
from cloudstack_ext.lab.payload import LabInstance, lab_payload, template
from cloudstack_ext.management_server.wire import wire
from tests.recorded_payloads import DETAILS, SITE, body_of, path_of

NUMBERS = {
    Verb.PREPARE: 38,
    Verb.CREATE: 39,
    Verb.START: 42,
    Verb.REBOOT: 4,
    Verb.STOP: 5,
    Verb.DELETE: 25,
    Verb.STATUS: 31,
}
INSTANCE = LabInstance(
    uuid="11111111-2222-4333-8444-555555555555",
    name="i-2-901-VM",
    nic_uuid="66666666-7777-4888-8999-aaaaaaaaaaaa",
    mac="02:01:00:00:00:01",
    address="10.77.1.10",
    netmask="255.255.255.0",
    gateway="10.77.1.1",
    dns="10.77.1.2",
    vlan=777,
    image="tiny",
    hostname="demo-1",
    ssh_key="ssh-ed25519 AAAAC3Nz me@desk",
    user_data=b"#cloud-config\nwrite_files: [{path: /x, content: 'a&b <c>'}]\n",
)
# the list of the issue, as paths; `[]` is any element
REPLACED = {
    "virtualmachineid",
    "virtualmachinename",
    f"{DETAILS}.uuid",
    f"{DETAILS}.name",
    *(
        f"{DETAILS}.nics[].{key}"
        for key in (
            "nicUuid",
            "mac",
            "ip",
            "netmask",
            "gateway",
            "dns1",
            "broadcastUri",
            "isolationUri",
        )
    ),
    "externaldetails.virtualmachine.cloudstack.vlan",
    "externaldetails.virtualmachine.image",
    f"{DETAILS}.details.External:image",
    f"{DETAILS}.details.SSH.PublicKey",
    *(
        f"{DETAILS}.vmData({key})"
        for key in (
            "user_data",
            "public-keys",
            "local-hostname",
            "local-ipv4",
            "public-ipv4",
            "instance-id",
            "vm-id",
        )
    ),
}


def leaves(value, path=""):
    """(path, value) of everything, order and keys included."""
    if isinstance(value, dict):
        yield f"{path} keys", list(value)
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}".lstrip("."))
    elif isinstance(value, list) and path.endswith(".vmData"):
        yield f"{path} entries", [(entry[:2], len(entry)) for entry in value]
        for entry in value:
            yield f"{path}({entry[1]})", entry[2]
    elif isinstance(value, list):
        yield f"{path} length", len(value)
        for inner in value:
            yield from leaves(inner, f"{path}[]")
    else:
        yield path, value


@pytest.mark.parametrize("verb", Verb)
def test_the_template_is_the_recording(verb):
    assert template(verb) == path_of(NUMBERS[verb]).read_text()


@pytest.mark.parametrize("verb", Verb)
def test_what_the_issue_lists_is_replaced_and_nothing_else(verb):
    recorded = list(leaves(body_of(NUMBERS[verb])))
    made = list(leaves(json.loads(lab_payload(verb, INSTANCE))))
    assert [path for path, _ in made] == [path for path, _ in recorded]
    differing = {path for (path, old), (_, new) in zip(recorded, made, strict=True) if old != new}
    assert differing == REPLACED & {path for path, _ in recorded}


def test_each_value_reaches_create_and_comes_back_by_the_contract():
    request = parse("create", lab_payload(Verb.CREATE, INSTANCE), SITE).instance
    assert request.key.instance == INSTANCE.uuid
    assert request.name == INSTANCE.name
    assert request.image == "tiny"
    assert request.pool == "a"
    assert request.hostname == "demo-1"
    assert request.ssh_keys == ("ssh-ed25519 AAAAC3Nz",)
    assert request.user_data == INSTANCE.user_data
    network = request.networks[0]
    assert network.vlan == 777
    assert (network.address, network.prefix, network.gateway) == ("10.77.1.10", 24, "10.77.1.1")
    assert (network.nic_uuid, network.mac, network.dns) == (
        INSTANCE.nic_uuid,
        INSTANCE.mac,
        ("10.77.1.2",),
    )


def test_key_and_user_data_stay_as_recorded_where_none_are_given():
    values = {each.name: getattr(INSTANCE, each.name) for each in fields(INSTANCE)}
    plain = LabInstance(**values | {"ssh_key": None, "user_data": None})
    vm_data = json.loads(lab_payload(Verb.CREATE, plain))[DETAILS]["vmData"]
    recorded = body_of(39)[DETAILS]["vmData"]
    assert vm_data[0] == recorded[0]
    assert [e for e in vm_data if e[1] == "public-keys"] == [
        e for e in recorded if e[1] == "public-keys"
    ]


@pytest.mark.parametrize("verb", Verb)
def test_on_the_wire_it_is_one_line_without_spaces_as_gson_writes(verb):
    payload = lab_payload(verb, INSTANCE)
    assert b"\n" not in payload
    assert b'": ' not in payload
    assert b'", ' not in payload
    assert not set(payload) & set(b"=<>&'")


def test_gson_s_escapes_are_undone_by_any_parser():
    body = {"a": "x=<y>&'z' \u2028 \u00fc"}
    assert wire(body) == (
        rb'{"a":"x\u003d\u003cy\u003e\u0026\u0027z\u0027 \u2028 ' + "ü".encode() + b'"}'
    )
    assert json.loads(wire(body)) == body


def test_user_data_is_base64_of_the_file():
    vm_data = json.loads(lab_payload(Verb.CREATE, INSTANCE))[DETAILS]["vmData"]
    assert base64.b64decode(vm_data[0][2]) == INSTANCE.user_data
