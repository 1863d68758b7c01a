"""A dry run says what the real run does, call by call, and leaves no trace."""

from dataclasses import replace

import pytest

from provisioner.errors import InputError, RackwrightError
from provisioner.operations.desk import PlannedCall
from provisioner.operations.inspect import INSPECT, VERIFY
from provisioner.operations.quarantine import QUARANTINE, RETIRE
from provisioner.operations.rehearsal import CallsNoted, Rehearsal
from provisioner.operations.release import CLEAN
from provisioner.operations.steps import new_operation
from provisioner.servers.model import ControllerDriver, ControllerProtocol, Power
from provisioner.testing import store
from tests.unit.operations import causes as c
from tests.unit.operations.world import RAMDISK

IPMI = ControllerProtocol.IPMI


def speak_ipmi(world, name="s1", driver=ControllerDriver.PYGHMI):
    record = world.server(name)
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
