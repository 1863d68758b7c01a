"""Boot tokens: one boot, one script, one machine; and what an agent may make of one.

Windows, alarms and digests in detail: tests/unit/service/test_boot_script.py, test_agent_api.py,
tests/unit/store/test_boots_and_orders.py. Here: the real store and the real API together.
"""

import asyncio
import json

import pytest

from provisioner.boot.token import digest
from provisioner.operations.quarantine import QUARANTINE
from provisioner.secret import Secret
from provisioner.servers.model import State
from provisioner.servers.operation import AgentOrder, Status
from provisioner.service.agent_api import AgentApi
from provisioner.testing import store
from tests.asgi import call
from tests.unit.operations.world import REQUEST

TOKEN = Secret("ab" * 32)


class Agent:
    """Whoever has the token of s1's boot; the machine's own agent is silent."""

    def __init__(self, world):
        self.world, self.lines = world, []
        self.app = AgentApi(
            boots=world.database.boots,
            orders=world.database.orders,
            seeds=world.database.seeds,
            operations=world.database.operations,
            bell=world.alarms,
            journal=self,
            clock=world.clock,
            stopping=asyncio.Event(),
        ).app()

    def append(self, operation, lines):
        self.lines += lines

    async def asked(self, method, what, body=None, token=TOKEN):
        raw = b"" if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token.reveal()}"}
        return await call(
            self.app, method, f"/agent/v1/{what}", raw, headers=headers, client="10.66.0.9"
        )

    def ask(self, method, what, body=None):
        return self.world.do(self.asked(method, what, body)).status

    def hello(self, boot_id="b1"):
        facts = self.world.server().baseline.to_json()
        return self.ask("POST", "hello", {"facts": facts, "agent": agent(boot_id)})

    def is_refused(self):
        """By every call there is."""
        calls = (("GET", "order?after=0"), ("GET", "seed"), ("POST", "result"), ("POST", "journal"))
        return {self.ask(method, what, {}) for method, what in calls} == {403}


def agent(boot_id):
    return {"version": "1", "boot_id": boot_id}


@pytest.fixture
def booted(world):
    """A deployment whose machine is on and has been given its script."""
    world.agents["s1"].boots_s = 1e9
    world.operation_id = world.ask_for_deployment()
    steps = world.operation(world.operation_id).steps
    for step in steps[: steps.index("agent-called-in")]:
        assert world.do(world.runner.run(world.operation_id, step)) == "done"
    mac = world.server().provisioning_nic().mac
    assert world.database.boots.hand_out(mac, digest(TOKEN), now=world.clock.wall())
    return world


def walk_to(world, last):
    steps = world.operation(world.operation_id).steps
    for step in steps[steps.index("agent-called-in") : steps.index(last) + 1]:
        assert world.do(world.runner.run(world.operation_id, step)) == "done"


# --- when it dies --------------------------------------------------------------------------
ENDS = {
    "a delete": lambda world: world.do(
        world.bare_metal.release(REQUEST.key, "lab", until=world.clock.wall())
    ),
    "a quarantine": lambda world: world.open(QUARANTINE),
    "a cancellation": lambda world: world.database.operations.cancel(
        world.operation_id, "ann", store.follow, now=world.clock.wall()
    ),
    "an alarm": lambda world: world.alarms.ring(world.operation_id, "alarm:token"),
}


@pytest.mark.parametrize("end", ENDS)
def test_it_dies_with_its_operation(booted, end):
    one = Agent(booted)
    assert one.hello() == 200
    ENDS[end](booted)
    assert one.is_refused()
    assert one.hello() == 403


def test_it_dies_when_the_agents_machine_is_off(booted):
    one = Agent(booted)
    assert one.hello() == 200
    assert one.ask("GET", "order?after=0") == 204
    assert booted.do(booted.runner.run(booted.operation_id, "agent-off")) == "done"
    assert booted.operation(booted.operation_id).status is Status.OPEN
    assert one.is_refused()


def test_it_does_not_come_back_with_a_restart(booted):
    one = Agent(booted)
    assert one.hello() == 200
    booted.do(booted.runner.run(booted.operation_id, "agent-off"))
    booted.crash()
    assert Agent(booted).is_refused()
    assert one.is_refused()


def test_it_outlives_a_restart_while_its_agent_works(booted):
    assert Agent(booted).hello() == 200
    booted.crash()
    assert Agent(booted).hello() == 200


