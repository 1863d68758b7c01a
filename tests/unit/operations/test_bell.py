"""Waiting: the truth is a row, the event only wakes."""

import asyncio
import threading

import pytest

from provisioner.errors import ConflictError
from provisioner.operations.bell import CLOSED, Bell
from provisioner.operations.lists import follow


def waiting(world, what, within=100.0, bell=None):
    bell = bell or world.bell
    return bell.wait(world.open_now().id, what, until=world.within(within))


@pytest.fixture
def operation(world):
    return world.ask_for_deployment()


def test_what_arrived_before_is_not_waited_for(world, operation):
    world.bell.ring(operation, "agent")
    began = world.clock.wall()
    assert world.do(waiting(world, "agent"))
    assert world.clock.wall() == began


def test_nothing_arrives_until_the_deadline(world, operation):
    began = world.clock.wall()
    assert not world.do(waiting(world, "agent"))
    assert world.clock.wall() - began == pytest.approx(100.0)


def test_a_deadline_that_has_passed_is_no_wait(world, operation):
    assert not world.do(waiting(world, "agent", within=-1.0))


def test_a_ring_wakes_all_who_wait_for_it_and_nobody_else(world, operation):
    async def three():
        tasks = [
            world.loop.create_task(waiting(world, what)) for what in ("agent", "agent", "other")
        ]
        await world.clock.sleep(1.0)
        world.bell.ring(operation, "agent")
        return await asyncio.gather(*tasks)

    assert world.do(three()) == [True, True, False]


def test_the_end_of_an_operation_wakes_whoever_waits_for_anything_of_it(world, operation):
    async def both():
        tasks = [world.loop.create_task(waiting(world, what)) for what in ("agent", CLOSED)]
        await world.clock.sleep(1.0)
        world.database.operations.cancel(operation, "ann", follow, now=world.clock.wall())
        world.bell.closed(operation)
        began = world.clock.wall()
        found = await asyncio.gather(*tasks)
        return found, world.clock.wall() - began

    assert world.do(both()) == ([True, True], 0.0)


def test_rows_that_another_process_wrote_are_found_by_the_next_round(world, operation):
    async def written():
        task = world.loop.create_task(waiting(world, "agent"))
        await world.clock.sleep(1.0)
        world.database.effects.arrived(operation, "agent")  # no ring
        began = world.clock.wall()
        return await task, world.clock.wall() - began

    found, took = world.do(written())
    assert found
    assert took <= world.round_s


def test_a_round_asks_nothing_while_nobody_waits(world):
    class Never:
        def __getattr__(self, name):
            pytest.fail(f"asked for {name}")

    world.do(Bell(effects=Never(), operations=Never(), clock=world.clock).round())


def test_many_waits_are_two_queries_a_round(world, operation):
    asked = []

    class Counted:
        def arrivals(self):
            asked.append("arrivals")
            return frozenset()

        def operations(self, **_):
            asked.append("operations")
            return (world.operation(operation),)

        def operation(self, _identifier):
            return world.operation(operation)

    bell = Bell(effects=Counted(), operations=Counted(), clock=world.clock)

    async def many():
        tasks = [world.loop.create_task(waiting(world, f"what {n}", bell=bell)) for n in range(200)]
        await world.clock.sleep(1.0)
        asked.clear()
        await bell.round()
        for task in tasks:
            task.cancel()
        return list(asked)

    assert world.do(many()) == ["arrivals", "operations"]


def test_who_gave_up_is_forgotten(world, operation):
    world.do(waiting(world, "agent", within=1.0))
    assert world.bell._waiters == {}


def test_a_ring_from_another_thread_wakes_too(world, operation):
    async def wait():
        task = world.loop.create_task(waiting(world, "agent"))
        await world.clock.sleep(0.0)
        ringing = threading.Thread(target=world.bell.ring, args=(operation, "agent"))
        ringing.start()
        ringing.join()
        return await task

    began = world.clock.wall()
    assert world.do(wait())
    assert world.clock.wall() - began < world.round_s


def test_nobody_rings_for_an_operation_that_never_was(world):
    with pytest.raises(ConflictError, match="OPERATION_UNKNOWN"):
        world.bell.ring("no such", "agent")
