import asyncio
import json

import pytest

from provisioner.adapters.ports_rack import RackPorts
from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.ports.processes import Ended
from provisioner.servers.model import Placement, PortPlacement
from provisioner.units import Vlan

TAP = "tap-bios1"


class Links:
    """As much of `ip link` as the adapter uses."""

    def __init__(self):
        self.bridges = {"br-prov"}
        self.taps = {TAP: (None, False)}
        self.is_slow = False

    async def run(self, argv, *, limit, environ=None, given=b""):
        if self.is_slow:
            raise TimeoutError
        match argv:
            case ["ip", "-json", "link", "show", "dev", name]:
                return self._show(name)
            case ["ip", "link", "add", "name", bridge, "type", "bridge", *_]:
                return self._add(bridge)
            case ["ip", "link", "set", "dev", name, *words]:
                return self._set(name, words)
        raise AssertionError(argv)

    def _show(self, name):
        if name not in self.taps:
            return Ended(status=1, output=b"", error=b'Device "x" does not exist.')
        master, is_up = self.taps[name]
        link = {"flags": ["UP"] if is_up else []} | ({"master": master} if master else {})
        return Ended(status=0, output=json.dumps([link]).encode())

    def _add(self, bridge):
        if bridge in self.bridges:
            return Ended(status=2, output=b"", error=b"RTNETLINK answers: File exists")
        self.bridges.add(bridge)
        return Ended(status=0, output=b"")

    def _set(self, name, words):
        if name in self.bridges:
            return Ended(status=0, output=b"")
        if name not in self.taps or ("master" in words and words[1] not in self.bridges):
            return Ended(status=1, output=b"", error=b"does not exist")
        master = words[1] if words[0] == "master" else None
        self.taps[name] = (master, words[-1] == "up")
        return Ended(status=0, output=b"")


PLACES = [
    PortPlacement(placement=Placement.PROVISIONING),
    PortPlacement(placement=Placement.TENANT, vlans=(Vlan(1302),)),
    PortPlacement(placement=Placement.QUARANTINE),
    PortPlacement(placement=Placement.SHUT),
]


@pytest.mark.parametrize("before", PLACES)
@pytest.mark.parametrize("wanted", PLACES)
def test_a_port_is_read_back_where_it_was_put_from_wherever_it_was(before, wanted):
    ports = RackPorts(Links())

    async def moved():
        await ports.place(TAP, before)
        await ports.place(TAP, wanted)
        return await ports.read(TAP)

    assert asyncio.run(moved()) == wanted


def test_the_bridge_of_a_network_is_made_once_and_used_again():
    links = Links()
    ports = RackPorts(links)

    for _ in range(2):
        asyncio.run(ports.place(TAP, PortPlacement(placement=Placement.TENANT, vlans=(Vlan(7),))))

    assert links.bridges == {"br-prov", "br-v7"}


@pytest.mark.parametrize(
    "state", [("br-prov", False), ("br-other", True), ("br-v7", False), ("br-vx", True)]
)
def test_a_state_that_was_never_asked_for_is_unknown(state):
    links = Links()
    links.taps[TAP] = state

    seen = asyncio.run(RackPorts(links).read(TAP))

    assert seen == PortPlacement(placement=Placement.UNKNOWN)


@pytest.mark.parametrize("vlans", [(), (Vlan(7), Vlan(8))])
def test_a_trunk_is_refused(vlans):
    wanted = PortPlacement(placement=Placement.TENANT, vlans=vlans)

    with pytest.raises(OperatorError) as caught:
        asyncio.run(RackPorts(Links()).place(TAP, wanted))

    assert caught.value.code is ErrorCode.PORT_NOT_SET


def test_a_port_that_is_not_there_is_an_operators_matter():
    with pytest.raises(OperatorError):
        asyncio.run(RackPorts(Links()).place("tap-other", PLACES[0]))
    with pytest.raises(OperatorError):
        asyncio.run(RackPorts(Links()).read("tap-other"))


def test_an_answer_that_does_not_come_may_be_asked_for_again():
    links = Links()
    links.is_slow = True

    with pytest.raises(TransientError):
        asyncio.run(RackPorts(links).place(TAP, PLACES[0]))
