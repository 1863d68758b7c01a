"""What operators ask: intents written down, refusals clear, dry runs without a trace."""

import io
import json
import tarfile
from dataclasses import replace

import pytest

from provisioner.config import Role
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.operations import desk_records, desk_servers
from provisioner.operations.desk import (
    EndMaintenance,
    Inspect,
    Maintain,
    Operator,
    Provide,
    Quarantine,
    Retire,
    Verify,
)
from provisioner.operations.lists import BY_NAME
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.rehearsal import Rehearsal
from provisioner.operations.release import CLEAN
from provisioner.operations.server_change import Change
from provisioner.secret import Secret
from provisioner.servers.manifest import ControllerEntry, NicEntry, ServerEntry
from provisioner.servers.model import (
    ControllerProtocol,
    FirmwareMode,
    MacRole,
    RootDiskRule,
    State,
)
from provisioner.servers.operation import Status
from provisioner.testing import store
from tests.unit.operations.world import REQUEST

ANN = Operator(name="ann", role=Role.OPERATOR, by="uid 1000")
ENTRY = ServerEntry(
    name="s9",
    pool="a",
    controller=ControllerEntry(protocol=ControllerProtocol.IPMI, address="10.0.0.9", user="admin"),
    firmware=FirmwareMode.BIOS,
    nics=(
        NicEntry(
            mac="52:54:00:99:00:01",
            roles=frozenset({MacRole.PROVISIONING, MacRole.TENANT}),
            port="tap-s9",
        ),
    ),
    root_disk=RootDiskRule(smallest_nvme=True),
)


@pytest.fixture
def servers(world):
    return servers_of(world)


def servers_of(world, held=""):
    return desk_servers.Servers(
        records=world.records,
        audit=world.database.audit,
        clock=world.clock,
        rehearse=Rehearsal(records=world.records, clock=world.clock, site=world.site),
        ramdisk=world.site.ramdisk,
        pace=world.site.pace,
        held=held,
    )


def operations_of(world, held=""):
    return desk_records.Operations(
        records=world.records,
        audit=world.database.audit,
        clock=world.clock,
        bell=world.bell,
        kept=world.kept,
        rehearse=Rehearsal(records=world.records, clock=world.clock, site=world.site),
        held=held,
    )


def code_of(world, asked):
    with pytest.raises(RackwrightError) as caught:
        world.do(asked)
    return caught.value.code


# --- servers ---------------------------------------------------------------------------------
def test_an_enrolled_server_is_verified_and_the_act_is_on_record(world, servers):
    asked = world.do(servers.enrol(ENTRY, Secret("x"), ANN, dry_run=False))
    assert world.open_now("s9").id == asked.operation
    assert [step.name for step in asked.steps] == ["verify-controller"]
    assert world.database.servers.password("s9").reveal() == "x"
    entry = world.database.audit.entries()[0]
    assert (entry.who, entry.act, entry.subject) == ("operator ann (uid 1000)", "enrol", "s9")


def test_a_dry_enrolment_remembers_nothing(world, servers):
    asked = world.do(servers.enrol(ENTRY, Secret("x"), ANN, dry_run=True))
    assert asked.operation is None
    assert asked.steps[0].calls
    assert [each.name for each in world.do(servers.servers())] == ["s1", "s2"]


def test_a_server_of_no_pool_is_refused(world, servers):
    entry = replace(ENTRY, pool="z")
    asked = servers.enrol(entry, Secret("x"), ANN, dry_run=False)
    assert code_of(world, asked) is ErrorCode.POOL_UNKNOWN


