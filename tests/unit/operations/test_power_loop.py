import asyncio
from types import SimpleNamespace

import pytest

from provisioner.errors import ErrorCode, TransientError
from provisioner.operations.power_loop import PowerLoop, is_stray
from provisioner.servers.model import Power, State
from tests.unit.operations.rig import PASSWORD, Rig, other_machine, server


class Store:
    """Servers and operations in a dictionary."""

    def __init__(self, *records):
        self.records = {each.name: each for each in records}
        self.open = []
        self.cycles = []
        self.fails = 0

    def servers(self):
        if self.fails:
            self.fails -= 1
            raise TransientError(ErrorCode.SERVICE_STOPPING, "not now")
        return tuple(self.records.values())

    def server(self, name):
        return self.records[name]

    def password(self, name):
        return PASSWORD

    def note_readings(self, readings):
        self.cycles.append(readings)

    def operations(self, *, open_only, most):
        assert open_only
        return tuple(SimpleNamespace(server=name) for name in self.open)


def loop_of(rig, store):
    strays = []

    async def on_stray(record):
        strays.append(record.name)

    loop = PowerLoop(
        servers=store,
        operations=store,
        conversations=rig.conversations,
        clock=rig.clock,
        every=15.0,
        every_moving=5.0,
        on_stray=on_stray,
    )
    return loop, strays


def many(count, **fields):
    rig = Rig()
    records = [server(f"n{n}", f"10.0.0.{n}", **fields) for n in range(1, count + 1)]
    for each in records[1:]:
        rig.add(each.controller.host)
    return rig, Store(*records)


def test_all_servers_are_read_at_once_and_stored_in_one_go():
    rig, store = many(20)
    began = rig.clock.monotonic()
    asyncio.run(loop_of(rig, store)[0].round())
    assert rig.clock.monotonic() - began < 1.0
    assert [len(cycle) for cycle in store.cycles] == [20]
    assert {reading.source for reading in store.cycles[0].values()} == {"loop"}
    assert not rig.journal.lines


def test_servers_at_rest_are_read_every_15_s_and_moving_ones_every_5_s():
    rig, store = many(3)
    store.records["n2"] = server("n2", "10.0.0.2", state=State.CLEANING)
    store.open = ["n3"]
    loop, _ = loop_of(rig, store)

    async def a_minute():
        for _ in range(13):
            began = rig.clock.monotonic()
            await loop.round()
            rig.clock.advance(5.0 - (rig.clock.monotonic() - began))

    asyncio.run(a_minute())
    reads = {name: sum(name in cycle for cycle in store.cycles) for name in store.records}
    assert 4 <= reads["n1"] <= 5
    assert 12 <= reads["n2"] <= 13
    assert 12 <= reads["n3"] <= 13


def test_a_silent_controller_is_unknown_and_holds_nobody_up_for_long():
    rig, store = many(3)
    rig.machine.stuck = True
    began = rig.clock.monotonic()
    readings = asyncio.run(loop_of(rig, store)[0].round())
    assert readings["n1"].power is Power.UNKNOWN
    assert "did not answer within 8 s" in readings["n1"].why
    assert {readings["n2"].power, readings["n3"].power} == {Power.OFF}
    assert rig.clock.monotonic() - began < 10.0


def test_another_machine_behind_the_address_is_unknown_too():
    rig, store = many(1)
    rig.machine.identity = other_machine()
    readings = asyncio.run(loop_of(rig, store)[0].round())
    assert readings["n1"].why.startswith("OTHER_MACHINE")


def test_a_controller_that_an_operation_speaks_with_is_left_out():
    rig, store = many(2)

    async def whole():
        async with rig.conversations.to(store.server("n1"), PASSWORD, source="operation"):
            return await loop_of(rig, store)[0].round()

    assert list(asyncio.run(whole())) == ["n2"]
    assert rig.machine.calls == []


