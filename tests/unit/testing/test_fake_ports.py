import asyncio

import pytest

from provisioner.errors import TransientError
from provisioner.servers.model import Placement, PortPlacement
from provisioner.testing.ports import FakeOffers, FakePorts
from provisioner.units import MacAddress, ServerName, WallSeconds

PROVISIONING = PortPlacement(placement=Placement.PROVISIONING)


def test_a_fake_port_moves_sticks_and_goes_away_as_told():
    ports = FakePorts()

    asyncio.run(ports.place("tap-a", PROVISIONING))
    assert asyncio.run(ports.read("tap-a")) == PROVISIONING

    ports.stuck.add("tap-a")
    asyncio.run(ports.place("tap-a", PortPlacement(placement=Placement.SHUT)))
    assert asyncio.run(ports.read("tap-a")) == PROVISIONING

    ports.unseen.add("tap-a")
    assert asyncio.run(ports.read("tap-a")).placement is Placement.UNKNOWN

    ports.away.add("tap-a")
    with pytest.raises(TransientError):
        asyncio.run(ports.read("tap-a"))


def test_a_fake_offer_is_there_until_it_is_withdrawn():
    offers, mac = FakeOffers(), MacAddress("52:54:00:66:01:01")

    asyncio.run(offers.offer(mac, ServerName("bios1")))
    assert offers.offered == {mac: "bios1"}

    asyncio.run(offers.withdraw(mac))
    asyncio.run(offers.withdraw(mac))
    assert offers.offered == {}
    assert len(asyncio.run(offers.lines(mac, WallSeconds(0)))) == 3