def test_where_nobody_moves_ports_no_card_has_both_roles(world, servers):
    servers.by_hand = True
    asked = servers.enrol(ENTRY, Secret("x"), ANN, dry_run=False)
    with pytest.raises(RackwrightError, match="s9: nics: 52:54:00:99:00:01") as caught:
        world.do(asked)
    assert caught.value.code is ErrorCode.MANIFEST_INVALID
    mac, both = "52:54:00:99:00:02", ENTRY.nics[0]
    apart = (
        replace(both, roles=frozenset({MacRole.PROVISIONING})),
        replace(both, mac=mac, roles=frozenset({MacRole.TENANT}), port="tap-2"),
    )
    assert world.do(servers.enrol(replace(ENTRY, nics=apart), Secret("x"), ANN, dry_run=False))
    changed = Change(nics=(replace(both, port="tap-3").nic(),))
    world.do(servers.act("s1", Maintain(reason="a fan"), ANN, dry_run=False))
    code = code_of(world, servers.change("s1", changed, ANN, dry_run=True))
    assert code is ErrorCode.MANIFEST_INVALID


def test_the_audit_says_why_as_people_do(world, servers):
    world.do(servers.act("s1", Quarantine(reason="smoke"), ANN, dry_run=False))
    assert world.database.audit.entries()[0].detail == "reason: smoke"


# act -> the list that it opens on a free server, or the code of its refusal
ACTS = [
    (Inspect(), "inspect/1"),
    (Provide(), "clean/2"),
    (Quarantine(reason="smoke"), "quarantine/1"),
    (Retire(reason="old"), "retire/1"),
    (Verify(), "STATE_CONFLICT"),
]


@pytest.mark.parametrize(("act", "expected"), ACTS, ids=lambda each: str(each)[:20])
def test_an_act_opens_its_list_or_is_refused(world, servers, act, expected):
    if expected == "STATE_CONFLICT":
        assert code_of(world, servers.act("s1", act, ANN, dry_run=False)) == expected
        assert world.open_now() is None
        return
    planned = world.do(servers.act("s1", act, ANN, dry_run=True))
    assert world.open_now() is None
    asked = world.do(servers.act("s1", act, ANN, dry_run=False))
    assert world.open_now().steps_name == expected
    assert [each.name for each in planned.steps] == [each.name for each in asked.steps]


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (Inspect(), "s1 is being inspected"),
        (Provide(), "s1 is being wiped, then offered"),
        (Quarantine(reason="smoke"), "s1 goes off and into quarantine"),
        (Retire(reason="old"), "s1 is taken out of service"),
    ],
    ids=str,
)
def test_what_is_said_of_an_act_is_one_sentence(world, servers, act, text):
    assert world.do(servers.act("s1", act, ANN, dry_run=False)).text == text


@pytest.mark.parametrize("act", [Inspect(), Provide()])
def test_without_a_ramdisk_no_server_is_touched_that_must_boot_it(world, servers, act):
    world.ramdisk = None
    asked = servers.act("s1", act, ANN, dry_run=False)
    assert code_of(world, asked) is ErrorCode.RAMDISK_MISSING
    assert (world.state(), world.open_now()) == ("AVAILABLE", None)


def test_provide_begins_with_what_was_never_done(world, servers):
    store.enrol(world.database, "s3")
    world.do(servers.act("s3", Provide(erase=("S1",)), ANN, dry_run=False))
    opened = world.open_now("s3")
    assert (opened.steps_name, opened.parameters) == ("verify/1", {"erase": ["S1"]})


@pytest.mark.parametrize(
    "act", [Inspect(), Quarantine(reason="smoke")], ids=lambda each: str(each)[:9]
)
def test_a_dry_run_says_what_runs_already(world, servers, act):
    first = world.do(servers.act("s1", act, ANN, dry_run=False))
    planned = world.do(servers.act("s1", act, ANN, dry_run=True))
    assert "runs already and would go on" in planned.text
    assert (planned.steps, planned.operation) == ((), None)
    assert world.do(servers.act("s1", act, ANN, dry_run=False)).operation == first.operation
    world.walk()
    if isinstance(act, Quarantine):  # nothing runs: one more would be opened
        assert "would be opened" in world.do(servers.act("s1", act, ANN, dry_run=True)).text


