"""The harness's payloads have the keys of the recorded ones, circumstance by circumstance."""

import json

import pytest

from cloudstack_ext.management_server.cloud import SYSTEM, USER, Cloud, Extension, Host
from cloudstack_ext.management_server.instances import State
from cloudstack_ext.management_server.payload import (
    Action,
    Sending,
    body_of,
    class_payload,
    payload_of,
    statuses_payload,
)
from tests.recorded_payloads import DETAILS
from tests.recorded_payloads import body_of as recorded

OF_THE_DEPLOYMENT = {"bootType", "bootMode"}
"""Given at deployment in the recordings (README of the payloads)."""
HOST = Host(
    name="pool-a",
    details={"pool": "a", "node_class": "h200x8", "shared_key": "from-host"},
    resourcemap={"pool": "rack7", "shared_key": "from-resourcemap"},
)
EXTENSION = Extension(details={"region": "lab", "endpoint": "https://metald.example:8443"})
ACTION = Action(name="note", details={"note": "visible detail"}, parameters={"force": True})
CIRCUMSTANCES = {
    1: (Sending(verb="prepare", caller=USER), State.STARTING),
    2: (Sending(verb="create", caller=USER), State.STARTING),
    3: (Sending(verb="getconsole", caller=USER), State.RUNNING),
    4: (Sending(verb="reboot", caller=USER), State.RUNNING),
    5: (Sending(verb="stop", caller=USER), State.STOPPING),
    6: (Sending(verb="start", caller=USER), State.STARTING),
    8: (Sending(verb="note", caller=USER, action=ACTION), State.RUNNING),
    23: (Sending(verb="delete", caller=USER), State.EXPUNGING),
    27: (Sending(verb="stop", caller=USER), State.STARTING),
    28: (Sending(verb="stop", caller=USER, clean_up=True), State.STARTING),
    30: (Sending(verb="stop", caller=SYSTEM), State.RUNNING),
    31: (Sending(verb="status", caller=SYSTEM), State.RUNNING),
    32: (Sending(verb="status", caller=None), State.RUNNING),
    33: (Sending(verb="status", caller=None), State.STOPPED),
    34: (Sending(verb="stop", caller=SYSTEM), State.STOPPED),
    45: (Sending(verb="delete", caller=SYSTEM), State.EXPUNGING),
    46: (Sending(verb="stop", caller=SYSTEM), State.STOPPING),
}


def made(number):
    sending, state = CIRCUMSTANCES[number]
    instance = Cloud(hosts=[HOST]).new_instance(
        template={"image": "ubuntu-24.04-cuda", "both": "t", "shared_key": "t"},
        offering={"gpu_profile": "8xH200"},
    )
    instance.state = state
    return body_of(sending, instance, HOST, EXTENSION)


@pytest.mark.parametrize("number", CIRCUMSTANCES)
def test_keys_are_those_of_the_recording(number):
    ours, theirs = made(number), recorded(number)
    assert set(ours) == set(theirs)
    assert set(ours[DETAILS]) == set(theirs[DETAILS]) - OF_THE_DEPLOYMENT
    assert ours[DETAILS]["state"] == theirs[DETAILS]["state"]
    assert ours["externaldetails"].keys() == theirs["externaldetails"].keys()
    assert ours.get("caller", {}).get("name") == theirs.get("caller", {}).get("name")
    for what in ("nics", "disks"):
        assert len(ours[DETAILS][what]) == len(theirs[DETAILS][what])
    for ours_nic, theirs_nic in zip(ours[DETAILS]["nics"], theirs[DETAILS]["nics"], strict=True):
        assert set(ours_nic) == set(theirs_nic)
    vlan = "cloudstack.vlan"
    assert (vlan in ours["externaldetails"]["virtualmachine"]) == (
        vlan in theirs["externaldetails"]["virtualmachine"]
    )


@pytest.mark.parametrize("number", CIRCUMSTANCES)
def test_kinds_are_those_of_the_recording(number):
    ours, theirs = made(number)[DETAILS], recorded(number)[DETAILS]
    for key in ours:
        assert type(ours[key]) is type(theirs[key]), key


def test_an_instance_s_own_details_lie_over_its_offering_s():
    instance = Cloud(hosts=[HOST]).new_instance(template={"x": "t"}, offering={"x": "o", "y": "o"})
    body = body_of(Sending(verb="stop", caller=USER), instance, HOST, EXTENSION)
    assert body["externaldetails"]["virtualmachine"] == {"x": "t", "y": "o"}
    assert body[DETAILS]["details"]["External:x"] == "t"
    assert body[DETAILS]["details"]["External:y"] == "o"
    assert body["externaldetails"]["host"]["shared_key"] == "from-host"


def test_user_data_is_in_create_and_start_of_config_drive_networks_only():
    instance = Cloud(hosts=[HOST]).new_instance()
    instance.vm_data = [["userdata", "user_data", "eA=="]]
    for verb in ("prepare", "create", "start", "reboot", "stop", "delete", "status"):
        body = body_of(Sending(verb=verb, caller=USER), instance, HOST, EXTENSION)
        assert ("vmData" in body[DETAILS]) == (verb in {"create", "start"})


def test_a_nic_whose_network_is_not_there_yet_has_no_uri():
    instance = Cloud(hosts=[HOST]).new_instance()
    instance.nics[0].vlan = None
    body = body_of(Sending(verb="prepare", caller=USER), instance, HOST, EXTENSION)
    assert not {"broadcastUri", "isolationUri"} & set(body[DETAILS]["nics"][0])


def test_what_names_no_instance():
    assert json.loads(class_payload("a.b.C")) == recorded(37) | {"action": "a.b.C"}
    assert set(json.loads(statuses_payload(HOST, EXTENSION))) == {"externaldetails"}


def test_on_the_wire_it_is_one_line_as_gson_writes():
    instance = Cloud(hosts=[HOST]).new_instance(template={"x": "a&b <c>"})
    payload = payload_of(Sending(verb="create", caller=USER), instance, HOST, EXTENSION)
    assert b"\n" not in payload
    assert not set(payload) & set(b"=<>&'")
