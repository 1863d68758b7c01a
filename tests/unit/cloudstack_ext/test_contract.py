import json

import pytest

from cloudstack_ext.contract import (
    PAYLOAD_MOST,
    STATUSES,
    ActionRequest,
    Verb,
    done,
    failed,
    parse,
    parse_call,
    parse_statuses,
    parse_wait,
    power,
    prepared,
)
from cloudstack_ext.power_view import PowerState
from cloudstack_ext.registration.actions import ActionName
from provisioner.errors import ErrorCode, InputError, OperatorError
from tests.recorded_payloads import DETAILS, SITE, body_of, changed, payload_of

KEY = ("externaldetails", "host", "pool")
NIC = (DETAILS, "nics", 0)
USER_DATA_MOST = 1_048_576


def refusal(payload, verb="create"):
    with pytest.raises(InputError) as caught:
        parse_call(verb, payload, SITE)
    return caught.value


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"", ErrorCode.PAYLOAD_EMPTY),
        (b" \n\t", ErrorCode.PAYLOAD_EMPTY),
        (payload_of(39)[:1500], ErrorCode.PAYLOAD_MALFORMED),
        (b"\x00\xff\xfe binary", ErrorCode.PAYLOAD_MALFORMED),
        (b"\xef\xbb\xbf{}", ErrorCode.PAYLOAD_MALFORMED),
        ("{}".encode("utf-16"), ErrorCode.PAYLOAD_MALFORMED),
        (b"9" * 5000, ErrorCode.PAYLOAD_MALFORMED),
        (b"[" * 200_000, ErrorCode.PAYLOAD_MALFORMED),
        (b'{"a":' * 200_000, ErrorCode.PAYLOAD_MALFORMED),
        (b"{" + b" " * PAYLOAD_MOST + b"}", ErrorCode.PAYLOAD_TOO_LARGE),
        (b"[]", ErrorCode.PAYLOAD_NOT_AN_OBJECT),
        (b"null", ErrorCode.PAYLOAD_NOT_AN_OBJECT),
        (b"NaN", ErrorCode.PAYLOAD_NOT_AN_OBJECT),
        (b'"create"', ErrorCode.PAYLOAD_NOT_AN_OBJECT),
        (b"{}", ErrorCode.PAYLOAD_FIELD),
    ],
)
@pytest.mark.parametrize("verb", Verb)
def test_a_payload_that_is_none_is_refused_for_every_verb(verb, payload, code):
    assert refusal(payload, verb).code is code


WRONG = [
    (("virtualmachineid",), ...),
    (("virtualmachineid",), "57"),
    (("virtualmachineid",), 57),
    (("virtualmachineid",), "../../etc/passwd"),
    (("virtualmachineid",), "048214a2-2647-44e7-bf0c-6827a6cc7da8\n"),
    (("virtualmachinename",), ...),
    (("virtualmachinename",), ["i-7-57-VM"]),
    (("virtualmachinename",), "i-7\n-57"),
    (("virtualmachinename",), "\ud800"),
    (("virtualmachinename",), "i" * 256),
    (("caller",), "alice"),
    (("caller", "name"), 7),
    (("externaldetails",), []),
    (("externaldetails", "host"), "a"),
    (KEY, 1),
    (KEY, ""),
    (KEY, "A/../b"),
    (("externaldetails", "virtualmachine"), 5),
    (("externaldetails", "virtualmachine", "image"), {"name": "x"}),
    (("externaldetails", "virtualmachine", "image"), "x" * 256),
    ((DETAILS,), "none"),
    ((DETAILS, "nics"), {}),
    (NIC, "eth0"),
    ((*NIC, "nicUuid"), ...),
    ((*NIC, "nicUuid"), "1"),
    ((*NIC, "mac"), ...),
    ((*NIC, "mac"), "1e:00:a1"),
    ((*NIC, "deviceId"), "0"),
    ((*NIC, "deviceId"), True),
    ((*NIC, "deviceId"), 10**30),
    ((*NIC, "ip"), "203.0.113.300"),
    ((*NIC, "ip"), "fe80::1"),
    ((*NIC, "ip"), 12),
    ((*NIC, "netmask"), ...),
    ((*NIC, "netmask"), "255.0.255.0"),
    ((*NIC, "netmask"), "0.0.0.0"),
    ((*NIC, "gateway"), "router"),
    ((*NIC, "dns1"), "dns.example"),
    ((*NIC, "broadcastUri"), "vxlan://1302"),
    ((*NIC, "broadcastUri"), "vlan://untagged"),
    ((*NIC, "broadcastUri"), "vlan://0"),
    ((*NIC, "broadcastUri"), "vlan://4095"),
    ((*NIC, "broadcastUri"), "vlan://1302/../7"),
    ((*NIC, "broadcastUri"), 1302),
    ((*NIC, "mtu"), 1500.0),
    ((*NIC, "mtu"), float("nan")),
    ((*NIC, "mtu"), 10),
    ((*NIC, "defaultNic"), "true"),
    ((DETAILS, "vmData"), "user data"),
    ((DETAILS, "details"), []),
    ((DETAILS, "details", "SSH.PublicKey"), 7),
    ((DETAILS, "details", "SSH.PublicKey"), "ssh-rsa"),
    ((DETAILS, "details", "SSH.PublicKey"), "ssh-rsa AAAA\x00"),
    ((DETAILS, "details", "SSH.PublicKey"), 'command="id" ssh-rsa AAAA'),
    ((DETAILS, "vmData", 3, 2), "no host name"),
    ((DETAILS, "vmData", 3, 2), "-x"),
    ((DETAILS, "vmData", 3, 2), "x" * 64),
    ((DETAILS, "vmData", 3, 2), 7),
    ((DETAILS, "vmData", 9, 2), ["ssh-rsa AAAA"]),
]