@pytest.mark.parametrize("dry_run", [True, False])
def test_a_disk_that_the_baseline_lacks_is_refused_before_power(world, servers, dry_run):
    serial = world.server().baseline.disks[0].serial
    act = Provide(erase=(serial, "FOO"))
    assert code_of(world, servers.act("s1", act, ANN, dry_run=dry_run)) is ErrorCode.DISK_NOT_FOUND
    assert (world.state(), world.open_now()) == (State.AVAILABLE, None)
    assert world.machines["s1"].calls == []
    world.do(servers.act("s1", Provide(erase=(serial,)), ANN, dry_run=False))
    assert world.open_now().kind == "clean"


def test_a_retry_too_names_only_disks_that_are_there(world):
    first = world.open(CLEAN, erase=["FOO"])
    world.walk()
    assert world.operation(first).code is ErrorCode.DISK_NOT_FOUND
    asked = operations_of(world).retry(first, ANN, dry_run=False)
    assert code_of(world, asked) is ErrorCode.DISK_NOT_FOUND
    assert world.open_now() is None


@pytest.mark.parametrize("act", [Inspect(), Provide(), Retire(reason="old")])
def test_what_a_tenant_has_is_not_touched(active, act):
    asked = servers_of(active).act("s1", act, ANN, dry_run=False)
    assert code_of(active, asked) is ErrorCode.STATE_CONFLICT
    assert active.open_now() is None


def test_a_server_in_maintenance_is_not_handed_out_until_it_ends(world, servers):
    world.do(servers.act("s1", Maintain(reason="fans"), ANN, dry_run=True))
    assert world.server().maintenance is None
    world.do(servers.act("s1", Maintain(reason="fans"), ANN, dry_run=False))
    assert world.server().maintenance.by == "operator ann (uid 1000)"
    assert world.do(world.bare_metal.reserve(REQUEST)).server == "s2"
    world.do(servers.act("s1", EndMaintenance(), ANN, dry_run=False))
    assert world.server().maintenance is None
    said = [(each.act, each.detail) for each in world.database.audit.entries(server="s1")[:2]]
    assert said == [("maintenance", "ended"), ("maintenance", "reason: fans")]


def test_a_server_that_is_not_there_is_named(world, servers):
    assert code_of(world, servers.act("s7", Inspect(), ANN, dry_run=False)) == "SERVER_UNKNOWN"


# --- operations --------------------------------------------------------------------------------
def test_stages_are_all_steps_with_their_times(world):
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "on-to-network-for-tenant"))
    view = world.do(operations_of(world).operation(operation))
    assert [stage.name for stage in view.stages] == list(BY_NAME["deploy/1"].names())
    by_name = {stage.name: stage for stage in view.stages}
    on, alive = by_name["on-to-network-for-tenant"], by_name["alive"]
    assert on.seconds == pytest.approx(on.ended_at - on.began_at, abs=1e-3)
    assert on.seconds > 1.0
    assert (alive.began_at, alive.ended_at, alive.seconds) == (None, None, None)


def test_a_stage_that_runs_is_timed_until_now_and_one_that_failed_until_its_end(world):
    world.agents["s1"].silent_from = "hello"
    operation = world.ask_for_deployment()
    world.until(lambda: "agent-called-in" in world.results(operation))
    world.pass_time(10.0)

    def stage():
        view = world.do(operations_of(world).operation(operation))
        return next(each for each in view.stages if each.name == "agent-called-in")

    assert 10.0 <= stage().seconds <= 15.0
    world.until(lambda: world.operation(operation).status is Status.FAILED)
    world.pass_time(500.0)
    assert stage().ended_at is None
    assert stage().seconds < 200.0


def test_cancelling_says_which_operation_and_what_would_follow(world):
    desk = operations_of(world)
    operation = world.ask_for_deployment()
    planned = world.do(desk.cancel(operation, ANN, dry_run=True))
    assert (planned.operation, planned.steps) == (operation, ())
    world.do(world.walk_step(operation, "off"))
    planned = world.do(desk.cancel(operation, ANN, dry_run=True))
    assert [step.name for step in planned.steps] == list(QUARANTINE.names())
    assert world.operation(operation).status is Status.OPEN
    asked = world.do(desk.cancel(operation, ANN, dry_run=False))
    assert asked.operation == operation
    assert world.operation(operation).status is Status.CANCELLED
    assert world.state() is State.QUARANTINED
    assert world.database.audit.entries()[0].act == "cancel"
    assert code_of(world, desk.cancel(operation, ANN, dry_run=False)) == "OPERATION_ENDED"


