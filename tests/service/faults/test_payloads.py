"""Bad input, through the real entry into the real service: one clear line, and nothing is done."""

import base64
import json
import os

import pytest

from cloudstack_ext.contract import Verb
from cloudstack_ext.lab.instances import instance_of
from cloudstack_ext.lab.payload import lab_payload
from cloudstack_ext.management_server.wire import wire
from provisioner.errors import ErrorCode
from tests.recorded_payloads import payload_of
from tests.service.entry.rig import HTTPS, SOCKET

pytestmark = pytest.mark.emulated
GOOD = lab_payload(Verb.CREATE, instance_of("good"))
NIC = ("cloudstack.vm.details", "nics", 0)
GONE = object()


def changed(*places):
    """The good payload with (path, value) pairs set; GONE takes a key away."""
    body = json.loads(GOOD)
    for path, value in places:
        *way, last = path
        node = body
        for key in way:
            node = node[key]
        if value is GONE:
            del node[last]
        else:
            node[last] = value
    return wire(body)


def with_data(folder, name, content):
    body = json.loads(GOOD)
    entries = body["cloudstack.vm.details"]["vmData"]
    kept = [entry for entry in entries if entry[:2] != [folder, name]]
    body["cloudstack.vm.details"]["vmData"] = [*kept, [folder, name, content]]
    return wire(body)


@pytest.fixture(autouse=True, params=[SOCKET, HTTPS])
def way(running, request):
    """Each payload over both ways."""
    running.by(request.param)


@pytest.fixture
def untouched(running, way):
    """What was asked must have changed nothing: not a row, not a machine."""
    query = "SELECT count(*) FROM allocation", "SELECT count(*) FROM operation"
    before = [running.rows(each) for each in query]
    acts = len(running.rack.log.acts())
    yield running
    assert [running.rows(each) for each in query] == before
    assert len(running.rack.log.acts()) == acts
    assert running.states() == {"s1": "AVAILABLE", "s2": "AVAILABLE"}


def refused(answer, code):
    """One object, one line (Answered looks at that), a code of the closed list, a short text."""
    assert answer.exit == 1
    assert answer.code == code, answer.body
    assert answer.code in set(ErrorCode)
    assert answer.text.isprintable()
    assert "Traceback" not in answer.text
    assert len(answer.text) < 500
    return answer.text


BROKEN = [
    ("empty", b"", "PAYLOAD_EMPTY"),
    ("blanks", b" \n ", "PAYLOAD_EMPTY"),
    ("cut off", GOOD[:2000], "PAYLOAD_MALFORMED"),
    ("cut in a character", GOOD[:900] + b"\xc3", "PAYLOAD_MALFORMED"),
    ("binary", os.urandom(4096), "PAYLOAD_MALFORMED"),
    ("zeros", bytes(100), "PAYLOAD_MALFORMED"),
    ("utf-16", GOOD.decode().encode("utf-16"), "PAYLOAD_MALFORMED"),
    ("nested", b"[" * 100_000, "PAYLOAD_MALFORMED"),
    ("nested objects", b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "PAYLOAD_MALFORMED"),
    ("digits", b'{"a":' + b"9" * 10_000 + b"}", "PAYLOAD_MALFORMED"),
    ("two objects", GOOD + GOOD, "PAYLOAD_MALFORMED"),
    ("a list", b"[]", "PAYLOAD_NOT_AN_OBJECT"),
    ("a text", b'"create"', "PAYLOAD_NOT_AN_OBJECT"),
    ("null", b"null", "PAYLOAD_NOT_AN_OBJECT"),
    ("an empty object", b"{}", "PAYLOAD_FIELD"),
    ("larger than may be", b" " * (4 * 2**20 + 1), "PAYLOAD_TOO_LARGE"),
    ("as large as may be", GOOD[:-1] + b" " * (4 * 2**20 - len(GOOD)) + b"]", "PAYLOAD_MALFORMED"),
]


@pytest.mark.parametrize("verb", ["create", "status", "stop", "delete"])
@pytest.mark.parametrize(("payload", "code"), [pytest.param(*b[1:], id=b[0]) for b in BROKEN])
def test_a_payload_that_is_none(untouched, verb, payload, code):
    refused(untouched.send(verb, payload), code)


def test_a_payload_file_that_is_not_there(untouched):
    refused(untouched.without_file("create", "/nowhere/payload.json"), "FILE_UNREADABLE")
    refused(untouched.without_file("create", str(untouched.folder)), "FILE_UNREADABLE")


USED = [
    (("virtualmachineid",), (GONE, None, 7, True, [], {}, "", "57", "x" * 36)),
    (("virtualmachinename",), (GONE, None, 7, [], "", "a\nb", "x" * 300)),
    (("externaldetails",), (7, "x", [])),
    (("externaldetails", "host"), (7, "x", [])),
    (("externaldetails", "host", "pool"), (7, [], {}, "A", "a b", "../a")),
    (("externaldetails", "virtualmachine"), (7, "x", [])),
    (("externaldetails", "virtualmachine", "image"), (7, [], {}, "x" * 300)),
    (("caller",), (7, "x", [])),
    (("caller", "name"), (7, [], {})),
    (("cloudstack.vm.details",), (7, "x", [])),
    (("cloudstack.vm.details", "nics"), (7, "x", {})),
    (("cloudstack.vm.details", "vmData"), (7, "x", {})),
    (("cloudstack.vm.details", "details"), (7, "x", [])),
    (("cloudstack.vm.details", "details", "SSH.PublicKey"), (7, [], {}, "ssh-rsa", "?")),
    (NIC, (7, "x", [])),
    ((*NIC, "deviceId"), ("0", [], -1, 1.5, True)),
    ((*NIC, "nicUuid"), (GONE, None, 7, [], "57")),
    ((*NIC, "mac"), (GONE, None, 7, [], "02-00-00-00-00-01", "02:00")),
    ((*NIC, "ip"), (7, [], "10.0.0", "10.0.0.256", "::1")),
    ((*NIC, "netmask"), (GONE, 7, "255.0.255.0", "24")),
    ((*NIC, "gateway"), (7, [], "gw")),
    ((*NIC, "dns1"), (7, [], "dns")),
    ((*NIC, "broadcastUri"), (7, [], "vlan://0", "vlan://4095", "vxlan://7", "vlan://1 2")),
    ((*NIC, "defaultNic"), (7, "yes", [])),
    ((*NIC, "mtu"), ("1500", 1, 70_000, [])),
]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(path, value, id=f"{path[-1]}-{'gone' if value is GONE else repr(value)[:12]}")
        for path, values in USED
        for value in values
    ],
)
def test_a_used_field_that_is_missing_or_wrong(untouched, path, value):
    text = refused(untouched.send("create", changed((path, value))), "PAYLOAD_FIELD")
    named = str(path[-1]) if path != NIC else "nics[0]"
    assert named in text


