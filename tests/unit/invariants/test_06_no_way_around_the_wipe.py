"""6: nothing skips the wipe of a server that a tenant had.

The moves that lead to AVAILABLE: tests/unit/servers/test_states.py.
"""

import contextlib
import inspect

import pytest

from provisioner.errors import RackwrightError
from provisioner.operations import desk, desk_records, desk_servers
from provisioner.operations.housekeeping import Housekeeping
from provisioner.operations.release import CLEAN, RELEASE
from provisioner.ports.machines import Machines
from provisioner.servers.model import State
from provisioner.testing import store
from tests.unit.operations.world import REQUEST

ANN = desk.Operator(name="ann", role="admin", by="uid 0")


def ask(world, act):
    servers = desk_servers.Servers(
        records=world.records,
        audit=world.database.audit,
        clock=world.clock,
        rehearse=None,
        ramdisk=world.site.ramdisk,
        pace=world.site.pace,
    )
    return world.do(servers.act("s1", act, ANN, dry_run=False))


def retry_everything(world):
    operations = desk_records.Operations(
        records=world.records,
        audit=world.database.audit,
        clock=world.clock,
        bell=world.bell,
        kept=world.kept,
        rehearse=None,
    )
    for each in world.database.operations.operations(server="s1"):
        world.do(operations.retry(each.id, ANN, dry_run=False))


WAYS = {
    "delete": lambda w: w.do(w.bare_metal.release(REQUEST.key, "lab", until=w.clock.wall())),
    "delete, twice": lambda w: [WAYS["delete"](w), WAYS["delete"](w)],
    "an operator provides it": lambda w: ask(w, desk.Provide()),
    "an operator inspects it": lambda w: ask(w, desk.Inspect()),
    "an operator verifies it": lambda w: ask(w, desk.Verify()),
    "an operator retires it": lambda w: ask(w, desk.Retire(reason="x")),
    "quarantined, then provided": lambda w: [
        ask(w, desk.Quarantine(reason="x")),
        w.walk(),
        ask(w, desk.Provide()),
    ],
    "quarantined, then deleted": lambda w: [
        ask(w, desk.Quarantine(reason="x")),
        w.walk(),
        WAYS["delete"](w),
    ],
    "quarantined, deleted, then rebaselined": lambda w: [
        WAYS["quarantined, then deleted"](w),
        w.walk(),
        ask(w, desk.Rebaseline(reason="x")),
    ],
    "let go, deleted, and let go again": lambda w: [
        w.database.turns.let_go(w.ask_for_release(), "ann"),
        w.database.turns.let_go(w.open_now("s1").id, "ann"),
    ],
    "quarantined, deleted, then retired": lambda w: [
        WAYS["quarantined, then deleted"](w),
        w.walk(),
        ask(w, desk.Retire(reason="x")),
    ],
    "everything of before again": retry_everything,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_tenants_server_comes_back_by_a_wipe_or_not_at_all(active, way):
    before = len(active.database.evidence.records())
    with contextlib.suppress(RackwrightError):  # refused is as good
        WAYS[way](active)
    active.walk()
    server = active.server()
    if server.state is State.AVAILABLE:
        assert len(active.database.evidence.records()) == before + 1
    else:
        assert server.dirty


@pytest.mark.parametrize("phase", ["deploying", "active"])
def test_what_ends_by_itself_is_wiped_too(world, phase):
    operation = world.ask_for_deployment()
    if phase == "active":
        world.walk()
    else:
        world.do(world.walk_step(operation, "on-to-network-for-tenant"))
    before = len(world.database.evidence.records())
    past = world.clock.wall()
    world.database.allocations.mark(world.allocation().id, stop_grace_until=past)
    housekeeping = Housekeeping(
        records=world.records, machines=world.bare_metal, clock=world.clock, forget=lambda _: 0
    )
    world.do(housekeeping.round())
    world.walk()
    assert world.state() is State.AVAILABLE
    assert len(world.database.evidence.records()) == before + 1


def test_a_retired_server_comes_back_dirty(active):
    WAYS["quarantined, deleted, then retired"](active)
    active.walk()
    assert (active.state(), active.server().dirty) == (State.RETIRED, True)


def test_no_verb_takes_a_word_that_could_skip_it():
    words = {
        name
        for verb in ("reserve", "deploy", "power", "release", "observe")
        for name in inspect.signature(getattr(Machines, verb)).parameters
    }
    # what is known of its protection can only make the wipe wait; who certifies can only refuse
    assert words == {"self", "request", "until", "act", "key", "who", "protection", "certify"}


def test_every_list_that_leads_to_an_offer_wipes_verifies_and_signs():
    for steps in (RELEASE, CLEAN):
        names = steps.names()
        order = [names.index(each) for each in ("mark", "erase", "verify", "sign", "agent-off")]
        assert order == sorted(order)


def test_a_reservation_that_was_never_used_needs_none(world):
    request = store.instance_request()
    world.do(world.bare_metal.reserve(request))
    world.do(world.bare_metal.release(request.key, "lab", until=world.clock.wall()))
    assert world.state() is State.AVAILABLE
    assert world.open_now() is None
