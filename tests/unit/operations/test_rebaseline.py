"""A repaired server: a new baseline, a wipe, and evidence that names both and what went away."""

from dataclasses import replace
from functools import partial

import pytest
import sqlalchemy as sa

from provisioner.errors import ErrorCode
from provisioner.evidence.chain import canonical
from provisioner.operations.desk import Provide, Quarantine, Rebaseline, Retire
from provisioner.operations.rebaseline import REBASELINE
from provisioner.operations.steps import new_operation
from provisioner.servers.controller_media import NamedMedium
from provisioner.servers.model import ExpectedHardware, Placement, Power, State
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.calls import at_each_step
from tests.unit.operations.test_desk import ANN, code_of, servers_of
from tests.unit.operations.world import Killed

REPAIRED = Rebaseline(reason="disk 1 was broken", erase=("ANOTHER",))


def ask(world, act, name="s1"):
    return world.do(servers_of(world).act(name, act, ANN, dry_run=False)).operation


@pytest.fixture
def repaired(active):
    """Given back with another disk than it was handed out with: quarantined, dirty."""
    active.broken = active.server().baseline
    c.facts(c.swapped_disk)(active)
    active.agents["s1"].facts = store.replace_disks(
        active.agents["s1"].facts, has_partition_table=True
    )
    active.ask_for_release()
    active.walk()
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)
    return active


def evidence(world):
    return world.database.evidence.records()[-1]["document"]


def gone_of(facts):
    (disk,) = facts.disks
    return f"disk {disk.model} {disk.serial} of {disk.bytes} bytes"


def test_it_is_inspected_wiped_and_offered(repaired):
    states = at_each_step(repaired, repaired.state)
    operation = ask(repaired, REPAIRED)
    repaired.walk()
    assert repaired.operation(operation).status == "done"
    assert repaired.kinds()[-2:] == ["rebaseline", "clean"]
    assert states["same-after-repair"] == states["inventory-anew"] == State.INSPECTING
    assert states["erase"] == State.CLEANING
    server = repaired.server()
    assert (server.state, server.dirty) == (State.AVAILABLE, False)
    assert [disk.serial for disk in server.baseline.disks] == ["ANOTHER"]
    assert (repaired.power_of(), repaired.placement()) == (Power.OFF, Placement.QUARANTINE)


def test_the_evidence_names_old_and_new_baseline_the_reason_and_what_went_away(repaired):
    operation, before = ask(repaired, REPAIRED), repaired.server().baseline_at
    repaired.walk()
    document = evidence(repaired)
    (new,) = document["rebaselines"]
    told = (new["operation"], new["reason"], new["who"])
    assert told == (operation, "disk 1 was broken", "operator ann (uid 1000)")
    assert [disk["serial"] for disk in new["before"]["disks"]] == [repaired.broken.disks[0].serial]
    assert [disk["serial"] for disk in new["after"]["disks"]] == ["ANOTHER"]
    assert new["before"]["uuid"] == new["after"]["uuid"] == repaired.broken.system.uuid
    assert before is None or new["before"]["taken"] < new["after"]["taken"]
    assert new["gone"] == [gone_of(repaired.broken)]
    line = f"{gone_of(repaired.broken)}: gone before this wipe, not erased"
    assert f"{line} (rebaselined: disk 1 was broken)" in document["not_covered"]
    assert canonical(document)
    assert repaired.server().rebaselines == ()


def test_the_next_wipe_does_not_name_it_again(repaired):
    ask(repaired, REPAIRED)
    repaired.walk()
    ask(repaired, Provide(erase=("ANOTHER",)))
    repaired.walk()
    assert evidence(repaired)["rebaselines"] == []


def test_disks_with_data_are_not_erased_without_a_word_and_nothing_is_forgotten(repaired):
    operation = ask(repaired, Rebaseline(reason="disk 1 was broken"))
    repaired.walk()
    record = repaired.operation(operation)
    assert (record.ending, record.code) == ("person", "STATE_CONFLICT")
    assert "--erase" in record.brief
    assert (repaired.state(), repaired.server().dirty) == (State.QUARANTINED, True)
    assert "erase" not in repaired.agents["s1"].done
    ask(repaired, Provide(erase=("ANOTHER",)))
    repaired.walk()
    assert repaired.state() is State.AVAILABLE
    assert [each["operation"] for each in evidence(repaired)["rebaselines"]] == [operation]


def test_two_repairs_before_one_wipe_are_both_named(repaired):
    repaired.agents["s1"].fails = {"erase": ("AGENT_FAILED", "as told")}
    ask(repaired, REPAIRED)
    repaired.walk()
    assert repaired.state() is State.QUARANTINED
    assert len(repaired.server().rebaselines) == 1
    repaired.agents["s1"].fails = {}
    repaired.agents["s1"].facts = store.replace_disks(repaired.agents["s1"].facts, serial="THIRD")
    ask(repaired, Rebaseline(reason="and again", erase=("THIRD",)))
    repaired.walk()
    document = evidence(repaired)
    assert [each["reason"] for each in document["rebaselines"]] == [
        "disk 1 was broken",
        "and again",
    ]
    lost = [each["gone"][0].split()[2] for each in document["rebaselines"]]
    assert lost == [repaired.broken.disks[0].serial, "ANOTHER"]


def test_a_step_that_is_repeated_keeps_the_first_baseline(repaired):
    operation = ask(repaired, REPAIRED)
    repaired.effects.die_after = {"inventory-anew": 1}
    with pytest.raises(Killed):
        repaired.walk()
    repaired.crash()
    repaired.walk()
    assert repaired.operation(operation).status == "done"
    (new,) = evidence(repaired)["rebaselines"]
    assert new["gone"] == [gone_of(repaired.broken)]