@pytest.mark.parametrize(
    "verb", ["prepare", "create", "start", "stop", "reboot", "delete", "status"]
)
def test_a_uuid_that_is_none(untouched, verb):
    body = json.loads(lab_payload(Verb(verb), instance_of("good")))
    body["virtualmachineid"] = "i-2-57-VM"
    text = refused(untouched.send(verb, wire(body)), "PAYLOAD_FIELD")
    assert "virtualmachineid" in text


def test_an_image_that_the_pool_does_not_have(untouched):
    image = ("externaldetails", "virtualmachine", "image")
    text = refused(untouched.send("create", changed((image, "windows-95"))), "IMAGE_UNKNOWN")
    assert "ubuntu-24.04-cuda" in text
    assert "windows-95" not in text
    refused(untouched.send("create", changed((image, GONE))), "IMAGE_MISSING")
    refused(untouched.send("prepare", changed((image, "windows-95"))), "IMAGE_UNKNOWN")


def test_an_image_whose_files_are_gone(running):
    """Found out by the deployment; our side's fault, so the server comes back by itself."""
    blocks = running.image_files / "blocks.json"
    blocks.unlink()
    try:
        refused(running.call("create", "without-files"), "IMAGE_MISSING")
    finally:
        blocks.touch()
    running.until_state("s1", "AVAILABLE")
    assert running.rack.log.count("s1 agent write_image") == 0


def test_a_host_without_a_pool_or_with_one_that_is_not_there(untouched):
    pool = ("externaldetails", "host", "pool")
    other = ("externaldetails", "resourcemap", "pool")
    none = changed((pool, GONE), (other, GONE))
    refused(untouched.send("create", none), "POOL_MISSING")
    refused(untouched.send("create", changed((pool, "b"))), "POOL_UNKNOWN")


@pytest.mark.parametrize("coded", ["%%%", "QUJ", "Q=JD", "Zm9v\x00", "ä"])
def test_user_data_that_cannot_be_decoded(untouched, coded):
    payload = with_data("userdata", "user_data", coded)
    refused(untouched.send("create", payload), "USER_DATA_UNREADABLE")


def test_user_data_that_is_too_large(untouched):
    coded = base64.b64encode(bytes(786_433)).decode()
    payload = with_data("userdata", "user_data", coded)
    refused(untouched.send("create", payload), "USER_DATA_TOO_LARGE")


def test_a_network_without_a_vlan(untouched):
    uri = (*NIC, "broadcastUri")
    refused(untouched.send("create", changed((uri, GONE))), "VLAN_MISSING")
    refused(untouched.send("create", changed((NIC[:2], []))), "VLAN_MISSING")


@pytest.mark.parametrize("verb", ["prepare", "create"])
def test_more_networks_than_the_server_has_ports(running, verb):
    """Found out with a server in hand: it goes back at once."""
    body = json.loads(GOOD)
    nics = body["cloudstack.vm.details"]["nics"]
    other = {"nicUuid": "00000000-0000-4000-8000-000000000001", "ip": "10.99.0.9"}
    nics.append(nics[0] | other | {"gateway": "10.99.0.1", "deviceId": 1, "defaultNic": False})
    refused(running.send(verb, wire(body)), "NETWORKS_TOO_MANY")
    assert running.states() == {"s1": "AVAILABLE", "s2": "AVAILABLE"}
    assert running.rows("SELECT count(*) FROM allocation WHERE ended_at IS NULL") == [(0,)]


@pytest.mark.parametrize(
    ("verb", "number", "code"),
    [
        ("delete", 56, "CUSTOM_ACTION_REFUSED"),
        ("why", 7, "CUSTOM_ACTION_REFUSED"),
        ("getconsole", 3, "VERB_NOT_THERE"),
        ("statuses", 31, "PAYLOAD_FIELD"),
        ("statuses", 7, "CUSTOM_ACTION_REFUSED"),
        ("deploy", 39, "VERB_UNKNOWN"),
        *(
            (json.loads(payload_of(n))["action"], n, "VERB_UNKNOWN")
            for n in (37, 44, *range(48, 53))
        ),
    ],
)
def test_what_is_no_verb_is_refused_within_a_second(untouched, verb, number, code):
    answer = untouched.send(verb, payload_of(number))
    refused(answer, code)
    assert answer.seconds < 1


@pytest.mark.parametrize("wait", ["0", "-1", "soon", "1.5", ""])
def test_a_wait_that_is_none(untouched, wait):
    refused(untouched.without_file("status", "/dev/null", wait), "USAGE")
