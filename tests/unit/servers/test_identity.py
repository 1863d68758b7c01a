import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provisioner.servers.identity import differences, nameless, same_machine, same_uuid, swapped
from provisioner.servers.model import ControllerIdentity

UUID = "01020304-0506-0708-090a-0b0c0d0e0f10"
SMBIOS = "04030201-0605-0807-090a-0b0c0d0e0f10"


def identity(system_uuid=UUID, **more):
    return ControllerIdentity(system_uuid=system_uuid, **more)


def test_the_same_uuid_in_either_byte_order_is_the_same_machine():
    assert same_machine(identity(), identity(SMBIOS))
    assert same_machine(identity(SMBIOS), identity(UUID.upper()))


def test_only_the_first_three_fields_have_two_orders():
    assert swapped(UUID) == SMBIOS
    assert not same_uuid(UUID, UUID[:-2] + "11")
    assert not same_uuid(UUID, "01020304-0506-0708-0a09-0b0c0d0e0f10")


@pytest.mark.parametrize(
    ("remembered", "seen", "line"),
    [
        (identity(), identity(None), f"system uuid: {UUID} is remembered, none was seen"),
        (
            identity(serial="A"),
            identity(serial="B"),
            "serial: A is remembered, B was seen",
        ),
        (
            identity(certificate_sha256="aa"),
            identity(certificate_sha256="bb"),
            "certificate: aa is remembered, bb was seen",
        ),
        (
            identity(certificate_sha256="aa"),
            identity(),
            "certificate: aa is remembered, none was seen",
        ),
    ],
)
def test_what_is_remembered_must_be_said_again(remembered, seen, line):
    assert differences(remembered, seen) == (line,)


def test_what_was_never_remembered_and_names_of_firmware_are_not_compared():
    seen = identity(serial="A", certificate_sha256="aa", maker="Other", model="Newer")
    assert same_machine(identity(maker="Old", model="Older"), seen)


def test_nothing_to_tell_a_machine_by():
    assert nameless(identity(None))
    assert not nameless(identity(None, serial="A"))
    assert not nameless(identity())


@given(st.uuids())
def test_swapping_twice_changes_nothing_and_is_what_smbios_does(value):
    assert swapped(swapped(str(value))) == str(value)
    assert swapped(str(value)) == str(uuid.UUID(bytes=value.bytes_le))


@given(st.uuids(), st.uuids())
def test_two_machines_are_never_one(one, other):
    assert same_uuid(str(one), str(other)) == (other.bytes in {one.bytes, one.bytes_le})
