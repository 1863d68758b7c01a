"""13: acting on the wrong machine, or on one that a person has not given us."""

from dataclasses import replace

import pytest

from provisioner.errors import ConflictError
from provisioner.hardware.inventory import Card
from provisioner.operations import desk, desk_records, desk_servers
from provisioner.operations.housekeeping import close_lost
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.lists import follow
from provisioner.operations.quarantine import RETIRE
from provisioner.operations.release import CLEAN
from provisioner.ports.controllers import PowerAct
from provisioner.secret import Secret
from provisioner.servers.baseline import differences
from provisioner.servers.model import ControllerIdentity, Placement, Power, State
from provisioner.testing import store

ANN = desk.Operator(name="ann", role="admin", by="uid 0")
IDENTITY = ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")
OTHER = "ffffffff-0000-0000-0000-000000000001"


@pytest.fixture
def enrolled(world):
    """s3, which nobody has spoken with; behind its address there is a machine that runs."""
    store.enrol(world.database, "s3")
    world.put_in_rack("s3", identity=IDENTITY, power=Power.ON)
    world.agents["s3"].facts = store.inventory(IDENTITY.system_uuid, world.server("s3").nics[0].mac)
    return world


def servers(world):
    audit = world.database.audit
    return desk_servers.Servers(
        records=world.records,
        audit=audit,
        clock=world.clock,
        rehearse=None,
        ramdisk=world.site.ramdisk,
        pace=world.site.pace,
    )


def operations(world):
    return desk_records.Operations(
        records=world.records,
        audit=world.database.audit,
        clock=world.clock,
        bell=world.bell,
        kept=world.kept,
        rehearse=None,
    )


def ask(world, act, name="s3"):
    return world.do(servers(world).act(name, act, ANN, dry_run=False))


def was_touched(world, name="s3"):
    """A button, a boot device, a port: anything but looking and the power-restore policy."""
    looks = {"identity", "read power", "read boot", "stay off", "console", "boot progress"}
    calls = [each for each in world.machines[name].calls if each not in looks]
    return calls + [port for port, _ in world.ports.moves if port == f"tap-{name}"]


# --- found switched on ---------------------------------------------------------------------
@pytest.mark.parametrize("act", [desk.Verify(), desk.Inspect()])
@pytest.mark.parametrize("again", [False, True])
def test_a_server_found_on_is_not_touched_by_looking_at_it(enrolled, act, again):
    ask(enrolled, act)
    enrolled.walk()
    if again:
        ask(enrolled, act)
        enrolled.walk()
    assert (enrolled.state("s3"), enrolled.server("s3").found_on) == (State.ENROLLED, True)
    assert was_touched(enrolled) == []
    assert enrolled.power_of("s3") is Power.ON


def test_a_verification_that_is_lost_touches_nothing(enrolled):
    operation = ask(enrolled, desk.Verify()).operation
    enrolled.waiting.clear()
    lost = lambda which: dict.fromkeys(which, "UNKNOWN")  # noqa: E731
    assert close_lost(enrolled.records, lost, follow, enrolled.clock) == 1
    enrolled.walk()
    assert enrolled.operation(operation).code == "OPERATION_LOST"
    assert enrolled.state("s3") is State.ENROLLED
    assert was_touched(enrolled) == []


def test_one_that_is_given_up_is_left_as_it_was_found(enrolled):
    ask(enrolled, desk.Verify())
    enrolled.walk()
    ask(enrolled, desk.Retire(reason="not ours"))
    enrolled.walk()
    assert enrolled.state("s3") is State.RETIRED
    assert was_touched(enrolled) == []


def test_one_that_is_adopted_runs_on_untouched(enrolled):
    ask(enrolled, desk.Verify())
    enrolled.walk()
    desk_of_it = servers(enrolled)
    desk_of_it.sites = frozenset({"lab"})
    enrolled.do(desk_of_it.act("s3", desk.Adopt(site="lab", instance=OTHER), ANN, dry_run=False))
    enrolled.walk()
    enrolled.pass_time(60.0)
    assert enrolled.state("s3") is State.ACTIVE
    assert was_touched(enrolled) == []
    assert enrolled.power_of("s3") is Power.ON