def test_a_medium_that_only_the_controller_named_and_that_is_gone_is_named(repaired):
    repaired.database.servers.change("s1", hidden_media=("Disk.Bay.1 Old X1",))
    repaired.machines["s1"].media = (NamedMedium(name="Disk.Bay.0", serial="ANOTHER"),)
    ask(repaired, REPAIRED)
    repaired.walk()
    assert repaired.state() is State.AVAILABLE
    gone = evidence(repaired)["rebaselines"][0]["gone"]
    assert gone[-1] == "medium Disk.Bay.1 Old X1, which only the controller named"


# --- not the same machine ------------------------------------------------------------------------
STRANGERS = {
    "another uuid": (c.other_uuid, "system uuid"),
    "another serial": (c.other_serial, "system serial"),
    "no card of before": (c.without_card, "network card"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_another_machine_gets_no_baseline_here_and_is_not_erased(repaired, name):
    change, said = STRANGERS[name]
    repaired.agents["s1"].facts = change(repaired.agents["s1"].facts)
    operation = ask(repaired, REPAIRED)
    repaired.walk()
    record = repaired.operation(operation)
    assert record.code is ErrorCode.OTHER_MACHINE
    assert said in record.brief
    server = repaired.server()
    assert (server.state, server.dirty) == (State.QUARANTINED, True)
    assert (server.baseline, server.rebaselines) == (repaired.broken, ())
    assert repaired.history()[-1][0] == "quarantine"
    assert "erase" not in repaired.agents["s1"].done


def test_a_fabric_disk_refuses_it(repaired):
    one = replace(repaired.agents["s1"].facts.disks[0], serial="F", transport="iscsi", wwn="naa.1")
    facts = repaired.agents["s1"].facts
    repaired.agents["s1"].facts = replace(facts, disks=(*facts.disks, one))
    operation = ask(repaired, REPAIRED)
    repaired.walk()
    assert repaired.operation(operation).code is ErrorCode.DISK_FABRIC
    assert repaired.server().rebaselines == ()


def test_what_was_expected_at_enrolment_is_still_expected(repaired):
    expected = ExpectedHardware(disks=2)
    repaired.database.servers.change("s1", expected=expected)
    operation = ask(repaired, REPAIRED)
    repaired.walk()
    assert repaired.operation(operation).code is ErrorCode.FACTS_DIFFER
    assert repaired.server().baseline == repaired.broken


# --- when ---------------------------------------------------------------------------------
def test_only_a_quarantined_server_that_has_a_baseline_and_no_instance_is_rebaselined(world):
    desk = servers_of(world)
    asked = partial(desk.act, act=REPAIRED, by=ANN, dry_run=False)
    assert code_of(world, asked("s1")) is ErrorCode.STATE_CONFLICT
    store.enrol(world.database, "s3")
    world.do(desk.act("s3", Quarantine(reason="x"), ANN, dry_run=False))
    world.walk()
    assert code_of(world, asked("s3")) is ErrorCode.STATE_CONFLICT
    world.ask_for_deployment()
    world.walk()
    world.do(desk.act("s1", Quarantine(reason="x"), ANN, dry_run=False))
    world.walk()
    assert code_of(world, asked("s1")) is ErrorCode.STATE_CONFLICT
    assert world.kinds("s1").count("rebaseline") == 0


def test_without_a_ramdisk_it_is_not_begun(repaired):
    repaired.ramdisk = None
    asked = servers_of(repaired).act("s1", REPAIRED, ANN, dry_run=False)
    assert code_of(repaired, asked) is ErrorCode.RAMDISK_MISSING


def test_never_without_a_reason(repaired):
    new = new_operation(REBASELINE, "ann")
    for parameters in ({}, {"reason": ""}):
        with pytest.raises(sa.exc.IntegrityError, match="without a reason"):
            repaired.database.operations.open(
                "s1", replace(new, parameters=parameters), now=repaired.clock.wall()
            )
    assert repaired.open_now() is None


def test_the_reason_stands_in_the_audit_and_while_it_runs_at_the_server(repaired):
    ask(repaired, REPAIRED)
    entry = repaired.database.audit.entries()[0]
    assert (entry.act, entry.subject) == ("rebaseline/1", "s1")
    assert entry.detail == "reason: disk 1 was broken; erase: ANOTHER"
    assert repaired.server().reason == "disk 1 was broken"


def test_what_went_away_is_still_said_after_the_server_was_retired_and_enrolled(repaired):
    repaired.agents["s1"].fails = {"erase": ("AGENT_FAILED", "as told")}
    ask(repaired, REPAIRED)
    repaired.walk()
    ask(repaired, Retire(reason="sold"))
    repaired.walk()
    record = repaired.server()
    again = replace(store.new_server("s1"), nics=record.nics, controller=record.controller)
    repaired.database.servers.enrol(again, store.Secret("x"))
    assert [each.reason for each in repaired.server().rebaselines] == ["disk 1 was broken"]


def test_by_plain_sql_no_new_baseline_is_forgotten(repaired):
    repaired.agents["s1"].fails = {"erase": ("AGENT_FAILED", "as told")}
    ask(repaired, REPAIRED)
    repaired.walk()
    for change in ("'[]'", "json_set(rebaselines, '$[0].reason', 'x')"):
        with (
            repaired.database.engine.begin() as connection,
            pytest.raises(sa.exc.IntegrityError, match="until evidence has named it"),
        ):
            connection.exec_driver_sql(f"UPDATE server SET rebaselines = {change}")
