"""`statuses`: a host's whole report; whoever is missing in it would be taken for stopped."""

import json
from dataclasses import replace

import pytest

from cloudstack_ext.contract import LINE_MOST, powers
from cloudstack_ext.power_view import PowerState
from cloudstack_ext.verbs import answer
from provisioner.errors import InputError
from provisioner.servers.model import Power
from provisioner.testing import store
from tests.unit.cloudstack_ext.test_status_of_servers import known, note
from tests.unit.operations import causes as c
from tests.unit.operations.conftest import (  # noqa: F401 fixtures
    active,
    active_template,
    free_template,
    world,
)
from tests.unit.operations.world import REQUEST

DAY_S = 86400.0


def payload(host=store.HOST, **more):
    details = {"extension": {}, "resourcemap": {}, "host": {"pool": "a", "host": host}}
    return json.dumps({"externaldetails": details, **more}).encode()


def ask(world, asked=None, site="lab"):  # noqa: F811
    told = answer(
        "statuses",
        payload() if asked is None else asked,
        "1800",
        site=site,
        machines=world.bare_metal,
        clock=world.clock,
    )
    reply = world.do(told)
    return reply.exit, json.loads(reply.line)


def named(world, **more):  # noqa: F811
    code, said = ask(world, **more)
    assert (code, said["status"]) == (0, "success")
    return said["power_state"]


def refused(world, asked=None):  # noqa: F811
    code, said = ask(world, asked)
    assert (code, said["status"]) == (1, "error")
    return said["error"].partition(":")[0]


def test_every_instance_of_the_host_is_named_and_no_other(active):  # noqa: F811
    active.pass_time(100.0)
    note(active, Power.ON, 0)
    assert named(active) == {REQUEST.name: "poweron"}
    assert named(active, asked=payload("pool-b")) == {}
    assert named(active, site="another") == {}


def test_one_that_is_being_installed_is_named_as_unknown(world):  # noqa: F811
    world.ask_for_deployment()
    assert named(world) == {REQUEST.name: "powerunknown"}


def test_a_start_at_another_host_moves_it_there(active):  # noqa: F811
    active.power("off")
    active.power("on", request=replace(REQUEST, host="pool-b"))
    assert named(active) == {}
    assert list(named(active, asked=payload("pool-b"))) == [REQUEST.name]


def test_who_has_not_said_its_host_makes_every_answer_doubtful(active):  # noqa: F811
    active.database.allocations.mark(active.allocation().id, host="")
    assert refused(active) == "CANNOT_TELL"
    active.power("on")
    assert list(named(active)) == [REQUEST.name]


def test_a_deleted_one_is_not_looked_for(active):  # noqa: F811
    active.ask_for_release()
    active.walk()
    assert named(active) == {}


@pytest.mark.parametrize(
    ("is_known", "after_s", "said"),
    [
        (True, 0, {REQUEST.name: "poweroff"}),
        (True, 2 * DAY_S, {REQUEST.name: "poweroff"}),
        (False, 0, {REQUEST.name: "powerunknown"}),
        (False, 2 * DAY_S, {}),
    ],
)
def test_a_failed_one_is_named_as_long_as_cloudstack_may_look_for_it(
    world,  # noqa: F811
    is_known,
    after_s,
    said,
):
    world.machines["s1"].console = ()
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "first-on"))
    if is_known:
        known(world)
    c.machine(power=Power.OFF)(world)
    world.walk()
    world.pass_time(after_s)
    assert named(world) == said


def test_a_held_service_names_nobody(active):  # noqa: F811
    active.bare_metal.held = "restored"
    assert refused(active) == "SERVICE_HELD"


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (b"", "PAYLOAD_EMPTY"),
        (b"[]", "PAYLOAD_NOT_AN_OBJECT"),
        (b"{}", "PAYLOAD_FIELD"),
        (payload(""), "PAYLOAD_FIELD"),
        (payload(7), "PAYLOAD_FIELD"),
        (payload(action="statuses"), "CUSTOM_ACTION_REFUSED"),
    ],
)
def test_a_call_that_names_no_host_is_refused(active, asked, code):  # noqa: F811
    assert refused(active, asked) == code


def test_five_hundred_instances_fit_into_one_line():
    states = {f"i-1234-{n}-VM": PowerState.UNKNOWN for n in range(500)}
    assert len(powers(states).line) < LINE_MOST


def test_more_than_fit_are_refused_and_not_cut():
    states = {f"i-1234-{n}-VM": PowerState.UNKNOWN for n in range(2000)}
    with pytest.raises(InputError, match="make two hosts"):
        powers(states)
