import base64
import hashlib
import re
import socket
import sys
from importlib import resources

import pytest

from provisioner.agent import rescue, rescue_plan
from provisioner.agent.order import OrderFailedError
from provisioner.agent.rescue_order import RescueNetwork, RescueOrder

MAC, OTHER = "52:54:00:00:00:01", "52:54:00:00:00:02"


def blob(*fields):
    return base64.b64encode(
        b"".join(len(each).to_bytes(4, "big") + each for each in fields)
    ).decode()


ED25519 = f"ssh-ed25519 {blob(b'ssh-ed25519', bytes(32))}"
RSA = f"ssh-rsa {blob(b'ssh-rsa', b'one', bytes(257))}"


def network(**changed):
    body = {
        "mac": MAC,
        "address": "192.0.2.10",
        "prefix": 24,
        "gateway": "192.0.2.1",
        "dns": ["192.0.2.53"],
        "default": True,
        "mtu": None,
    }
    return body | changed


def order(*networks, **changed):
    body = {"hostname": "web-1", "keys": [ED25519], "networks": list(networks or [network()])}
    return body | changed


def networks(*bodies):
    return RescueOrder.from_json(order(*bodies)).networks


def test_an_order_is_read_as_it_was_written():
    read = RescueOrder.from_json(order(keys=[ED25519, RSA + " me@home"]))
    assert RescueOrder.from_json(read.to_json()) == read
    assert read.networks[0].address == "192.0.2.10"


V6 = network(address="2001:db8::5", prefix=64, gateway="2001:db8::1", dns=["2001:db8::53"])
CUT = f"ssh-ed25519 {blob(b'ssh-ed25519', bytes(32))[:-8]}"


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        order(hostname=""),
        order(hostname="-web"),
        order(hostname="web_1"),
        order(hostname="web\n127.0.0.1 bank.example"),
        order(hostname="$(reboot)"),
        order(hostname="a" * 64),
        order(hostname=".".join(["a" * 50] * 6)),
        order(hostname=7),
        order(keys=[]),
        order(keys=[ED25519] * 65),
        order(keys="ssh-ed25519"),
        order(keys=[None]),
        order(keys=[f'command="sh" {ED25519}']),
        order(keys=[f"no-pty,{ED25519}"]),
        order(keys=[ED25519 + "\n" + RSA]),
        order(keys=[ED25519 + " me\r"]),
        order(keys=[" " + ED25519]),
        order(keys=["ssh-ed25519"]),
        order(keys=["ssh-ed25519 "]),
        order(keys=["ssh-ed25519 %%%"]),
        order(keys=["ssh-ed25519 AAAA="]),
        order(keys=["ssh-ed25519 \u00e4\u00e4\u00e4\u00e4"]),
        order(keys=[ED25519.replace("ssh-ed25519", "ssh-rsa", 1)]),
        order(keys=[f"ssh-dss {blob(b'ssh-dss', b'1', b'2', b'3', b'4')}"]),
        order(keys=[f"ssh-ed25519 {blob(b'ssh-ed25519')}"]),
        order(keys=[CUT]),
        order(keys=[ED25519 + " " + "x" * 1024]),
        order(networks=[]),
        order(network(), network(address="192.0.2.11")),
        order(network(mac="52:54:00:00:00:0G")),
        order(network(mac="52:54:00:AA:00:01")),
        order(network(mac="eth0")),
        order(network(address="192.0.2.300")),
        order(network(address="192.0.2.10/24")),
        order(network(address="192.0.2.10; reboot")),
        order(network(address="127.0.0.1", prefix=8, gateway=None)),
        order(network(address="224.0.0.1", gateway=None)),
        order(network(address="0.0.0.0", gateway=None)),
        order(network(address=3221225994)),
        order(network(prefix=None)),
        order(network(prefix=0)),
        order(network(prefix=33)),
        order(network(prefix="24")),
        order(network(prefix=True)),
        order(network(gateway="198.51.100.1")),
        order(network(gateway="192.0.2.10")),
        order(network(gateway="2001:db8::1")),
        order(network(gateway="router")),
        order(network(address=None, prefix=None, gateway="router")),
        order(network(dns=["8.8.8.8\noptions debug"])),
        order(network(dns=["fe80::1%$(reboot)"])),
        order(network(dns="192.0.2.53")),
        order(network(default=1)),
        order(network(mtu=67)),
        order(network(mtu=9217)),
        order(V6 | {"mtu": 1279}),
        order(V6 | {"address": "fe80::5%eth0", "gateway": None}),
    ],
)
def test_a_malformed_order_is_refused_before_anything_is_done(body):
    with pytest.raises(OrderFailedError) as failed:
        rescue.rescue(body, None)
    assert failed.value.code == "ORDER_MALFORMED"
    assert len(failed.value.text.splitlines()) == 1
    assert failed.value.text.isprintable()