@pytest.mark.parametrize("act", [desk.Provide(), desk.Inspect(), desk.Retire(reason="x")])
def test_nor_does_anybody_take_it_from_its_instance(enrolled, act):
    test_one_that_is_adopted_runs_on_untouched(enrolled)
    with pytest.raises(ConflictError, match="STATE_CONFLICT"):
        ask(enrolled, act)
    assert was_touched(enrolled) == []


def test_a_server_of_ours_that_is_retired_is_cut_off(world):
    world.open(RETIRE, "s2")
    world.walk()
    assert [each for each, _ in world.ports.moves] == ["tap-s2"]
    assert world.placement("s2") is Placement.QUARANTINE


def test_a_person_may_provide_it_and_then_it_is_taken_over(enrolled):
    ask(enrolled, desk.Verify())
    enrolled.walk()
    ask(enrolled, desk.Provide())
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


# --- nobody has said who answers -----------------------------------------------------------
@pytest.mark.parametrize("steps", [INSPECT], ids=lambda each: each.name)
def test_a_controller_that_was_never_verified_is_not_told_anything(enrolled, steps):
    enrolled.open(steps, "s3")
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    assert "never verified" in enrolled.server("s3").reason
    assert enrolled.power_of("s3") is Power.ON
    assert enrolled.machines["s3"].calls == []
    assert enrolled.placement("s3") is Placement.SHUT  # it may run


def test_providing_one_that_was_never_verified_begins_with_that(enrolled):
    enrolled.machines["s3"].power = Power.OFF
    ask(enrolled, desk.Provide(erase=()))
    assert enrolled.open_now("s3").steps_name == "verify/1"
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE
    assert enrolled.server("s3").identity == IDENTITY


def test_a_word_on_disks_is_not_lost_behind_a_verification(enrolled):
    ask(enrolled, desk.Verify())
    with pytest.raises(ConflictError, match="ask again"):
        ask(enrolled, desk.Provide(erase=("x",)))


# --- another machine behind the address ----------------------------------------------------
SWAPS = {
    "uuid": lambda machine: replace(machine.identity, system_uuid=OTHER),
    "none": lambda machine: replace(machine.identity, system_uuid=None),
    "certificate": lambda machine: replace(machine.identity, certificate_sha256="f" * 64),
}


@pytest.mark.parametrize(
    ("swap", "before"),
    [("uuid", "off"), ("uuid", "agent-off"), ("none", "network-first"), ("certificate", "off")],
)
def test_each_conversation_of_a_deployment_compares(world, swap, before):
    record = world.server()
    identity = replace(record.identity, certificate_sha256="a" * 64)
    world.database.servers.change("s1", identity=identity)
    machine = world.machines["s1"]
    machine.identity = identity

    def swapped():
        machine.identity = SWAPS[swap](machine)
        machine.calls.clear()

    operation = world.ask_for_deployment()
    world.when(before, swapped)
    world.walk()
    assert world.operation(operation).code in {"OTHER_MACHINE", "CONTROLLER_CERTIFICATE"}
    assert set(machine.calls) <= {"identity"}
    assert (world.state(), world.placement()) == (State.QUARANTINED, Placement.SHUT)


def other_cards(facts):
    return replace(
        facts, nics=(Card(name="eth0", mac="52:54:00:ff:ff:ff", driver=None, link=True),)
    )


MACHINES = {
    "uuid": lambda facts: replace(facts, system=replace(facts.system, uuid=OTHER)),
    "no uuid": lambda facts: replace(facts, system=replace(facts.system, uuid=None)),
    "serial": lambda facts: replace(facts, system=replace(facts.system, serial="S2")),
    "firmware": lambda facts: replace(facts, firmware=replace(facts.firmware, mode="bios")),
    "cards": other_cards,
    "no disk": lambda facts: replace(facts, disks=()),
    "disk's serial": lambda facts: store.replace_disks(facts, serial="X"),
    "disk's size": lambda facts: store.replace_disks(facts, bytes=2**39),
    "one disk more": lambda facts: replace(
        facts, disks=(*facts.disks, replace(facts.disks[0], serial="X"))
    ),
}


