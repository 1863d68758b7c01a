import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from provisioner.secret import Secret
from provisioner.seed.nocloud import compose_seed, hostname_of
from provisioner.servers.allocation import InstanceKey, InstanceRequest, TenantNetwork

KEY = InstanceKey(site="lab", instance="048214a2-2647-44e7-bf0c-6827a6cc7da8")
SSH = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS a@b"
MACS = ("52:54:00:66:00:01", "52:54:00:66:00:02", "52:54:00:66:00:03")


def _network(n=0, **changes):
    values = {
        "nic_uuid": f"nic-{n}",
        "mac": f"1e:00:a1:00:01:4{n}",
        "vlan": 1302,
        "address": f"203.0.113.{200 + n}",
        "prefix": 26,
        "gateway": "203.0.113.193",
        "dns": ("192.0.2.53",),
        "default": n == 0,
    }
    return TenantNetwork(**{**values, **changes})


def _request(**changes):
    values = {"key": KEY, "name": "i-7-57-VM", "who": "lab/alice", "hostname": "trainer-cd2"}
    return InstanceRequest(**{**values, **changes})


def _compose(request, macs=None):
    return compose_seed(request, macs or MACS[: len(request.networks)], salt="0123456789abcdef")


def _ethernets(request):
    return yaml.safe_load(_compose(request).network_config)["ethernets"]


def test_meta_data_names_the_instance_its_host_and_its_keys():
    texts = _compose(_request(ssh_keys=(f"{SSH}\n", SSH)))

    assert yaml.safe_load(texts.meta_data) == {
        "instance-id": KEY.instance,
        "local-hostname": "trainer-cd2",
        "public-keys": [SSH, SSH],
    }


def test_the_payloads_address_stands_on_the_servers_own_mac():
    assert _ethernets(_request(networks=(_network(mtu=1450),))) == {
        "eth0": {
            "match": {"macaddress": MACS[0]},
            "set-name": "eth0",
            "mtu": 1450,
            "addresses": ["203.0.113.200/26"],
            "routes": [{"to": "0.0.0.0/0", "via": "203.0.113.193"}],
            "nameservers": {"addresses": ["192.0.2.53"]},
        }
    }


def test_a_network_without_an_address_asks_for_one_and_is_not_waited_for():
    network = _network(address=None, prefix=None, gateway=None, dns=())

    assert _ethernets(_request(networks=(network,)))["eth0"] == {
        "match": {"macaddress": MACS[0]},
        "set-name": "eth0",
        "dhcp4": True,
        "optional": True,
    }


@pytest.mark.parametrize(
    ("defaults", "with_route"),
    [((True, False, False), "eth0"), ((False, False, True), "eth2"), ((False,) * 3, "eth0")],
)
def test_one_network_has_the_default_route(defaults, with_route):
    networks = tuple(_network(n, default=each) for n, each in enumerate(defaults))

    found = _ethernets(_request(networks=networks))

    assert [name for name, each in found.items() if "routes" in each] == [with_route]


def test_a_gateway_of_ipv6_has_its_own_everywhere():
    network = _network(address="fd66::5", prefix=64, gateway="fd66::1", dns=("fd66::53",))

    assert _ethernets(_request(networks=(network,)))["eth0"]["routes"] == [
        {"to": "::/0", "via": "fd66::1"}
    ]


def test_no_network_at_all_is_said():
    assert yaml.safe_load(_compose(_request()).network_config) == {"version": 2, "ethernets": {}}


def test_a_password_goes_hashed_into_vendor_data_only():
    texts = _compose(_request(password=Secret("geheim"), user_data=b"#cloud-config\n"))

    vendor = yaml.safe_load(texts.vendor_data)
    assert vendor["password"].startswith("$6$0123456789abcdef$")
    assert vendor["ssh_pwauth"] is True
    assert all(b"geheim" not in content for content in texts.files().values())


def test_without_a_password_vendor_data_says_nothing():
    assert yaml.safe_load(_compose(_request()).vendor_data) == {}


def test_user_data_comes_through_as_it_is():
    content = bytes(range(256)) * 5

    assert _compose(_request(user_data=content)).files()["user-data"] == content
    assert _compose(_request()).files()["user-data"] == b""


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("i-7-57-VM", "i-7-57-VM"),
        ("my server_1.example", "my-server-1-example"),
        ("-x-", "x"),
        ("ü" * 80, "instance"),
        ("a" * 62 + "-b", "a" * 62),
    ],
)
def test_an_instance_name_becomes_a_hostname(name, wanted):
    assert hostname_of(_request(name=name, hostname=None)) == wanted


@given(
    comment=st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=40),
    host=st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9-]{0,20}", fullmatch=True),
)
def test_whatever_a_key_says_the_yaml_gives_it_back(comment, host):
    key = f"ssh-ed25519 AAAA {comment}".strip()

    found = yaml.safe_load(_compose(_request(ssh_keys=(key,), hostname=host)).meta_data)

    assert found["public-keys"] == [key]
    assert found["local-hostname"] == host


def test_equal_requests_give_equal_texts():
    request = _request(networks=(_network(), _network(1)), password=Secret("x"))

    assert _compose(request) == _compose(request)


def test_a_seed_may_be_known_by_another_id_than_the_instance_s():
    """Of a new one alone cloud-init does again what it does once an instance."""
    texts = _compose(_request(seed_id=f"{KEY.instance}-1a2b3c4d"))
    first = texts.meta_data.splitlines()[0]
    assert first == f'instance-id: "{KEY.instance}-1a2b3c4d"'