def test_what_is_wrong_is_told_with_its_place():
    long = order(keys=[RSA, ED25519 + " " + "x" * 1024])
    with pytest.raises(OrderFailedError, match=r"keys\[1\] is longer than 1024 characters"):
        rescue.rescue(long, None)
    with pytest.raises(OrderFailedError, match=rf"network '{MAC}': MTU 1 is not from 68 to 9216"):
        rescue.rescue(order(network(mtu=1)), None)


@pytest.mark.parametrize(
    "body",
    [
        order(hostname="web-1.example.org"),
        order(keys=[ED25519 + " a comment, with $(words) and ünicode"]),
        order(keys=[f"{kind} {blob(kind.encode(), b'x')}" for kind in
                    ("ecdsa-sha2-nistp521", "sk-ssh-ed25519@openssh.com")]),
        order(network(address=None, prefix=None, gateway=None, dns=[])),
        order(network(prefix=32, gateway=None)),
        order(V6 | {"mtu": 1280}),
        order(network(mtu=9000), network(mac=OTHER, address="198.51.100.9", gateway=None)),
    ],
)  # fmt: skip
def test_what_a_tenant_may_have_is_taken(body):
    assert RescueOrder.from_json(body)


def test_a_card_that_is_not_in_this_machine_is_named_before_anything_is_done(monkeypatch):
    monkeypatch.setattr(rescue, "read_cards", lambda _tree: ())
    with pytest.raises(OrderFailedError, match=MAC) as failed:
        rescue.rescue(order(), None)
    assert failed.value.code == "FACTS_DIFFER"


CARDS = {MAC: "eth0", OTHER: "eth1", "52:54:00:00:00:03": "eth2"}
DOWN = [
    *("ip link set eth0 down", "ip addr flush dev eth0"),
    *("ip link set eth1 down", "ip addr flush dev eth1"),
    *("ip link set eth2 down", "ip addr flush dev eth2"),
]


def commands(*bodies):
    made = [" ".join(each) for each in rescue_plan.network_commands(networks(*bodies), CARDS)]
    assert made[: len(DOWN)] == DOWN
    return made[len(DOWN) :]


def test_every_card_leaves_the_provisioning_network_and_those_of_the_order_come_up():
    assert commands(network(mtu=9000)) == [
        "ip link set eth0 mtu 9000",
        "ip link set eth0 up",
        "ip addr add 192.0.2.10/24 dev eth0",
        "ip -4 route add default via 192.0.2.1 dev eth0",
    ]


def test_a_card_that_asks_has_no_address_of_ours():
    assert commands(network(address=None, prefix=None, mtu=1400)) == [
        "ip link set eth0 mtu 1400",
        "ip link set eth0 up",
    ]


def test_an_address_of_version_6_has_its_own_way_out():
    assert commands(V6) == [
        "ip link set eth0 up",
        "ip addr add 2001:db8::5/64 dev eth0",
        "ip -6 route add default via 2001:db8::1 dev eth0",
    ]


SECOND = {"mac": OTHER, "address": "198.51.100.9", "gateway": "198.51.100.1"}


@pytest.mark.parametrize(
    ("first", "second", "mac"),
    [
        ({"default": False}, {"default": True}, OTHER),
        ({"default": False}, {"default": False}, MAC),
        ({"default": True, "gateway": None}, {"default": False}, OTHER),
        ({"default": True, "address": None}, {"default": False}, OTHER),
        ({"gateway": None}, {"gateway": None}, None),
    ],
)
def test_the_way_out_is_the_default_networks_else_the_first_there_is(first, second, mac):
    found = rescue_plan.way_out(networks(network(**first), network(**{**SECOND, **second})))
    assert (found.mac if found else None) == mac


def test_the_way_out_is_chosen_as_the_instances_seed_chooses_it():
    """The same table, in provisioner/seed: an instance finds the same router in its rescue."""
    from provisioner.seed.nocloud import _way_out
    from provisioner.servers.allocation import TenantNetwork

    for gateway in (None, "192.0.2.1"):
        for address in (None, "192.0.2.10"):
            for defaults in ((True, False), (False, True), (False, False)):
                bodies = (
                    network(gateway=gateway, address=address, default=defaults[0]),
                    network(**{**SECOND, "default": defaults[1]}),
                )
                kept = {"address", "prefix", "gateway", "default"}
                seeds = [
                    TenantNetwork(
                        nic_uuid="n",
                        mac=each["mac"],
                        vlan=None,
                        **{name: each[name] for name in kept},
                    )
                    for each in bodies
                ]
                ours, theirs = networks(*bodies), _way_out(seeds)
                found = rescue_plan.way_out(ours)
                assert (ours.index(found) if found else None) == theirs


def test_name_servers_are_the_default_networks_first_each_once_and_three_at_most():
    found = networks(
        network(default=False, dns=["192.0.2.53", "192.0.2.54"]),
        network(mac=OTHER, address=None, default=True, dns=["2001:DB8:0::53", "192.0.2.53"]),
    )
    assert rescue_plan.resolv_conf(found) == (
        "nameserver 2001:db8::53\nnameserver 192.0.2.53\nnameserver 192.0.2.54\n"
    )
    many = networks(network(dns=[f"192.0.2.{n}" for n in range(1, 9)]))
    assert rescue_plan.resolv_conf(many).count("\n") == 3
    assert rescue_plan.resolv_conf(networks(network(dns=[]))) == ""