def test_a_quarantine_is_not_cancelled(world):
    operation = world.open(QUARANTINE)
    asked = operations_of(world).cancel(operation, ANN, dry_run=False)
    assert code_of(world, asked) is ErrorCode.STATE_CONFLICT
    assert world.operation(operation).status is Status.OPEN


def test_a_retry_opens_the_same_list_with_the_same_words(world):
    desk = operations_of(world)
    world.agents["s1"].silent_from = "hello"
    serial = world.server().baseline.disks[0].serial
    first = world.open(CLEAN, erase=[serial])
    assert code_of(world, desk.retry(first, ANN, dry_run=False)) is ErrorCode.STATE_CONFLICT
    world.walk()
    planned = world.do(desk.retry(first, ANN, dry_run=True))
    assert [step.name for step in planned.steps] == list(CLEAN.names())
    assert world.open_now() is None
    asked = world.do(desk.retry(first, ANN, dry_run=False))
    again = world.operation(asked.operation)
    assert (again.kind, again.parameters) == ("clean", {"erase": [serial]})
    assert again.who == "operator ann (uid 1000)"


def test_an_instances_operation_is_retried_by_its_verb_alone(world):
    world.agents["s1"].silent_from = "hello"
    operation = world.ask_for_deployment()
    world.walk()
    asked = operations_of(world).retry(operation, ANN, dry_run=False)
    assert code_of(world, asked) is ErrorCode.STATE_CONFLICT


def test_a_bundle_holds_the_record_and_all_that_was_kept(world):
    operation = world.ask_for_deployment()
    world.walk()
    packed = world.do(operations_of(world).bundle(operation))
    with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
        names = sorted(each.name.removeprefix(f"{operation}/") for each in tar)
        record = json.load(tar.extractfile(f"{operation}/operation.json"))
    assert names == ["console.log", "dhcp.log", "operation.json"]
    assert record["record"]["status"] == "done"
    assert b"seed of" not in packed


# --- held -------------------------------------------------------------------------------------
def test_a_held_service_changes_nothing_for_operators_either(world):
    operation = world.ask_for_deployment()
    servers, operations = servers_of(world, held="old"), operations_of(world, held="old")
    shelf = desk_records.Shelf(records=world.records, audit=world.database.audit, held="old")
    refused = [
        servers.enrol(ENTRY, Secret("x"), ANN, dry_run=False),
        servers.act("s2", Inspect(), ANN, dry_run=False),
        servers.act("s2", Maintain(reason="fans"), ANN, dry_run=False),
        operations.cancel(operation, ANN, dry_run=False),
        shelf.put_pool(store.pool("b"), ANN),
    ]
    for asked in refused:
        assert code_of(world, asked) is ErrorCode.SERVICE_HELD


def test_a_pool_names_only_what_is_imported(world):
    shelf = desk_records.Shelf(records=world.records, audit=world.database.audit)
    pool = replace(store.pool("b"), images={"x": "tiny", "y": "gone"})
    assert code_of(world, shelf.put_pool(pool, ANN)) is ErrorCode.IMAGE_MISSING
    world.do(shelf.put_pool(replace(pool, images={"x": "tiny"}), ANN))
    assert [each.name for each in world.do(shelf.pools())] == ["a", "b"]


def test_an_image_whose_files_are_not_there_is_refused(world):
    shelf = desk_records.Shelf(records=world.records, audit=world.database.audit)
    image = replace(world.do(shelf.images())[0], name="new", folder=world.folder)
    assert code_of(world, shelf.put_image(image, ANN)) is ErrorCode.IMAGE_MISSING