@pytest.mark.parametrize(("steps", "value"), WRONG)
def test_a_field_that_is_used_and_wrong_is_named_with_its_path(steps, value):
    error = refusal(changed(39, *steps, value))
    assert error.code is ErrorCode.PAYLOAD_FIELD
    named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    if steps[:2] != (DETAILS, "vmData"):
        assert f"{named.lstrip('.')}: wanted" in error.brief
    else:
        assert f"{DETAILS}.vmData" in error.brief


def test_a_wrong_value_is_never_repeated():
    error = refusal(changed(39, DETAILS, "vmData", 3, 2, "hunter2 hunter2"))
    assert "hunter2" not in str(error)


def test_two_nics_with_one_uuid_are_refused():
    nics = body_of(54)[DETAILS]["nics"]
    nics[1]["nicUuid"] = nics[0]["nicUuid"]
    assert refusal(changed(54, DETAILS, "nics", nics)).code is ErrorCode.PAYLOAD_FIELD


def test_more_networks_than_any_server_has_ports_are_refused():
    nic = body_of(39)[DETAILS]["nics"][0]
    error = refusal(changed(39, DETAILS, "nics", [nic] * 65))
    assert error.code is ErrorCode.NETWORKS_TOO_MANY


def test_networks_stand_in_the_order_of_their_devices():
    nics = body_of(54)[DETAILS]["nics"]
    request = parse("create", changed(54, DETAILS, "nics", nics[::-1]), SITE).instance
    assert [network.vlan for network in request.networks] == [1259, 1221]
    assert request.networks[1].address is None


@pytest.mark.parametrize(
    ("coded", "code"),
    [
        ("A" * (USER_DATA_MOST + 4), ErrorCode.USER_DATA_TOO_LARGE),
        ("I2Nsb3VkLWNvbmZpZw=", ErrorCode.USER_DATA_UNREADABLE),
        ("#cloud-config", ErrorCode.USER_DATA_UNREADABLE),
        ("#AAAA", ErrorCode.USER_DATA_UNREADABLE),
        ("\ud800AAA", ErrorCode.USER_DATA_UNREADABLE),
    ],
)
def test_user_data_that_cannot_be_served_is_refused(coded, code):
    assert refusal(changed(39, DETAILS, "vmData", 0, 2, coded)).code is code


