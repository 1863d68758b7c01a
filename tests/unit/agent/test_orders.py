import importlib

import pytest

from provisioner.agent import __main__ as agent
from provisioner.agent.boot_order import set_boot_order
from provisioner.agent.nonce import read_nonce
from provisioner.agent.order import OrderFailedError

KINDS = {
    "inspect",
    "read_nonce",
    "rescue",
    "write_image",
    "write_seed",
    "set_boot_order",
    "mark",
    "erase",
    "verify",
    "power_off",
    "reboot",
}


def test_the_table_holds_every_order_of_the_protocol():
    assert set(agent.ORDERS) == KINDS


@pytest.mark.parametrize(("module", "function"), agent.LATE.values())
def test_what_is_loaded_late_is_there(module, function):
    assert callable(getattr(importlib.import_module(f"provisioner.agent.{module}"), function))


@pytest.mark.parametrize("parameters", [{}, {"mode": "uefi"}, {"mode": "x", "disk": {}}])
def test_a_malformed_boot_order_is_refused(parameters):
    with pytest.raises(OrderFailedError) as failed:
        set_boot_order(parameters, None)
    assert failed.value.code == "ORDER_MALFORMED"


def test_an_unknown_place_of_a_nonce_is_refused():
    with pytest.raises(OrderFailedError) as failed:
        read_nonce({"kind": "carrier-pigeon"}, None)
    assert failed.value.code == "ORDER_MALFORMED"
