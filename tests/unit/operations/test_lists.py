"""The released lists, word for word: an operation that is open names these steps."""

import pytest

from provisioner.config import Times
from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.lists import BY_NAME, LISTS, STEPS, check_steps, follow
from provisioner.operations.steps import Step, StepList, table_of
from provisioner.servers.operation import Outcome
from provisioner.servers.states import FOLLOWS, MOVES, Ending, Intent

RELEASED = {
    "verify/1": "verify-controller",
    "inspect/1": (
        "off port-to-provisioning network-first on-to-network agent-called-in same-machine "
        "controller-media inventory withdraw agent-ends agent-off port-at-rest blank-or-told"
    ),
    "rebaseline/1": (
        "off port-to-provisioning network-first on-to-network agent-called-in same-after-repair "
        "controller-media-anew inventory-anew withdraw agent-ends agent-off port-at-rest "
        "blank-or-told"
    ),
    "clean/2": (
        "off-for-good turn rest port-to-provisioning network-first on-to-network agent-called-in "
        "blank-or-told same-machine controller-media mark erase verify sign withdraw agent-ends "
        "agent-off port-at-rest"
    ),
    "deploy/1": (
        "input off port-to-provisioning network-first on-to-network-for-tenant agent-called-in "
        "same-machine write-image write-seed boot-order withdraw agent-ends agent-off "
        "port-to-tenant disk-first first-on alive"
    ),
    "reinstall/1": (
        "input off-gracefully port-to-provisioning network-first on-to-network-for-tenant "
        "agent-called-in same-machine write-image write-seed boot-order withdraw agent-ends "
        "agent-off port-to-tenant disk-first first-on alive"
    ),
    "reinstall-stopped/1": (
        "input off-gracefully port-to-provisioning network-first on-to-network-for-tenant "
        "agent-called-in same-machine write-image write-seed boot-order withdraw agent-ends "
        "agent-off port-at-rest"
    ),
    "reseed/1": (
        "reseed-input off-gracefully port-to-provisioning network-first on-to-network-for-tenant "
        "agent-called-in same-machine root-disk write-seed withdraw agent-ends agent-off "
        "port-to-tenant disk-first first-on alive"
    ),
    "reseed-stopped/1": (
        "reseed-input off-gracefully port-to-provisioning network-first on-to-network-for-tenant "
        "agent-called-in same-machine root-disk write-seed withdraw agent-ends agent-off "
        "port-at-rest"
    ),
    "rescue/1": (
        "rescue-input off-gracefully port-to-provisioning network-first on-to-network-for-tenant "
        "agent-called-in same-machine rescue withdraw boot-closed port-to-tenant"
    ),
    "start/1": "port-to-tenant disk-first on",
    "start-from-off/1": "off-gracefully port-to-tenant disk-first on",
    "stop/1": "off-gracefully port-at-rest",
    "reboot/1": "port-to-tenant off-gracefully disk-first on",
    "release/2": (
        "fence off-for-good port-to-quarantine secrets has-baseline turn rest port-to-provisioning "
        "network-first on-to-network agent-called-in same-machine controller-media mark erase "
        "verify sign withdraw agent-ends agent-off port-at-rest"
    ),
    "quarantine/1": "off-or-unknown port-to-nowhere withdraw off-confirmed",
    "cut-off/1": "off-or-unknown port-to-nowhere withdraw off-confirmed",
    "retire/1": "port-at-rest",
}


FORMER = {
    "clean/1": (
        "off-for-good rest port-to-provisioning network-first on-to-network agent-called-in "
        "blank-or-told same-machine controller-media mark erase verify sign withdraw agent-ends "
        "agent-off port-at-rest"
    ),
    "release/1": (
        "fence off-for-good port-to-quarantine secrets rest port-to-provisioning network-first "
        "on-to-network agent-called-in same-machine controller-media mark erase verify sign "
        "withdraw agent-ends agent-off port-at-rest"
    ),
}
"""Nothing is opened by them any more; what is open goes on."""


@pytest.mark.parametrize("name", FORMER)
def test_what_an_older_program_opened_goes_on_by_its_own_list(record_of, name):
    check_steps([record_of(Intent.RELEASE, steps=tuple(FORMER[name].split()))])


def test_a_released_list_is_never_edited():
    assert {each.name: " ".join(each.names()) for each in LISTS} == RELEASED


@pytest.mark.parametrize("steps", LISTS, ids=lambda each: each.name)
def test_no_name_stands_twice_in_a_list(steps):
    assert len(set(steps.names())) == len(steps.names())