def test_user_data_of_the_largest_size_is_taken():
    request = parse("create", changed(39, DETAILS, "vmData", 0, 2, "A" * USER_DATA_MOST), SITE)
    assert request.instance.user_data == bytes(USER_DATA_MOST // 4 * 3)


@pytest.mark.parametrize("nothing", [None, ""])
def test_what_is_empty_in_vm_data_is_not_there(nothing):
    payload = changed(39, DETAILS, "vmData", 0, 2, nothing)
    assert parse("create", payload, SITE).instance.user_data is None
    payload = changed(39, DETAILS, "vmData", 3, 2, nothing)
    assert parse("create", payload, SITE).instance.hostname == "i-7-57-vm"


def test_vm_data_of_another_form_is_nobody_s():
    data = [*body_of(39)[DETAILS]["vmData"], ["metadata"], 7, None, ["a", "b", "c", "d"]]
    assert parse("create", changed(39, DETAILS, "vmData", data), SITE).instance.user_data


def test_the_pool_is_the_resource_map_s_where_the_host_names_none():
    request = parse("create", changed(39, *KEY, ...), SITE).instance
    assert request.pool == "rack7"


def test_without_a_pool_there_is_no_default():
    external = {"virtualmachine": {"pool": "a", "image": "x"}, "extension": {"pool": "a"}}
    request = parse("create", changed(39, "externaldetails", external), SITE).instance
    assert request.pool is None


@pytest.mark.parametrize("key", ["pool", "server", "controller", "node", "bmc", "root_disk"])
def test_nothing_else_that_a_tenant_can_set_changes_the_request(key):
    plain = parse("create", payload_of(39), SITE)
    for steps in (
        ("externaldetails", "virtualmachine", key),
        (DETAILS, "details", key),
        (DETAILS, "details", f"External:{key}"),
    ):
        assert parse("create", changed(39, *steps, "bios1"), SITE) == plain


@pytest.mark.parametrize("steps", [("site",), ("caller", "site"), ("externaldetails", "site")])
def test_a_payload_cannot_say_its_site(steps):
    request = parse("create", changed(39, *steps, "other"), SITE)
    assert request == parse("create", payload_of(39), SITE)


@pytest.mark.parametrize("verb", ["stop", "delete", "status"])
def test_what_ends_an_instance_needs_its_uuid_alone(verb):
    uuid = body_of(39)["virtualmachineid"]
    payload = json.dumps({"virtualmachineid": uuid.upper(), DETAILS: 7, "externaldetails": 7})
    assert parse(verb, payload.encode(), SITE).instance.key.instance == uuid


@pytest.mark.parametrize("verb", ["", "deploy", "Create", "create ", "sel log", "\ud800"])
def test_an_unknown_verb_is_refused(verb):
    assert refusal(payload_of(39), verb).code is ErrorCode.VERB_UNKNOWN


def test_a_verb_of_later_versions_says_so():
    assert refusal(payload_of(39), "getconsole").code is ErrorCode.VERB_NOT_THERE


@pytest.mark.parametrize("action", [None, "", "x", 7, ["why"], {"why": 1}, *Verb, "statuses"])
@pytest.mark.parametrize("verb", [*Verb, "power-cycle"])
def test_a_payload_with_the_key_action_is_never_a_verb(verb, action):
    assert refusal(changed(39, "action", action), verb).code is ErrorCode.CUSTOM_ACTION_REFUSED


@pytest.mark.parametrize("verb", [*Verb, "getconsole", "why", "sel log", "anything"])
def test_an_action_is_what_the_payload_calls_it_whatever_argv_says(verb):
    request = parse_call(verb, changed(7, "action", "why"), SITE)
    assert isinstance(request, ActionRequest)
    assert request.name is ActionName.WHY
    assert request.instance.key.instance == body_of(7)["virtualmachineid"]
    assert request.instance.who == "lab: alice (User)"
    assert (request.state, request.by_admin, request.parameters) == ("Stopped", False, {})
    assert request.act == "action why"


def test_who_has_no_actions_is_told_of_none():
    with pytest.raises(InputError) as caught:
        parse("why", changed(7, "action", "why"), SITE)
    assert caught.value.code is ErrorCode.CUSTOM_ACTION_REFUSED


def test_no_action_is_called_like_a_verb():
    assert not set(ActionName) & {*Verb, STATUSES, "getconsole"}


def test_statuses_is_no_action():
    with pytest.raises(InputError) as caught:
        parse_statuses(changed(7, "action", "why"))
    assert caught.value.code is ErrorCode.CUSTOM_ACTION_REFUSED


ACTED = {"virtualmachineid", "action", "caller", DETAILS, "virtualmachinename", "externaldetails"}


def acted(action, parameters=...):
    body = {key: body_of(8)[key] for key in ACTED} | {"action": action}
    return json.dumps(body if parameters is ... else body | {"parameters": parameters}).encode()


@pytest.mark.parametrize(
    ("action", "parameters", "path"),
    [
        ("power-cycle", ..., "parameters.confirm: wanted a text, found nothing"),
        ("power-cycle", None, "parameters.confirm: wanted a text, found nothing"),
        ("power-cycle", {}, "parameters.confirm: wanted a text, found nothing"),
        ("power-cycle", {"confirm": None}, "parameters.confirm: wanted a text"),
        ("power-cycle", {"confirm": ""}, "parameters.confirm: wanted a text"),
        ("power-cycle", {"confirm": True}, "parameters.confirm: wanted a text"),
        ("power-cycle", {"confirm": 7}, "parameters.confirm: wanted a text"),
        ("power-cycle", {"confirm": ["i-7-3-VM"]}, "parameters.confirm: wanted a text"),
        ("power-cycle", {"confirm": "a\nb"}, "parameters.confirm: wanted printable"),
        ("power-cycle", {"confirm": "x" * 256}, "parameters.confirm: wanted at most 255"),
        ("power-cycle", {"confirm": "x", "target": "pxe"}, "parameters: power-cycle takes confirm"),
        ("power-cycle", ["confirm"], "parameters: wanted an object"),
        ("cordon", {"reason": 1.5}, "parameters.reason: wanted a text"),
        ("cordon", ..., "parameters.reason: wanted a text, found nothing"),
        ("why", {"confirm": "x"}, "parameters: why takes none, and nothing else"),
        ("why", "x", "parameters: wanted an object"),
    ],
)
def test_parameters_that_are_missing_or_wrong_are_said_in_one_line(action, parameters, path):
    error = refusal(acted(action, parameters), action)
    assert error.code is ErrorCode.PAYLOAD_FIELD
    assert error.brief.startswith(path)
    assert error.brief.isprintable()


def test_parameters_are_read_as_the_action_declares_them():
    confirmed = parse_call("x", acted("power-cycle", {"confirm": "i-7-3-VM"}), SITE)
    assert confirmed.parameters == {"confirm": "i-7-3-VM"}
    assert parse_call("x", acted("reinstall", {"confirm": "i"}), SITE).parameters == {
        "confirm": "i"
    }
    assert parse_call("x", acted("why", {}), SITE).parameters == {}


def test_nothing_of_an_action_s_payload_chooses_machine_image_or_networks():
    instance = parse_call("x", acted("why"), SITE).instance
    assert (instance.pool, instance.host, instance.image, instance.networks) == (None,) * 3 + ((),)


def test_a_caller_cannot_write_lines_into_the_evidence():
    request = parse("create", changed(39, "caller", "name", "bob\nsigned: root"), SITE).instance
    assert request.who == "lab: bob?signed: root (User)"


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "1e3", "٣", "1" * 10, " 5", "5\n"])
def test_a_wait_that_is_none_is_refused(text):
    with pytest.raises(InputError) as caught:
        parse_wait(text)
    assert caught.value.code is ErrorCode.USAGE


def test_wait_is_in_seconds():
    assert parse_wait("1800") == 1800.0


def test_replies_are_one_short_line():
    assert done("on").line == '{"status":"success","message":"on"}'
    assert power(PowerState.ON).line == '{"status":"success","power_state":"PowerOn"}'
    assert prepared({"n": "m"}).line == '{"nics":[{"nicUuid":"n","mac":"m"}]}'
    long = done("ü\n" * 100_000).line
    assert len(long) < 32 * 1024
    assert long.isascii()
    assert "\n" not in long


def test_a_failure_shows_code_and_brief_and_ends_with_1():
    reply = failed(OperatorError(ErrorCode.DISK_FAILED, "the disk failed", "secret detail"))
    assert reply.line == '{"status":"error","error":"DISK_FAILED: the disk failed"}'
    assert reply.exit == 1
