"""Every payload that a real management server sent, read as the verb it came with."""

import pytest

from cloudstack_ext.contract import NETWORKED, parse, parse_call
from provisioner.errors import ErrorCode, InputError
from tests.recorded_payloads import DETAILS, FOLDER, SITE, body_of, payload_of

FILES = sorted(FOLDER.glob("*.json"))
NUMBERS = [int(path.name[:2]) for path in FILES]
JAVA = {37, 44, 48, 49, 50, 51, 52}
ACTIONS = {7: "why", 8: "sel log", 56: "delete"}
VERBS = {n: path.name.split("_")[1] for n, path in zip(NUMBERS, FILES, strict=True)}
INSTANCES = [n for n in NUMBERS if n not in JAVA | set(ACTIONS) and VERBS[n] != "getconsole"]


def test_all_56_are_here():
    assert list(range(1, 57)) == NUMBERS


@pytest.mark.parametrize("number", INSTANCES)
def test_instance_and_networks_are_those_of_the_payload(number):
    body = body_of(number)
    request = parse(VERBS[number], payload_of(number), SITE)
    assert request.verb == VERBS[number]
    assert request.instance.key.instance == body["virtualmachineid"]
    assert request.instance.name == body["virtualmachinename"]
    nics = body[DETAILS]["nics"] if request.verb in NETWORKED else []
    assert [network.nic_uuid for network in request.instance.networks] == [
        nic["nicUuid"] for nic in nics
    ]
    assert [network.mac for network in request.instance.networks] == [nic["mac"] for nic in nics]
    assert [network.address for network in request.instance.networks] == [
        nic.get("ip") for nic in nics
    ]


@pytest.mark.parametrize("number", [n for n in INSTANCES if VERBS[n] in {"prepare", "create"}])
def test_pool_is_the_host_s_and_image_the_virtual_machine_s(number):
    body = body_of(number)
    request = parse(VERBS[number], payload_of(number), SITE).instance
    assert request.pool == body["externaldetails"]["host"]["pool"]
    assert request.image == body["externaldetails"]["virtualmachine"].get("image")
    assert request.truth == "not asked"


@pytest.mark.parametrize("number", [n for n in INSTANCES if VERBS[n] == "create"])
def test_a_created_instance_has_the_vlan_that_cloudstack_names(number):
    request = parse("create", payload_of(number), SITE).instance
    vlan = body_of(number)["externaldetails"]["virtualmachine"].get("cloudstack.vlan")
    named = [network.vlan for network in request.networks if network.default]
    assert named == [int(vlan)] if vlan else all(network.vlan for network in request.networks)


@pytest.mark.parametrize("number", sorted(JAVA))
def test_a_java_class_name_is_no_verb(number):
    name = body_of(number)["action"]
    with pytest.raises(InputError) as caught:
        parse(name, payload_of(number), SITE)
    assert caught.value.code is ErrorCode.VERB_UNKNOWN


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (7, ErrorCode.CUSTOM_ACTION_REFUSED),  # none of ours
        (8, ErrorCode.PAYLOAD_FIELD),  # one of ours, with parameters that it does not take
        (56, ErrorCode.CUSTOM_ACTION_REFUSED),  # called like a verb
    ],
)
def test_a_recorded_custom_action_is_refused_whatever_it_is_named_like(number, code):
    with pytest.raises(InputError) as caught:
        parse_call(ACTIONS[number], payload_of(number), SITE)
    assert caught.value.code is code


def test_the_console_is_refused_clearly():
    with pytest.raises(InputError) as caught:
        parse("getconsole", payload_of(3), SITE)
    assert caught.value.code is ErrorCode.VERB_NOT_THERE


def test_a_network_with_config_drive_brings_everything_for_the_inside():
    request = parse("create", payload_of(39), SITE).instance
    assert request.hostname == "trainer-cd2"
    assert request.user_data == b"#cloud-config\nhostname: trainer\npackages: [htop]\n"
    assert len(request.ssh_keys) == 1
    assert request.ssh_keys[0].startswith("ssh-rsa AAAA")
    assert request.who == "lab: alice (User)"
    network = request.networks[0]
    assert (network.address, network.prefix, network.gateway) == (
        "203.0.113.200",
        26,
        "203.0.113.193",
    )
    assert network.dns == ("192.0.2.53",)
    assert network.mtu is None
    assert network.default


def test_behind_a_router_the_key_is_in_the_details_and_the_host_name_is_made():
    request = parse("create", payload_of(2), SITE).instance
    assert len(request.ssh_keys) == 1
    assert request.hostname == request.name.lower()
    assert request.user_data is None


def test_a_template_with_passwords_brings_one_that_no_repr_shows():
    request = parse("create", payload_of(55), SITE).instance
    assert request.password is not None
    assert request.password.reveal() == "REDACTED"
    assert "REDACTED" not in repr(request)


def test_before_its_network_exists_a_nic_has_no_vlan():
    assert parse("prepare", payload_of(9), SITE).instance.networks[0].vlan is None
    assert parse("create", payload_of(10), SITE).instance.networks[0].vlan == 1259


def test_only_prepare_says_the_mtu():
    assert parse("prepare", payload_of(1), SITE).instance.networks[0].mtu == 1500


def test_a_status_without_a_caller_is_nobody_s():
    assert parse("status", payload_of(32), SITE).instance.who == "lab: nobody named (no role)"
