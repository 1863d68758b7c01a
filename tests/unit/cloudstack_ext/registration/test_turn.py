"""Two administrators at one site: one after the other."""

import json
import os
import platform
from dataclasses import replace

import pytest

from cloudstack_ext.api_server.faults import Fault, FaultKind
from cloudstack_ext.registration.memory import HOLD_S
from provisioner.errors import ErrorCode
from provisioner.ports.registration_lease import RegistrationLease
from provisioner.units import SiteName, WallSeconds
from tests.unit.cli.rig import failed
from tests.unit.cloudstack_ext.registration.rig import Zone
from tests.unit.cloudstack_ext.registration.test_commands import Desk

pytestmark = pytest.mark.emulated

SITE = SiteName("zone1")


@pytest.fixture
def desk(tmp_path):
    with Zone() as zone:
        yield Desk(tmp_path, zone)


def somebody_else(desk, *, seconds=100.0):
    now = desk.clock.wall()
    desk.desk.turns_outside[SITE] = RegistrationLease(
        site=SITE,
        holder="another",
        who="operator jane (token)",
        what="register cloudstack.yaml, process 7 on admin1",
        since=WallSeconds(now - 34),
        until=WallSeconds(now + seconds),
    )


@pytest.mark.parametrize("word", ["apply", "unregister"])
def test_the_second_is_told_who_and_since_when_in_one_line_and_changes_nothing(desk, word):
    somebody_else(desk)
    line = failed(desk.ask(word), ErrorCode.REGISTRATION_BUSY, 75)
    assert "site zone1: operator jane (token) changes its registration since 20" in line
    assert "(register cloudstack.yaml, process 7 on admin1)" in line
    assert "if it was killed, its turn ends by itself at 20" in line
    assert " UTC, in 100 s" in line
    # CloudStack is not even asked
    assert desk.zone.server.calls.all() == ()
    assert desk.desk.held_outside == {}


@pytest.mark.parametrize("words", [("plan",), ("verify",), ("apply", "--dry-run")])
def test_who_only_looks_needs_no_turn(desk, words):
    somebody_else(desk)
    assert "REGISTRATION_BUSY" not in desk.ask(*words).output
    assert desk.desk.turns_outside[SITE].holder == "another"


def test_a_killed_ones_turn_is_taken_when_its_time_has_come(desk):
    somebody_else(desk, seconds=0.0)
    assert desk.ask("apply").exit_code == 0
    assert desk.desk.turns_outside == {}


def test_while_it_goes_on_it_says_whose_it_is_and_where(desk, monkeypatch):
    from cloudstack_ext.api_server.handlers import HANDLERS

    seen = []

    def made(call):
        turn = desk.desk.turns_outside[SITE]
        seen.append((turn.who, turn.what, turn.until - desk.clock.wall()))
        return HANDLERS["addCluster"](call)

    handlers = {**HANDLERS, "addCluster": made}
    monkeypatch.setattr("cloudstack_ext.api_server.dispatch.HANDLERS", handlers)
    assert desk.ask("apply").exit_code == 0
    ((who, what, left_s),) = seen
    assert who == "operator root (uid 0)"
    assert what == f"register cloudstack.yaml, process {os.getpid()} on {platform.node()}"
    # as long as this one call may take, and more than the questions before it
    assert HOLD_S < left_s <= 190


@pytest.mark.parametrize("word", ["apply", "unregister"])
def test_it_is_given_back_also_where_a_step_failed(desk, word):
    if word == "unregister":
        assert desk.ask("apply").exit_code == 0
    command = {"apply": "addCluster", "unregister": "deleteServiceOffering"}[word]
    desk.zone.server.faults.add(Fault(kind=FaultKind.ERROR, command=command))
    failed_at = desk.ask(word)
    assert failed_at.exit_code == 4
    assert desk.desk.turns_outside == {}
    assert desk.ask(word).exit_code == 0
    assert desk.desk.turns_outside == {}


def test_a_turn_that_another_one_has_taken_meanwhile_is_not_given_back(desk, monkeypatch):
    """As after a command that was asleep for long: suspended, or its service away."""
    from cloudstack_ext.api_server.handlers import HANDLERS

    def slow(call):
        found = HANDLERS["addCluster"](call)
        somebody_else(desk)
        return found

    handlers = {**HANDLERS, "addCluster": slow}
    monkeypatch.setattr("cloudstack_ext.api_server.dispatch.HANDLERS", handlers)
    done = desk.ask("apply")
    assert done.exit_code == 75
    assert done.stderr.splitlines()[-1].startswith("REGISTRATION_BUSY: site zone1: operator jane")
    assert desk.zone.calls() == ["createExtension", "addCluster"]
    assert desk.desk.turns_outside[SITE].holder == "another"
    # what was made is remembered all the same, and the next apply goes on
    kinds = {row.kind: row.outside_id for row in desk.desk.held_outside.values()}
    assert set(kinds) == {"extension", "cluster"}
    assert all(kinds.values())
    monkeypatch.undo()
    desk.desk.turns_outside.clear()
    assert desk.ask("apply").exit_code == 0
    assert len(desk.zone.state.clusters) == 1


def test_settings_too_are_changed_in_turn_alone(desk, monkeypatch):
    from cloudstack_ext.api_server.handlers import HANDLERS

    def slow(call):
        found = HANDLERS["updateConfiguration"](call)
        somebody_else(desk)
        return found

    desk.ask("apply")
    handlers = {**HANDLERS, "updateConfiguration": slow}
    monkeypatch.setattr("cloudstack_ext.api_server.dispatch.HANDLERS", handlers)
    desk.write(("sizes:", 'settings: {start.retry: "12", wait: "1900"}\nsizes:'))
    done = desk.ask("apply", "--settings")
    assert done.exit_code == 75
    assert desk.zone.calls().count("updateConfiguration") == 1


def test_sites_do_not_wait_for_each_other(desk):
    somebody_else(desk)
    lease = desk.desk.turns_outside.pop(SITE)
    other = SiteName("zone2")
    desk.desk.turns_outside[other] = replace(lease, site=other)
    done = desk.ask("apply", "--output", "json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["left"] == 0
