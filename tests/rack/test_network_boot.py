"""Both servers boot over the network, and their ports lead where they are put, by packets."""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from provisioner.adapters.dnsmasq import DnsmasqOffers
from provisioner.adapters.ports_rack import RackPorts
from provisioner.adapters.process import LocalProcesses
from provisioner.lab import network
from provisioner.lab.dhcp_probe import dhcp_offer
from provisioner.lab.namespaces import inside
from provisioner.lab.probes import arping, ping, tcp_answers
from provisioner.lab.serial_log import SerialLog
from provisioner.servers.model import Placement, PortPlacement
from provisioner.units import MacAddress, Vlan, WallSeconds
from tests.rack import smoke_system
from tests.rack.controls import Controls

pytestmark = pytest.mark.rack
BOOT_S = 90.0
TENANT_ADDRESSES = {"bios1": "10.77.0.11", "uefi1": "10.77.0.12"}
STRANGER = MacAddress("52:54:00:66:99:99")
VLAN = Vlan(77)


@pytest.fixture(scope="module")
def scripts(rack):
    smoke_system.publish(rack.paths.cache, rack.paths.blobs)
    scripts = smoke_system.Scripts(rack.layout.rack)
    yield scripts
    scripts.close()


@pytest.fixture(scope="module")
def offers(rack):
    return DnsmasqOffers(hosts=rack.paths.hosts, log=rack.paths.dhcp_log)


def place(rack, server, placement, *vlans):
    """Move the port as the service would, and read it back."""

    async def moved():
        ports = RackPorts(LocalProcesses())
        wanted = PortPlacement(placement=placement, vlans=tuple(vlans))
        await ports.place(server.tap, wanted)
        assert await ports.read(server.tap) == wanted

    inside(rack.layout.rack, lambda: asyncio.run(moved()))


def answers(probes):
    return tuple(probe.result() for probe in probes)


@pytest.fixture(scope="module")
def booted(rack, scripts, offers):
    """Both servers at once, from off to their own message; their addresses by name."""
    began = time.time()
    marks = {}
    for server in rack.layout.servers:
        marks[server.name] = SerialLog(rack.paths.serial_log(server)).mark()
        tenant = TENANT_ADDRESSES[server.name]
        scripts.know(server.mac, f"console=ttyS0 quiet smoke.tenant={tenant}")
        asyncio.run(offers.offer(server.mac, server.name))
        place(rack, server, Placement.PROVISIONING)
        controls = Controls(rack, server)
        assert controls.power() == "off"
        controls.boot_from("network")
        controls.turn("on")
    found = {}
    for server in rack.layout.servers:
        log = SerialLog(rack.paths.serial_log(server))
        line = log.wait_for(
            r"SMOKE firmware=(\w+) address=(\S+) site=(.*)",
            since=marks[server.name],
            within_s=BOOT_S,
        )
        log.wait_for("SMOKE uptime", since=marks[server.name], within_s=10)
        found[server.name] = (line, log.text(marks[server.name]))
    yield found
    for server in rack.layout.servers:
        lines = asyncio.run(offers.lines(server.mac, WallSeconds(began)))
        assert any("DHCPACK" in line for line in lines)
        asyncio.run(offers.withdraw(server.mac))
        controls = Controls(rack, server)
        controls.turn("off")
        assert controls.power() == "off"


def test_both_firmwares_load_kernel_and_both_archives(rack, booted):
    for server in rack.layout.servers:
        line, text = booted[server.name]
        assert line[1] == server.firmware
        assert json.loads(line[3]) == {"version": 1, "url": "https://10.66.0.1:8443"}
        assert "SMOKE ca=THE-CA" in text
        assert f"smoke.tenant={TENANT_ADDRESSES[server.name]}" in text


def test_each_server_asked_once_for_its_script_by_its_own_mac(rack, scripts, booted):
    assert sorted(scripts.asked) == sorted(server.mac for server in rack.layout.servers)


def test_the_loaders_and_the_lease_stand_in_the_log_of_the_mac(rack, offers, booted):
    uefi = rack.layout.server("uefi1")
    lines = "\n".join(asyncio.run(offers.lines(uefi.mac, WallSeconds(time.time() - 300))))

    assert "snponly.efi" in lines
    assert "DHCPACK" in lines


def test_a_mac_without_an_offer_gets_nothing_and_one_with_an_offer_gets_a_lease(rack, offers):
    assert dhcp_offer(rack.layout, "br-prov", STRANGER) is None

    asyncio.run(offers.offer(STRANGER, "stranger"))
    offered = dhcp_offer(rack.layout, "br-prov", STRANGER)
    assert offered is not None
    assert offered.boot_file == "undionly.kpxe"

    asyncio.run(offers.withdraw(STRANGER))
    time.sleep(0.5)
    assert dhcp_offer(rack.layout, "br-prov", STRANGER) is None


@pytest.mark.parametrize("name", ["bios1", "uefi1"])
def test_a_moved_port_leads_where_it_was_put_and_nowhere_else(rack, booted, name):
    server = rack.layout.server(name)
    address = booted[name][0][2]
    tenant = TENANT_ADDRESSES[name]
    interface = network.attach_tenant(rack.layout, VLAN, "10.77.0.1/24")

    def reached():
        with ThreadPoolExecutor() as pool:
            return (
                pool.submit(ping, rack.layout.rack, address),
                pool.submit(ping, rack.layout.tenant, tenant),
                pool.submit(arping, rack.layout.tenant, interface, tenant),
            )

    place(rack, server, Placement.PROVISIONING)
    assert answers(reached()) == (True, False, False)
    place(rack, server, Placement.TENANT, VLAN)
    assert answers(reached()) == (False, True, True)
    place(rack, server, Placement.QUARANTINE)
    assert answers(reached()) == (False, False, False)
    place(rack, server, Placement.SHUT)
    assert answers(reached()) == (False, False, False)
    place(rack, server, Placement.PROVISIONING)
    assert answers(reached()) == (True, False, False)


def test_the_service_side_is_not_reachable_from_a_tenants_network(rack):
    """Also not by talking to the bridge's own hardware address."""
    network.attach_tenant(rack.layout, VLAN, "10.77.0.1/24")
    mac = network.links(rack.layout.rack)["br-v77"].mac
    with network.stranger(rack.layout, "br-v77", address="10.66.0.250/24") as tenant:
        network.run(["ip", "-n", tenant, "neigh", "add", "10.66.0.1", "lladdr", mac, "dev", "eth0"])
        assert not tcp_answers(tenant, "10.66.0.1", 8081)
    with network.stranger(rack.layout, "br-prov", address="10.66.0.250/24") as neighbour:
        assert tcp_answers(neighbour, "10.66.0.1", 8081)