def test_of_a_key_type_and_content_are_kept():
    keys = [ED25519 + " me@home with words", RSA]
    assert rescue_plan.authorized_keys(keys) == f"{ED25519}\n{RSA}\n"


def test_a_name_that_a_kernel_does_not_take_is_cut_to_its_first_label():
    assert rescue_plan.kernel_name("web-1.example.org") == "web-1.example.org"
    assert rescue_plan.kernel_name(f"web-1.{'a' * 60}") == "web-1"


def test_what_runs_is_told_by_cards_names_alone():
    asking = RescueOrder.from_json(
        order(network(), network(mac=OTHER, address=None, prefix=None), hostname="tenants-word")
    )
    made = rescue_plan.files(asking, CARDS)
    table = made["/etc/inittab"].text
    assert "::respawn:/usr/sbin/dropbear -F -s -r /run/rescue/host_key -p 22\n" in table
    assert "::respawn:/usr/bin/udhcpc -f -i eth1 -s /usr/lib/rescue.sh\n" in table
    assert "eth0" not in table
    holding = {path for path, file in made.items() if "tenants-word" in file.text}
    assert holding == {"/etc/hosts"}
    assert made["/run/rescue/addresses"].text == "192.0.2.10\n"
    assert made["/run/rescue/first"].text == "eth1\n"
    assert made["/root/.ssh/authorized_keys"].mode == 0o600


def test_nobody_has_a_password():
    assert "-s" in rescue_plan.sshd("22")
    made = rescue_plan.files(RescueOrder.from_json(order()), CARDS)
    assert made["/etc/passwd"].text == "root:*:0:0:root:/root:/bin/sh\n"


def test_files_have_their_mode_and_replace_a_link(tmp_path):
    target = tmp_path / "target"
    target.write_text("kept")
    place = tmp_path / "root" / "keys"
    place.parent.mkdir()
    place.symlink_to(target)
    rescue.write(place, rescue_plan.File(text="new", mode=0o600))
    assert (place.read_text(), target.read_text()) == ("new", "kept")
    assert place.stat().st_mode & 0o777 == 0o600


def test_a_fingerprint_is_the_one_that_ssh_shows():
    content = base64.b64decode(ED25519.split()[1])
    printed = f"Generating\nPublic key portion is:\n{ED25519} root@x\nFingerprint: sha1!! 00\n"
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert rescue.fingerprint_of(printed) == f"SHA256:{digest[:43]}"
    with pytest.raises(ValueError, match="no public key"):
        rescue.fingerprint_of("Exited: couldn't")


def test_the_ramdisks_first_process_knows_the_status_of_a_rescue():
    init = resources.files("provisioner.ramdisk").joinpath("init").read_text()
    assert re.findall(r'\[ "\$\(cat /run/status\)" = (\d+) \]', init) == [str(rescue.RESCUE)]
    assert f"-p {rescue.LEASE_CLIENT} " in init


def test_the_rescue_systems_script_knows_what_it_is_called_with():
    script = resources.files("provisioner.ramdisk").joinpath("rescue.sh").read_text()
    made = rescue_plan.inittab(["eth0"])
    steps = set(re.findall(rf"{rescue_plan.SCRIPT} (\w+)", made))
    assert steps == {"begin", "announce", "end"}
    assert all(f"\n{each})\n" in script for each in (*steps, "unpack", "deconfig"))


SERVER = """
import socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    connection, _ = server.accept()
    connection.sendall(sys.argv[2].encode() + b"\\r\\n")
    connection.close()
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.emulated
def test_a_server_that_answers_as_ssh_is_known_and_ended():
    port = free_port()
    argv = [sys.executable, "-c", SERVER, str(port), "SSH-2.0-dropbear_x"]
    assert rescue.banner_of(argv, port, limit_s=20) == "SSH-2.0-dropbear_x"
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


@pytest.mark.emulated
@pytest.mark.parametrize(
    ("argv", "text"),
    [
        (["/nowhere/dropbear"], "cannot be started"),
        (["/bin/false"], "ended at once with status 1"),
        (["/bin/sleep", "60"], "did not answer on loopback within 1 s"),
        ([sys.executable, "-c", SERVER, "PORT", "220 mail"], "did not answer"),
    ],
)
def test_a_server_that_does_not_answer_as_ssh_fails_the_order(argv, text):
    port = free_port()
    argv = [str(port) if each == "PORT" else each for each in argv]
    with pytest.raises(OrderFailedError, match=text) as failed:
        rescue.banner_of(argv, port, limit_s=1)
    assert failed.value.code == "AGENT_FAILED"


def test_a_network_cannot_be_made_malformed_by_hand():
    with pytest.raises(ValueError, match="no machine's address"):
        RescueNetwork(**{**network(address="nobody"), "dns": ()})
