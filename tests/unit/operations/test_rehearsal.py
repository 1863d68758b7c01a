"""A dry run says what the real run does, call by call, and leaves no trace."""

from dataclasses import replace

import pytest

from provisioner.errors import InputError, RackwrightError
from provisioner.operations.desk import PlannedCall
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.lists import BY_NAME, LISTS
from provisioner.operations.power import REBOOT, START, START_FROM_OFF, STOP
from provisioner.operations.quarantine import CUT_OFF, QUARANTINE, RETIRE
from provisioner.operations.rebaseline import REBASELINE
from provisioner.operations.rehearsal import CallsNoted, Rehearsal
from provisioner.operations.reinstall import (
    REINSTALL,
    REINSTALL_STOPPED,
    RESEED,
    RESEED_STOPPED,
)
from provisioner.operations.release import CLEAN
from provisioner.operations.rescue import RESCUE
from provisioner.operations.steps import new_operation
from provisioner.servers.model import ControllerDriver, ControllerProtocol, Power
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.world import RAMDISK

IPMI = ControllerProtocol.IPMI


class Faces:
    """A fake controller without the faces that a real one of its protocol has not either."""

    def __init__(self, controller, lacks):
        self._controller, self._lacks = controller, lacks

    def __getattr__(self, name):
        if name in self._lacks:
            raise AttributeError(name)
        return getattr(self._controller, name)


LACKS = {
    ControllerProtocol.IPMI: {"has_started", "media"},
    ControllerProtocol.REDFISH: {"stream"},
}


def have_faces_of(world, protocol):
    opened = world.controllers.open
    world.controllers.open = lambda *of, **more: Faces(opened(*of, **more), LACKS[protocol])


def speak_ipmi(world, name="s1", driver=ControllerDriver.PYGHMI):
    record = world.server(name)
    have_faces_of(world, IPMI)
    address = replace(record.controller, protocol=IPMI, host=f"ipmi-{name}", port=623)
    world.database.servers.change(name, controller=address, driver=driver)


def as_seen(world, power, name="s1"):
    """The machine is in this state, and the power loop has read it."""
    world.machines[name].power = power
    reading = replace(world.server(name).power, power=power, at=world.clock.wall(), source="loop")
    world.database.servers.note_readings({name: reading})


@pytest.fixture
def rehearse(world):
    rehearsal = Rehearsal(records=world.records, clock=world.clock, site=world.site)

    def run(steps, name="s1", **parameters):
        new = replace(new_operation(steps, "ann"), parameters=parameters)
        return world.do(rehearsal(world.server(name), new, steps))

    return run


def lines(planned):
    """All calls in order, the same again and again once."""
    every = [f"{call.door}: {call.text}" for step in planned for call in step.calls]
    return [b for a, b in zip(["", *every], every, strict=False) if a != b]


@pytest.mark.parametrize("steps", [INSPECT, CLEAN, QUARANTINE, RETIRE], ids=lambda e: e.name)
@pytest.mark.parametrize("power", [Power.OFF, Power.ON])
def test_a_rehearsal_names_the_calls_of_the_real_run_in_order(world, rehearse, steps, power):
    speak_ipmi(world)
    world.put_in_rack("s1")
    as_seen(world, power)
    planned = rehearse(steps)
    operation = world.open(steps)
    world.do(world.walk_one(operation))
    assert world.operation(operation).status == "done"
    assert tuple(step.name for step in planned) == world.operation(operation).steps
    assert lines(planned) == world.journal(operation)


def test_a_rehearsal_of_a_new_baseline_names_the_calls_of_the_real_run(world, rehearse):
    speak_ipmi(world)
    world.put_in_rack("s1")
    world.open(QUARANTINE)
    world.walk()
    as_seen(world, Power.OFF)
    before = dump(world)
    planned = rehearse(REBASELINE, reason="a disk")
    assert dump(world) == before
    operation = world.open(REBASELINE, reason="a disk")
    world.do(world.walk_one(operation))
    assert world.operation(operation).status == "done"
    assert tuple(step.name for step in planned) == world.operation(operation).steps
    assert lines(planned) == world.journal(operation)


# how the operation of an instance is asked for; where it must begin
INSTANCES = {
    "deploy/1": (lambda world: world.ask_for_deployment(), "world"),
    "release/2": (lambda world: world.ask_for_release(), "active"),
    "start/1": (lambda world: command(world, START, 101), "stopped"),
    "start-from-off/1": (lambda world: command(world, START_FROM_OFF, 101), "active"),
    "stop/1": (lambda world: command(world, STOP), "active"),
    "cut-off/1": (lambda world: command(world, CUT_OFF), "active"),
    "reinstall/1": (lambda world: change(world, REINSTALL), "active"),
    "reinstall-stopped/1": (lambda world: change(world, REINSTALL_STOPPED), "active"),
    "reseed/1": (lambda world: change(world, RESEED), "active"),
    "reseed-stopped/1": (lambda world: change(world, RESEED_STOPPED), "active"),
    "rescue/1": (lambda world: change(world, RESCUE), "active"),
    "reboot/1": (lambda world: command(world, REBOOT, 101), "active"),
}


def command(world, steps, *vlans):
    """As the verb of a tenant's power writes it."""
    operation = replace(new_operation(steps, "lab"), parameters={"vlans": vlans})
    of = world.allocation().id
    return world.database.operations.open("s1", operation, now=world.clock.wall(), of=of).id


