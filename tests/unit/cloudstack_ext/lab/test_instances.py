import ipaddress
import json

import pytest

from cloudstack_ext.lab.commands import lab_callbacks
from cloudstack_ext.lab.instances import FIRST_VLAN, NUMBERS, InstanceNumbers, instance_of
from provisioner.errors import ErrorCode, OperatorError
from provisioner.lab.layout import PROVISIONING, Layout
from tests.recorded_payloads import DETAILS


def colliding():
    """Two names that would like the same number."""
    seen = {}
    for name in (f"n{count}" for count in range(4 * NUMBERS)):
        vlan = instance_of(name).vlan
        if vlan in seen:
            return seen[vlan], name
        seen[vlan] = name
    raise AssertionError


def test_a_number_stays_and_two_names_never_share_one(tmp_path):
    first, second = colliding()
    numbers = InstanceNumbers(tmp_path / "lab" / "instances")

    given = numbers.of(first), numbers.of(second)

    assert given[0] != given[1]
    assert (numbers.of(first), InstanceNumbers(tmp_path / "lab" / "instances").of(second)) == given
    one, other = (
        instance_of(name, number=number)
        for name, number in zip((first, second), given, strict=True)
    )
    for what in ("uuid", "name", "nic_uuid", "mac", "address", "gateway", "vlan"):
        assert getattr(one, what) != getattr(other, what)


def test_every_number_has_a_network_a_vlan_and_a_mac_of_its_own():
    controllers = {server.controller for server in Layout().servers}
    every = [instance_of("x", number=number) for number in range(NUMBERS)]
    for what in ("name", "mac", "address", "gateway", "vlan"):
        assert len({getattr(each, what) for each in every}) == NUMBERS
    assert min(each.vlan for each in every) == FIRST_VLAN
    assert max(each.vlan for each in every) < 4095
    for each in every:
        network = ipaddress.ip_interface(f"{each.address}/{each.netmask}").network
        assert ipaddress.ip_address(each.gateway) in network
        assert not network.overlaps(PROVISIONING.network)
        assert not any(controller in network for controller in controllers)


def test_when_all_numbers_are_used_up_there_is_no_further_instance(tmp_path):
    file = tmp_path / "instances"
    lines = (json.dumps([f"n{number}", number]) for number in range(NUMBERS))
    file.write_text("".join(f"{line}\n" for line in lines))
    with pytest.raises(OperatorError, match="begin anew") as refused:
        InstanceNumbers(file).of("one-more")
    assert refused.value.code is ErrorCode.LAB


def test_the_payloads_of_an_instance_agree_and_take_image_key_and_user_data(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    payload, (first, second) = lab_callbacks().payload, colliding()
    key, user_data = tmp_path / "key.pub", tmp_path / "user-data"
    key.write_text("ssh-ed25519 AAAAC3Nz me@desk\n")
    user_data.write_text("#cloud-config\n")

    prepare, create = (
        json.loads(payload(verb, first, "debian-12", key, user_data))
        for verb in ("prepare", "create")
    )
    other = json.loads(payload("create", second, None, None, None))

    assert prepare[DETAILS]["nics"][0]["mac"] == create[DETAILS]["nics"][0]["mac"]
    assert create["externaldetails"]["virtualmachine"]["image"] == "debian-12"
    assert create[DETAILS]["details"]["SSH.PublicKey"] == "ssh-ed25519 AAAAC3Nz \n"
    assert other["externaldetails"]["virtualmachine"]["image"] == "ubuntu-24.04-cuda"
    for what in ("mac", "ip", "gateway", "broadcastUri"):
        assert create[DETAILS]["nics"][0][what] != other[DETAILS]["nics"][0][what]
