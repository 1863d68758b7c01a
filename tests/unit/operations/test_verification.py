import asyncio

import pytest

from provisioner.errors import ErrorCode, OperatorError, TransientError
from provisioner.operations.verification import candidates, verify_controller
from provisioner.secret import Secret
from provisioner.servers.model import (
    ControllerAddress,
    ControllerDriver,
    ControllerIdentity,
    ControllerProtocol,
    Power,
)
from tests.unit.operations.rig import IDENTITY, PASSWORD, Rig, other_machine, server

D = ControllerDriver
REDFISH = ControllerAddress(
    protocol=ControllerProtocol.REDFISH, host="10.0.0.1", port=623, user="admin"
)


def verify(rig, password=PASSWORD, **fields):
    record = server(**{"driver": None, "identity": None, **fields})
    return asyncio.run(verify_controller(rig.conversations, record, password))


def test_the_first_library_that_gets_all_answers_is_kept():
    found = verify(Rig(cipher_suite=3))
    assert (found.driver, found.identity) == (D.PYGHMI, IDENTITY)
    assert found.address.cipher_suite == 3
    assert found.restore_policy == "stay-off"
    assert (found.power.power, found.power.source) == (Power.OFF, "verification")


def test_ipmitool_takes_over_where_pyghmi_gets_no_answer():
    rig = Rig(drivers=frozenset({D.IPMITOOL}))
    assert verify(rig).driver is D.IPMITOOL


def test_power_is_read_three_times_and_never_switched():
    rig = Rig(power=Power.ON)
    assert verify(rig).power.power is Power.ON
    assert rig.machine.calls == ["identity", *["read power"] * 3, "stay off"]


def test_a_power_that_stays_unknown_fails():
    rig = Rig(power=Power.UNKNOWN)
    with pytest.raises(TransientError) as failed:
        verify(rig)
    assert "says neither on nor off" in failed.value.brief
    assert failed.value.detail.count("CONTROLLER_UNREACHABLE") == 3


def test_a_wrong_password_is_tried_by_one_library_once():
    rig = Rig()
    with pytest.raises(OperatorError) as failed:
        verify(rig, Secret("wrong"))
    assert failed.value.code is ErrorCode.CONTROLLER_PASSWORD
    assert rig.machine.password_tries == 1


def test_a_refused_policy_is_no_failure():
    assert verify(Rig(refuses={"stay_off"})).restore_policy.startswith("refused: ")


def test_a_machine_that_cannot_be_told_from_another_is_refused():
    with pytest.raises(OperatorError, match="neither uuid nor serial"):
        verify(Rig(identity=ControllerIdentity(system_uuid=None)))


def test_a_serial_alone_is_enough():
    rig = Rig(identity=ControllerIdentity(system_uuid=None, serial="A1"))
    assert verify(rig).identity.serial == "A1"


def test_verifying_again_finds_another_machine_out():
    rig = Rig(identity=other_machine())
    with pytest.raises(OperatorError) as failed:
        verify(rig, identity=IDENTITY)
    assert failed.value.code is ErrorCode.OTHER_MACHINE
    assert rig.machine.calls == ["identity"]


def test_redfish_has_one_library_and_needs_exactly_one_system():
    assert verify(Rig(), controller=REDFISH).address.system == "1"
    with pytest.raises(OperatorError) as failed:
        verify(Rig(systems=("1", "HGX_Baseboard_0")), controller=REDFISH)
    assert failed.value.code is ErrorCode.CONTROLLER_SYSTEMS


def test_suites_are_17_then_3_unless_one_is_named_and_never_0():
    tried = [(d, a.cipher_suite) for d, a in candidates(server().controller)]
    assert tried == [(D.PYGHMI, None), (D.IPMITOOL, 17), (D.IPMITOOL, 3)]
    named = ControllerAddress(
        protocol=ControllerProtocol.IPMI, host="x", port=623, user="u", cipher_suite=8
    )
    assert [(d, a.cipher_suite) for d, a in candidates(named)] == [(D.PYGHMI, 8), (D.IPMITOOL, 8)]