def test_every_kind_that_has_an_operation_has_a_list():
    assert {each.kind for each in LISTS} == {intent for _, intent in MOVES} - {
        Intent.ADOPT,
        Intent.RESERVE,
        Intent.UNRESERVE,
    }


OFFS = ("off", "off-for-good", "off-gracefully")


@pytest.mark.parametrize("steps", LISTS, ids=lambda each: each.name)
def test_what_boots_the_network_or_changes_disks_begins_with_an_off_of_its_own(steps):
    names = steps.names()
    if "network-first" in names:
        offs = [names.index(each) for each in OFFS if each in names]
        assert min(offs) < names.index("port-to-provisioning") < names.index("network-first")


@pytest.mark.parametrize("steps", LISTS, ids=lambda each: each.name)
def test_the_machine_is_compared_before_the_first_destructive_order(steps):
    names = steps.names()
    for destructive in ("write-image", "write-seed", "boot-order", "erase", "rescue"):
        if destructive in names:
            assert names.index("same-machine") < names.index(destructive)


def test_only_a_tenants_power_on_makes_dirty():
    assert {name for name, step in STEPS.items() if step.dirties} == {
        "on-to-network-for-tenant",
        "first-on",
        "on",
    }
    assert {name for name, step in STEPS.items() if step.powers} == {
        "on-to-network",
        "on-to-network-for-tenant",
        "first-on",
        "on",
    }


def test_what_may_be_left_half_done_stands_on_record_before_it_begins():
    assert {name: step.marks for name, step in STEPS.items() if step.marks} == {
        "on-to-network-for-tenant": ("off_first",),
        "write-image": ("needs_reinstall",),
        "write-seed": ("needs_reseed",),
    }


@pytest.mark.parametrize("steps", LISTS, ids=lambda each: each.name)
def test_no_token_lives_on_when_a_port_leads_to_a_tenant(steps):
    names = steps.names()
    if "network-first" in names and "port-to-tenant" in names:
        closing = [names.index(each) for each in ("agent-off", "boot-closed") if each in names]
        assert min(closing) < names.index("port-to-tenant")


def test_the_agent_has_its_own_time_to_call_in_and_no_more():
    times = Times(agent_call_in_s=77.0)
    step = STEPS["agent-called-in"]
    assert step.limit + step.waits(times) == 77.0


async def nothing(_work):
    return {}


def test_a_table_refuses_two_meanings_of_a_name():
    one, other = (Step(name="off", act=nothing, limit=limit) for limit in (1.0, 2.0))
    with pytest.raises(ValueError, match="twice"):
        table_of((StepList(name="a/1", kind=Intent.CLEAN, steps=(one, one)),))
    lists = tuple(
        StepList(name=f"{step.limit}", kind=Intent.CLEAN, steps=(step,)) for step in (one, other)
    )
    with pytest.raises(ValueError, match="two steps are called off"):
        table_of(lists)


# --- what follows ---------------------------------------------------------------------------
@pytest.mark.parametrize("kind", Intent)
@pytest.mark.parametrize("ending", Ending)
def test_what_follows_is_what_the_table_of_states_says(record_of, kind, ending):
    made = follow(record_of(kind, erase=["S1"], image="tiny"), Outcome(ending=ending))
    intent = FOLLOWS.get((kind, ending))
    if intent is None:
        assert made is None
        return
    new = made(None)
    assert (new.kind, new.who) == (intent, "ann")
    assert new.steps == BY_NAME[new.steps_name].names()
    assert new.parameters == {"erase": ["S1"]}


@pytest.fixture
def record_of():
    from provisioner.servers.operation import OperationRecord, Status

    def made(kind, steps=("off",), **parameters):
        return OperationRecord(
            id="0",
            kind=kind,
            steps_name=f"{kind}/1",
            steps=steps,
            server="s1",
            epoch=1,
            who="ann",
            status=Status.OPEN,
            opened_at=0.0,
            parameters=parameters,
        )

    return made


def test_a_release_that_lacks_a_step_of_an_open_operation_does_not_start(record_of):
    check_steps([record_of(Intent.DEPLOY, steps=("input", "off"))])
    with pytest.raises(OperatorError) as caught:
        check_steps([record_of(Intent.DEPLOY, steps=("input", "levitate"))])
    assert caught.value.code is ErrorCode.STEP_UNKNOWN
    assert "levitate" in caught.value.brief
