"""Enrolment, quarantine and retirement, step by step."""

import pytest

from provisioner.errors import ConflictError
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.quarantine import QUARANTINE, RETIRE
from provisioner.operations.release import CLEAN
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.testing import store
from tests.unit.operations.calls import OFF_AGAIN, calls
from tests.unit.operations.world import REQUEST, placed


@pytest.fixture
def enrolled(world):
    """A third server that nobody has touched."""
    store.enrol(world.database, "s3")
    world.database.servers.change("s3", identity=None)
    return world


def rack(world, *, facts=None, **behaviour):
    identity = store.ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")
    world.put_in_rack("s3", identity=identity, **behaviour)
    mac = world.server("s3").nics[0].mac
    world.agents["s3"].facts = facts or store.inventory(identity.system_uuid, mac)
    return world.machines["s3"]


def test_an_enrolled_server_is_verified_inspected_wiped_and_offered(enrolled):
    machine = rack(enrolled)
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    server = enrolled.server("s3")
    assert enrolled.kinds("s3") == ["verify", "inspect", "clean"]
    assert (server.state, server.dirty) == (State.AVAILABLE, False)
    assert server.identity == machine.identity
    assert server.restore_policy == "stay-off"
    assert machine.stays_off
    assert server.baseline == enrolled.agents["s3"].facts
    assert enrolled.placement("s3") is Placement.QUARANTINE
    assert enrolled.power_of("s3") is Power.OFF
    assert enrolled.database.evidence.records()[-1]["document"]["server"]["name"] == "s3"


def test_a_server_found_on_is_left_alone_until_a_person_provides_it(enrolled):
    machine = rack(enrolled, power=Power.ON)
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    server = enrolled.server("s3")
    assert (server.state, server.found_on) == (State.ENROLLED, True)
    assert "found switched on" in server.reason
    assert machine.power is Power.ON
    assert not any("power" in call and call != "read power" for call in machine.calls)
    assert [port for port, _ in enrolled.ports.moves if port == "tap-s3"] == []
    enrolled.open(INSPECT, "s3")  # what `provide` opens
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def with_data(world):
    mac = world.server("s3").nics[0].mac
    facts = store.inventory("aaaaaaaa-0000-0000-0000-000000000003", mac)
    return store.replace_disks(facts, has_partition_table=True)


def test_disks_with_data_wait_in_quarantine_for_a_persons_word(enrolled):
    rack(enrolled, facts=with_data(enrolled))
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    server = enrolled.server("s3")
    serial = server.baseline.disks[0].serial
    assert server.state is State.QUARANTINED
    assert f"--erase {serial}" in server.reason
    assert enrolled.kinds("s3") == ["verify", "inspect", "quarantine"]
    assert "erase" not in enrolled.agents["s3"].done
    assert enrolled.power_of("s3") is Power.OFF
    enrolled.open(CLEAN, "s3", erase=[serial])
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def test_the_word_to_erase_is_handed_on_from_inspection_to_the_wipe(enrolled):
    facts = with_data(enrolled)
    rack(enrolled, facts=facts)
    enrolled.open(VERIFY, "s3", erase=[facts.disks[0].serial])
    enrolled.walk()
    assert enrolled.state("s3") is State.AVAILABLE


def test_a_word_for_a_disk_that_is_not_there_erases_nothing(enrolled):
    rack(enrolled, facts=with_data(enrolled))
    enrolled.open(VERIFY, "s3", erase=["another"])
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    assert "erase" not in enrolled.agents["s3"].done


def test_a_server_without_the_hardware_that_was_enrolled_is_quarantined(enrolled):
    from provisioner.servers.model import ExpectedHardware

    enrolled.database.servers.change("s3", expected=ExpectedHardware(disks=2))
    rack(enrolled)
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    assert enrolled.state("s3") is State.QUARANTINED
    assert "2 expected, 1 seen" in enrolled.server("s3").reason
    assert enrolled.server("s3").baseline is None


def test_a_refused_restore_policy_is_recorded(enrolled):
    rack(enrolled).refuses.add("stay_off")
    enrolled.open(VERIFY, "s3")
    enrolled.walk()
    assert enrolled.server("s3").restore_policy.startswith("refused: ")
    assert enrolled.state("s3") is State.AVAILABLE


# --- quarantine and retirement -----------------------------------------------------------------
def test_a_quarantined_server_is_off_and_cut_off(active):
    operation = active.open(QUARANTINE, reason="smells of smoke")
    active.walk()
    server = active.server()
    assert active.journal(operation) == calls(
        active, [*OFF_AGAIN, "port: port tap-s1 to quarantine", "boot: withdraw {mac}"]
    )
    assert (server.state, server.dirty) == (State.QUARANTINED, True)
    assert server.reason == "smells of smoke"
    assert active.allocation().phase is Phase.ACTIVE
    assert active.power_of() is Power.OFF


def test_a_server_that_may_still_run_gets_its_port_shut(active):
    active.machines["s1"].silent = True
    operation = active.open(QUARANTINE)
    active.walk()
    assert active.results(operation)["off-or-unknown"]["power"] == "unknown"
    assert active.placement() is Placement.SHUT
    assert active.server().power.power is Power.UNKNOWN
    ended = active.operation(operation)
    assert (ended.status, ended.code) == (Status.FAILED, "POSSIBLY_RUNNING")
    assert ended.brief.startswith("possibly still running: CONTROLLER_")


def test_a_quarantined_server_comes_back_by_a_wipe(active):
    active.open(QUARANTINE)
    active.walk()
    active.do(active.bare_metal.release(REQUEST.key, "lab", until=active.within(1.0)))
    assert active.state() is State.QUARANTINED
    serial = active.server().baseline.disks[0].serial
    active.open(CLEAN, erase=[serial])
    active.walk()
    assert (active.state(), active.server().dirty) == (State.AVAILABLE, False)


def test_a_retired_server_is_cut_off(world):
    world.open(RETIRE)
    world.walk()
    assert world.state() is State.RETIRED
    assert world.ports.moves[-1] == ("tap-s1", placed(Placement.QUARANTINE))


def test_an_allocated_server_is_not_retired(active):
    with pytest.raises(ConflictError, match="allocated"):
        active.open(RETIRE)
