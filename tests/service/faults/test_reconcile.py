"""CloudStack's lists and ours, compared by the service: real lists, real library, real database."""

import time

import pytest

from cloudstack_ext.api_server.model.instances import InstanceState
from cloudstack_ext.api_server.server import ApiServer
from tests.service.faults.asked import Asked

pytestmark = pytest.mark.emulated


@pytest.fixture
def asked(site):
    site.configure(reconcile_every_s=1.0)
    site.start()
    with ApiServer() as server:
        yield Asked(site, server)


def seen(asked):
    (one,) = asked.site.client.ask("GET", "/v1/differences")["sites"]
    return one


def until(asked, condition, what):
    asked.site.until(lambda: condition(seen(asked)), what, 30.0)


def installed(asked):
    instance = asked.deploy("trainer")
    assert asked.call("create", instance).exit == 0
    with asked.server.state.lock:
        kept = asked.server.state.instances[instance]
        kept.state, kept.host = InstanceState.RUNNING, asked.made.host
    return instance


def owner(asked, instance):
    return asked.site.rows("SELECT owner FROM allocation WHERE instance = ?", instance)[0][0]


def test_a_new_owner_is_taken_over_and_nothing_else_happens(asked):
    instance = installed(asked)
    before = len(asked.site.rack.log.acts())
    with asked.server.state.lock:
        alice = next(a for a in asked.server.state.accounts.values() if a.name == "alice")
        asked.server.state.instances[instance].account = alice.id
    asked.site.until(lambda: owner(asked, instance).endswith("/alice"), "the new owner", 30.0)
    assert [act for act in asked.site.rack.log.acts()[before:] if " power " in act] == []


def test_an_api_that_is_away_or_blind_is_doubted_and_changes_nothing(asked):
    installed(asked)
    until(asked, lambda one: one["asked_s_ago"] is not None and not one["doubt"], "a look")
    before = len(asked.site.rack.log.acts())
    with asked.server.state.lock:
        asked.server.state.hosts.clear()
    until(asked, lambda one: "is this the key?" in one["doubt"], "a blind key is doubted")
    asked.server.stop()
    until(asked, lambda one: "CLOUDSTACK" in one["doubt"], "an API that is away is said")
    time.sleep(3.0)
    assert [act for act in asked.site.rack.log.acts()[before:] if " power " in act] == []
    assert asked.site.states()["s1"] == "ACTIVE"


def test_empty_lists_are_doubted_and_change_nothing(asked):
    """Before and after a restart of the service, which has no list then to compare them with."""
    for _ in range(2):
        installed(asked)
    until(asked, lambda one: one["asked_s_ago"] is not None and not one["doubt"], "a look")
    before = len(asked.site.rack.log.acts())
    with asked.server.state.lock:
        asked.server.state.instances.clear()
    gone = "2 of 2 instances are gone at once"
    until(asked, lambda one: one["doubt"] == gone, "they are doubted")
    asked.site.stop()
    asked.site.start()
    until(asked, lambda one: one["doubt"] == gone, "they are doubted again")
    time.sleep(2.0)
    assert seen(asked)["differences"] == []
    assert [act for act in asked.site.rack.log.acts()[before:] if " power " in act] == []
    assert {asked.site.states()[name] for name in ("s1", "s2")} == {"ACTIVE"}


def test_the_command_lists_and_refuses_what_is_not_there(asked):
    until(asked, lambda one: one["asked_s_ago"] is not None, "a look")
    listed = asked.site.command(
        "reconcile", "list", "--socket", f"{asked.site.folder}/operators.sock"
    )
    assert listed.returncode == 0, listed.stderr
    assert "lab: asked" in listed.stderr
    words = (
        "reconcile",
        "apply",
        "abcdef123456",
        "--socket",
        f"{asked.site.folder}/operators.sock",
    )
    refused = asked.site.command(*words)
    assert refused.returncode == 3
    assert "STATE_CONFLICT" in refused.stderr