# --- a second one --------------------------------------------------------------------------
def test_a_second_kernel_with_the_same_token_quarantines_the_server(booted):
    one = Agent(booted)
    assert one.hello("b1") == 200
    assert one.hello("b2") == 403
    assert booted.operation(booted.operation_id).code == "BOOT_TOKEN_TAKEN"
    booted.walk()
    assert booted.state() is State.QUARANTINED
    assert one.is_refused()


# --- what may be told ----------------------------------------------------------------------
def put(world, kind, **fields):
    values = {
        "operation": world.operation_id,
        "step": kind,
        "number": 0,
        "epoch": world.operation(world.operation_id).epoch,
        "kind": kind,
        "parameters": {},
    }
    return world.database.orders.put_order(AgentOrder(**{**values, **fields}))


def result(world, order, **changes):
    epoch = world.operation(world.operation_id).epoch
    good = {"order": order, "epoch": epoch, "ok": True, "error": None, "result": {}}
    return good | changes


def test_nothing_is_answered_that_was_not_ordered(booted):
    """A result that comes before its order would be taken for its answer."""
    one = Agent(booted)
    one.hello()
    for number in (2, 3, 1):
        assert one.ask("POST", "result", result(booted, number, result={"class": "purge"})) == 204
    given = put(booted, "erase")
    assert given.number == 2
    assert booted.database.orders.order(booted.operation_id, "erase").ok is None


def test_a_result_of_another_epoch_is_refused_and_a_second_one_is_not_kept(booted):
    one = Agent(booted)
    one.hello()
    number = put(booted, "erase").number
    epoch = booted.operation(booted.operation_id).epoch
    for other in (epoch - 1, epoch + 1, -epoch, 2**62):
        assert one.ask("POST", "result", result(booted, number, epoch=other)) == 409
    assert one.ask("POST", "result", result(booted, number, result={"first": True})) == 204
    assert one.ask("POST", "result", result(booted, number, result={"first": False})) == 204
    kept = booted.database.orders.order(booted.operation_id, "erase")
    assert kept.result == {"first": True}


def test_another_servers_orders_are_not_told_or_answered(booted):
    twin = store.instance_request("22222222-2222-2222-2222-222222222222")
    mine, booted.operation_id = booted.operation_id, booted.ask_for_deployment(twin)
    other = put(booted, "erase")
    theirs, booted.operation_id = booted.operation_id, mine
    one = Agent(booted)
    one.hello()
    assert one.ask("GET", "order?after=0") == 204
    one.ask("POST", "result", result(booted, other.number))
    assert booted.database.orders.order(theirs, "erase").ok is None


@pytest.mark.parametrize("number", [2**63, -(10**1000)])
def test_numbers_that_no_database_holds_are_an_answer_not_a_bug(booted, number):
    one = Agent(booted)
    one.hello()
    assert one.ask("POST", "result", result(booted, number)) == 400
    facts = booted.server().baseline.to_json() | {"memory_bytes": number}
    assert one.ask("POST", "hello", {"facts": facts, "agent": agent("b1")}) == 400


def test_claims_of_progress_have_a_bound(booted):
    one = Agent(booted)
    one.hello()
    epoch = booted.operation(booted.operation_id).epoch
    most = 2**63 - 1
    for disk in range(3):
        body = {"order": 2, "epoch": epoch, "disk": f"d{disk}", "done_bytes": most}
        assert one.ask("POST", "progress", body | {"total_bytes": most}) == 204
    assert booted.operation(booted.operation_id).progress_bytes == (most, most)


# --- the seed ------------------------------------------------------------------------------
def test_the_seed_is_had_by_this_boot_while_it_is_told_to_write_it_and_never_again(booted):
    one = Agent(booted)
    one.hello()
    assert one.ask("GET", "seed") == 403
    image = put(booted, "write_image")
    assert one.ask("GET", "seed") == 403
    one.ask("POST", "result", result(booted, image.number))
    order = put(booted, "write_seed")
    stranger = booted.do(one.asked("GET", "seed", token=Secret("cd" * 32)))
    assert stranger.status == 403
    for _ in range(2):  # a lost connection is asked again
        assert one.ask("GET", "seed") == 200
    one.ask("POST", "result", result(booted, order.number))
    assert one.ask("GET", "seed") == 403
    assert booted.database.seeds.seed(booted.operation_id) is None
