import pytest

from provisioner.adapters.controllers import ControllersByDriver
from provisioner.errors import OperatorError
from provisioner.secret import Secret
from provisioner.servers.model import ControllerAddress, ControllerDriver, ControllerProtocol

ADDRESS = ControllerAddress(protocol=ControllerProtocol.IPMI, host="x", port=623, user="admin")


def test_the_recorded_driver_makes_the_controller():
    made = []
    controllers = ControllersByDriver({ControllerDriver.SUSHY: lambda *given: made.append(given)})
    controllers.open(ADDRESS, Secret("x"), ControllerDriver.SUSHY, certificate_sha256="aa")
    assert made == [(ADDRESS, Secret("x"), "aa")]


def test_a_driver_that_is_not_wired_is_refused():
    with pytest.raises(OperatorError, match="does not speak by pyghmi"):
        ControllersByDriver({}).open(
            ADDRESS, Secret("x"), ControllerDriver.PYGHMI, certificate_sha256=None
        )
