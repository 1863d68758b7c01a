import asyncio

import pytest

from provisioner.adapters.ports_manual import ManualPorts
from provisioner.errors import ErrorCode, OperatorError
from provisioner.servers.model import Placement, PortPlacement

TENANT = PortPlacement(placement=Placement.TENANT, vlans=(7,))


@pytest.mark.parametrize("isolation", ["", "  \n"])
def test_nothing_is_placed_while_no_isolation_is_declared(isolation):
    with pytest.raises(OperatorError) as caught:
        asyncio.run(ManualPorts(isolation).place("leaf3:1", TENANT))

    assert caught.value.code is ErrorCode.PORT_ISOLATION_UNDECLARED


def test_on_the_operators_word_it_is_placed_and_still_not_seen():
    ports = ManualPorts("each server has its own switch")

    asyncio.run(ports.place("leaf3:1", TENANT))

    seen = asyncio.run(ports.read("leaf3:1"))
    assert seen == PortPlacement(placement=Placement.UNKNOWN)
