"""What an operation leaves at its allocation, and when two are one."""

from dataclasses import replace

import pytest

from provisioner.errors import ConflictError
from provisioner.servers.allocation import Allocation
from provisioner.servers.changes import WHOLE, is_asked_again, left_by, refuse_presuming
from provisioner.servers.model import Power, State
from provisioner.servers.operation import NewOperation, OperationRecord
from provisioner.servers.power_on import why_not
from provisioner.servers.states import CHANGES, Ending, Intent
from provisioner.testing.store import new_server

FAILED = (Ending.OURS, Ending.MACHINE, Ending.PERSON)


def record(kind, steps_name=None, **parameters):
    return OperationRecord(
        id="1",
        kind=kind,
        steps_name=steps_name or f"{kind}/1",
        steps=("off",),
        server="s1",
        epoch=1,
        who="lab",
        status="open",
        opened_at=0.0,
        parameters=parameters,
    )


def new(kind, steps_name=None, steps=("off",)):
    return NewOperation(
        id="2", kind=kind, steps_name=steps_name or f"{kind}/1", steps=steps, who="lab"
    )


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("ending", FAILED)
def test_a_failure_leaves_the_marks_and_the_wish_for_off(kind, ending):
    assert left_by(record(kind, image="tiny"), ending) == {"wanted": Power.OFF}


@pytest.mark.parametrize("kind", Intent)
def test_a_refused_request_leaves_nothing(kind):
    assert left_by(record(kind), Ending.INPUT) == {}


@pytest.mark.parametrize("ending", FAILED)
@pytest.mark.parametrize("kind", [Intent.DEPLOY, Intent.POWER, Intent.RELEASE])
def test_what_is_wanted_stays_where_another_operation_fails(kind, ending):
    assert left_by(record(kind), ending) == {}


DONE = {
    Intent.REINSTALL: {**WHOLE, "image": "tiny"},
    Intent.RESEED: {"needs_reseed": False, "off_first": False},
    Intent.RESCUE: {},
    Intent.POWER: {"off_first": False},
    Intent.RELEASE: {},
}


@pytest.mark.parametrize(("kind", "left"), DONE.items())
def test_a_success_clears_what_it_has_made_whole_and_no_more(kind, left):
    assert left_by(record(kind, image="tiny"), Ending.DONE) == left


@pytest.mark.parametrize("kind", CHANGES)
def test_an_action_is_the_same_whatever_its_seed(kind):
    running = record(kind, image="tiny", seed_sha256="a", vlans=[101])
    assert is_asked_again(running, new(kind), {"image": "tiny", "seed_sha256": "b"})
    assert not is_asked_again(running, new(kind), {"image": "other"})
    assert not is_asked_again(running, new(kind, f"{kind}-stopped/1"), {"image": "tiny"})
    assert not is_asked_again(running, new(Intent.POWER), {"image": "tiny"})


def test_a_power_command_is_the_same_into_the_same_networks():
    running = record(Intent.POWER, "start/1", vlans=[101])
    assert is_asked_again(running, new(Intent.POWER, "start/1"), {"vlans": [101]})
    assert not is_asked_again(running, new(Intent.POWER, "start/1"), {"vlans": [102]})
    assert not is_asked_again(running, new(Intent.POWER, "reboot/1"), {"vlans": [101]})


def test_a_release_is_never_asked_again():
    assert not is_asked_again(record(Intent.RELEASE), new(Intent.RELEASE), {})


ALLOCATION = Allocation(
    id="1",
    key=None,
    name="",
    who="",
    server="s1",
    pool="a",
    phase="active",
    wanted=Power.OFF,
    created_at=0.0,
)


@pytest.mark.parametrize(
    ("steps", "refused"),
    [
        (("port-to-tenant", "disk-first", "on"), True),
        (("off-gracefully", "port-to-tenant", "disk-first", "on"), False),
        (("off-gracefully", "port-at-rest"), False),
    ],
)
def test_no_port_leads_to_a_tenant_before_what_may_be_ours_is_off(steps, refused):
    command = new(Intent.POWER, steps=steps)
    refuse_presuming(command, ALLOCATION)
    ours = replace(ALLOCATION, off_first=True)
    if refused:
        with pytest.raises(ConflictError, match="INSTANCE_BUSY"):
            refuse_presuming(command, ours)
    else:
        refuse_presuming(command, ours)


@pytest.mark.parametrize("is_new", [False, True])
def test_a_disk_that_may_be_half_written_is_started_by_nobody_but_who_wrote_it(is_new):
    server = replace(new_server("s1"), state=State.ACTIVE)
    half = replace(ALLOCATION, needs_reinstall=True)
    asked = {"from_network": False, "override": False, "is_new": is_new}
    assert why_not(server, ALLOCATION, **asked) == ""
    assert (why_not(server, half, **asked) == "") is is_new