@pytest.mark.parametrize("change", MACHINES)
def test_what_differs_from_the_baseline_is_another_machine(change):
    server = store.new_server("s1")
    baseline = store.inventory(IDENTITY.system_uuid, server.nics[0].mac)
    server = replace(server, baseline=baseline, identity=IDENTITY)
    assert differences(server, server.baseline) == ()
    assert differences(server, MACHINES[change](server.baseline))


def test_the_facts_are_compared_before_the_first_destructive_order_of_a_release(active):
    active.agents["s1"].facts = MACHINES["serial"](active.server().baseline)
    release = active.ask_for_release()
    active.walk()
    assert active.operation(release).code == "FACTS_DIFFER"
    assert not {"mark", "erase"} & set(active.agents["s1"].done)
    assert (active.state(), active.server().dirty) == (State.QUARANTINED, True)


def test_the_facts_are_compared_before_the_first_destructive_order_of_a_deployment(world):
    world.agents["s1"].facts = MACHINES["serial"](world.server().baseline)
    deployment = world.ask_for_deployment()
    world.walk()
    assert world.operation(deployment).code == "FACTS_DIFFER"
    assert "write_image" not in world.agents["s1"].done


def test_a_nonce_that_the_machine_does_not_read_stops_the_operation(active):
    release = active.ask_for_release()
    active.agents["s1"].bends["read_nonce"] = lambda _: {"nonce": "00" * 13}
    active.walk()
    assert active.operation(release).code == "OTHER_MACHINE"
    assert active.server().dirty


# --- a person's word -----------------------------------------------------------------------
def full(world, name="s3"):
    return store.replace_disks(world.agents[name].facts, has_partition_table=True)


def test_disks_with_data_wait_for_a_persons_word(enrolled):
    enrolled.machines["s3"].power = Power.OFF
    enrolled.agents["s3"].facts = full(enrolled)
    ask(enrolled, desk.Provide())
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    assert "erase" not in enrolled.agents["s3"].done
    ask(enrolled, desk.Inspect())
    enrolled.walk()
    assert "erase" not in enrolled.agents["s3"].done
    ask(enrolled, desk.Provide(erase=(enrolled.agents["s3"].facts.disks[0].serial,)))
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def test_a_word_of_before_a_new_enrolment_is_not_said_again(enrolled):
    serial = enrolled.agents["s3"].facts.disks[0].serial
    enrolled.machines["s3"].power = Power.OFF
    enrolled.agents["s3"].facts = full(enrolled)
    old = ask(enrolled, desk.Provide(erase=(serial,))).operation
    enrolled.walk()
    wipe = enrolled.open(CLEAN, "s3", erase=[serial])
    enrolled.walk()
    enrolled.open(RETIRE, "s3")
    enrolled.walk()
    record = replace(enrolled.server("s3"), state=State.ENROLLED, baseline=None, identity=None)
    enrolled.database.servers.enrol(record, Secret("password of s3"))
    enrolled.open(VERIFY, "s3")
    enrolled.agents["s3"].done.clear()
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    for said in (wipe, old):
        with pytest.raises(ConflictError):
            enrolled.do(operations(enrolled).retry(said, ANN, dry_run=False))
    enrolled.walk()
    assert "erase" not in enrolled.agents["s3"].done


def test_what_failed_just_now_may_be_tried_again(enrolled):
    enrolled.machines["s3"].power = Power.OFF
    enrolled.agents["s3"].silent_from = "hello"
    ask(enrolled, desk.Verify())
    enrolled.walk()
    failed = enrolled.database.operations.operations(server="s3")[1]
    assert (failed.kind, failed.code) == ("inspect", "AGENT_SILENT")
    enrolled.agents["s3"].silent_from = ""
    enrolled.do(operations(enrolled).retry(failed.id, ANN, dry_run=False))
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def test_a_press_by_hand_during_verification_is_found(enrolled):
    enrolled.machines["s3"].press(PowerAct.OFF)
    ask(enrolled, desk.Verify())
    enrolled.walk()
    assert enrolled.server("s3").found_on