def change(world, steps):
    """As an action of its tenant writes it."""
    operation = new_operation(steps, "lab")
    digest = world.database.seeds.put_seed(operation.id, b"seed")
    parameters = {
        "image": "tiny",
        "vlans": [101],
        "seed_sha256": digest,
        "seed_bytes": 4,
        "hostname": "trainer",
        "keys": ["ssh-ed25519 AAAA"],
    }
    new, of = replace(operation, parameters=parameters), world.allocation().id
    return world.database.operations.open("s1", new, now=world.clock.wall(), of=of).id


def test_every_list_has_its_comparison():
    by_operators = {each.name for each in (VERIFY, INSPECT, REBASELINE, CLEAN, QUARANTINE, RETIRE)}
    assert by_operators | INSTANCES.keys() == {each.name for each in LISTS}


def begin(request, begins, protocol):
    world = request.getfixturevalue("world" if begins == "world" else "active")
    if protocol is IPMI:
        speak_ipmi(world)
    else:
        have_faces_of(world, protocol)
    world.put_in_rack("s1", started=True)
    return world


@pytest.mark.parametrize("protocol", ControllerProtocol)
@pytest.mark.parametrize("name", INSTANCES)
def test_a_rehearsal_for_an_instance_names_the_calls_of_the_real_run_in_order(
    request, name, protocol
):
    ask, begins = INSTANCES[name]
    world = begin(request, begins, protocol)
    on = Power.ON if begins == "active" else Power.OFF
    as_seen(world, on)
    operation = ask(world)
    opened = world.operation(operation)
    rehearsal = Rehearsal(records=world.records, clock=world.clock, site=world.site)
    before = dump(world)
    new = replace(new_operation(BY_NAME[name], opened.who), parameters=opened.parameters)
    planned = world.do(rehearsal(world.server(), new, BY_NAME[name]))
    assert dump(world) == before
    world.do(world.walk_one(operation))
    assert world.operation(operation).status == "done"
    assert tuple(step.name for step in planned) == opened.steps
    assert lines(planned) == world.journal(operation)
    per_step = {step.name: [f"{c.door}: {c.text}" for c in step.calls] for step in planned}
    assert {step for step, calls in per_step.items() if calls} >= TOUCHING[name]


TOUCHING = {
    "deploy/1": {"off", "port-to-provisioning", "network-first", "port-to-tenant", "first-on"},
    "release/2": {"fence", "off-for-good", "port-to-quarantine", "rest", "port-at-rest"},
    "start/1": {"port-to-tenant", "disk-first", "on"},
    "start-from-off/1": {"off-gracefully", "port-to-tenant", "disk-first", "on"},
    "stop/1": {"off-gracefully", "port-at-rest"},
    "cut-off/1": {"off-or-unknown", "port-to-nowhere", "withdraw"},
    "reinstall/1": {"off-gracefully", "port-to-provisioning", "port-to-tenant", "first-on"},
    "reinstall-stopped/1": {"off-gracefully", "port-to-provisioning", "port-at-rest"},
    "reseed/1": {"off-gracefully", "port-to-provisioning", "port-to-tenant", "first-on"},
    "reseed-stopped/1": {"off-gracefully", "port-to-provisioning", "port-at-rest"},
    "rescue/1": {"off-gracefully", "port-to-provisioning", "network-first", "port-to-tenant"},
    "reboot/1": {"port-to-tenant", "off-gracefully", "disk-first", "on"},
}


def test_a_rehearsal_of_a_verification_names_its_calls(world, rehearse):
    store.enrol(world.database, "s3")
    speak_ipmi(world, "s3", driver=None)
    identity = store.ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")
    world.put_in_rack("s3", identity=identity)
    planned = rehearse(VERIFY, "s3")
    operation = world.open(VERIFY, "s3")
    world.do(world.walk_one(operation))
    assert lines(planned) == world.journal(operation, "s3")


def dump(world):
    with world.database.engine.connect() as connection:
        return list(connection.connection.driver_connection.iterdump())


@pytest.mark.parametrize("steps", [INSPECT, CLEAN, QUARANTINE, RETIRE], ids=lambda e: e.name)
def test_a_rehearsal_writes_nothing_and_calls_nobody(world, rehearse, steps):
    before = dump(world)
    rehearse(steps)
    assert dump(world) == before
    assert world.machines["s1"].calls == []
    assert world.ports.moves == []
    assert world.offers.log == []
    assert world.kept.files == {}


def test_a_rehearsal_takes_no_time(world, rehearse):
    began = world.clock.monotonic()
    rehearse(CLEAN)
    assert world.clock.monotonic() == began


def test_a_rehearsal_refuses_what_the_real_run_would_refuse(world, rehearse):
    with pytest.raises(InputError, match="DISK_NOT_FOUND"):
        rehearse(CLEAN, erase=["another"])
    c.baseline(lambda found: store.replace_disks(found, has_partition_table=True))(world)
    with pytest.raises(RackwrightError, match="--erase"):
        rehearse(CLEAN)
    world.ramdisk = None
    with pytest.raises(RackwrightError, match="RAMDISK_MISSING"):
        rehearse(CLEAN)
    world.ramdisk = RAMDISK


def test_asking_again_and_again_is_one_line():
    noted = CallsNoted()
    for text in ("read power", "read power", "power on", "read power"):
        noted.call("s1", "controller", text, "ok")
    assert noted.now == [
        PlannedCall(door="controller", text=text)
        for text in ("read power", "power on", "read power")
    ]
