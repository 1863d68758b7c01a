import pytest

from provisioner.errors import ErrorCode, InputError
from provisioner.secret import Secret
from provisioner.seed.validate import MOST_USER_DATA, check_seed
from tests.unit.seed.test_nocloud import SSH, _network, _request

RSA_OF_ANOTHER_KIND = SSH.replace("ssh-ed25519", "ssh-rsa")


def _refused(request, ports=2):
    with pytest.raises(InputError) as raised:
        check_seed(request, ports=ports)
    return raised.value


@pytest.mark.parametrize(
    "request_",
    [
        _request(),
        _request(ssh_keys=(SSH, f"{SSH}\n"), networks=(_network(), _network(1))),
        _request(networks=(_network(address=None, prefix=None, gateway=None, dns=()),)),
        _request(networks=(_network(address="fd66::5", prefix=64, gateway="fd66::1"),)),
        _request(networks=(_network(prefix=31, address="203.0.113.192"),)),
        _request(networks=(_network(gateway=None, dns=()),)),
        _request(user_data=b"x" * MOST_USER_DATA),
        _request(hostname="a.b-c.example", password=Secret("x" * 256)),
    ],
)
def test_what_can_become_a_seed_passes(request_):
    check_seed(request_, ports=2)


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"hostname": "under_score"}, "hostname"),
        ({"hostname": "a" * 64}, "hostname"),
        ({"hostname": "a..b"}, "hostname"),
        ({"hostname": "evil\nname"}, "hostname"),
        ({"ssh_keys": ("hello",)}, "SSH key 0"),
        ({"ssh_keys": (SSH, f'command="x" {SSH}')}, "SSH key 1"),
        ({"ssh_keys": (f"{SSH}\n{SSH}",)}, "SSH key 0"),
        ({"ssh_keys": ("ssh-rsa AAA",)}, "not base64"),
        ({"ssh_keys": (RSA_OF_ANOTHER_KIND,)}, "type ssh-rsa"),
        ({"ssh_keys": (SSH,) * 65}, "64 SSH keys"),
        ({"password": Secret("x" * 257)}, "password"),
        ({"networks": (_network(address="1.2.3"),)}, "network 0: '1.2.3'"),
        ({"networks": (_network(prefix=None),)}, "prefix None"),
        ({"networks": (_network(prefix=33),)}, "prefix 33"),
        ({"networks": (_network(prefix=0),)}, "prefix 0"),
        ({"networks": (_network(gateway="10.0.0.1"),)}, "gateway 10.0.0.1 is not in"),
        ({"networks": (_network(gateway="203.0.113.200"),)}, "own address"),
        ({"networks": (_network(gateway="x"),)}, "gateway 'x'"),
        ({"networks": (_network(gateway="fd66::1"),)}, "gateway fd66::1 is not in"),
        ({"networks": (_network(address="203.0.113.255"),)}, "broadcast"),
        ({"networks": (_network(address="224.0.0.1", prefix=4, gateway=None),)}, "machine"),
        ({"networks": (_network(dns=("ns.example",)),)}, "DNS server 'ns.example'"),
        ({"networks": (_network(mtu=67),)}, "MTU 67"),
        ({"networks": (_network(mtu=9217),)}, "MTU 9217"),
        ({"networks": (_network(address="fd66::5", prefix=64, gateway=None, mtu=1000),)}, "IPv6"),
        ({"networks": (_network(), _network())}, "network 1: address 203.0.113.200 is network 0's"),
    ],
)
def test_what_cannot_is_named_with_its_place(changes, part):
    error = _refused(_request(**changes))

    assert error.code is ErrorCode.SEED_INVALID
    assert part in error.brief
    assert "\n" not in error.brief


def test_all_problems_come_at_once():
    brief = _refused(
        _request(hostname="_", ssh_keys=("x",), networks=(_network(mtu=1, dns=("y",)),))
    ).brief

    assert brief.count(";") == 3


def test_more_networks_than_ports_have_a_code_of_their_own():
    error = _refused(_request(networks=(_network(), _network(1))), ports=1)

    assert error.code is ErrorCode.NETWORKS_TOO_MANY


def test_too_much_user_data_has_a_code_of_its_own():
    error = _refused(_request(user_data=b"x" * (MOST_USER_DATA + 1)))

    assert error.code is ErrorCode.USER_DATA_TOO_LARGE