@pytest.mark.parametrize("fields", [{"driver": None}, {"state": State.RETIRED}])
def test_unverified_and_retired_servers_are_left_alone(fields):
    rig, store = many(1, **fields)
    assert asyncio.run(loop_of(rig, store)[0].round()) == {}
    assert store.cycles == []


def test_a_dirty_server_without_owner_that_runs_is_told_of():
    rig, store = many(1, dirty=True, state=State.QUARANTINED)
    rig.machine.power = Power.ON
    loop, strays = loop_of(rig, store)
    asyncio.run(loop.round())
    assert strays == ["n1"]


def test_one_stray_that_cannot_be_acted_upon_hides_no_other():
    rig, store = many(3, dirty=True, state=State.QUARANTINED)
    for machine in rig.controllers.machines.values():
        machine.power = Power.ON
    loop, strays = loop_of(rig, store)
    told = loop._on_stray

    async def refuse_the_first(record):
        if record.name == "n1":
            raise TransientError(ErrorCode.DATABASE_BUSY, "not now")
        await told(record)

    loop._on_stray = refuse_the_first
    asyncio.run(loop.round())
    assert strays == ["n2", "n3"]


def test_one_with_an_open_operation_is_not():
    rig, store = many(1, dirty=True, state=State.CLEANING)
    rig.machine.power = Power.ON
    store.open = ["n1"]
    loop, strays = loop_of(rig, store)
    asyncio.run(loop.round())
    assert strays == []


def test_a_server_taken_while_it_was_read_is_not():
    rig, store = many(1, dirty=True, state=State.QUARANTINED)
    rig.machine.power = Power.ON

    def taken(readings):
        store.records["n1"] = server("n1", "10.0.0.1", dirty=True, state=State.DEPLOYING)

    store.note_readings = taken
    loop, strays = loop_of(rig, store)
    asyncio.run(loop.round())
    assert strays == []


def test_one_that_was_taken_since_all_were_looked_at_is_not():
    rig, store = many(1, dirty=True, state=State.QUARANTINED)
    rig.machine.power = Power.ON
    taken = server("n1", "10.0.0.1", dirty=True, state=State.DEPLOYING)
    store.server = lambda _name: taken
    loop, strays = loop_of(rig, store)
    asyncio.run(loop.round())
    assert strays == []


def test_what_is_somebody_s_is_looked_at_with_all_others_alone():
    rig, store = many(3, dirty=True, state=State.ACTIVE)
    for machine in rig.controllers.machines.values():
        machine.power = Power.ON
    store.server = pytest.fail
    loop, strays = loop_of(rig, store)
    asyncio.run(loop.round())
    assert strays == []


@pytest.mark.parametrize("power", [Power.OFF, Power.UNKNOWN])
def test_what_is_not_seen_on_is_no_stray(power):
    rig, store = many(1, dirty=True, state=State.QUARANTINED)
    rig.machine.power = power
    loop, strays = loop_of(rig, store)
    asyncio.run(loop.round())
    assert strays == []


@pytest.mark.parametrize(
    ("fields", "stray"),
    [
        ({"state": State.QUARANTINED}, True),
        ({"state": State.CLEANING}, True),
        ({"state": State.RELEASING}, True),
        ({"state": State.ENROLLED}, True),
        ({"state": State.ENROLLED, "found_on": True}, False),
        ({"state": State.ACTIVE}, False),
        ({"state": State.DEPLOYING}, False),
        ({"state": State.RESCUE}, False),
        ({"state": State.QUARANTINED, "dirty": False}, False),
    ],
)
def test_whose_server_is_it(fields, stray):
    assert is_stray(server(**{"dirty": True, **fields})) is stray


def test_a_round_that_fails_is_tried_again():
    rig, store = many(1)
    store.fails = 1
    loop, _ = loop_of(rig, store)

    async def until_read():
        running = asyncio.create_task(loop.run())
        async with asyncio.timeout(10.0):
            while not store.cycles:
                await asyncio.sleep(0.01)
        running.cancel()

    asyncio.run(until_read())
    assert store.fails == 0
