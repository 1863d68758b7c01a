import asyncio
import time

import pytest

from provisioner.testing.clock import FakeClock


def test_a_long_sleep_takes_no_time_and_moves_the_clock():
    clock, began = FakeClock(0.0), time.monotonic()
    asyncio.run(clock.sleep(86_400.0))
    assert clock.monotonic() == 86_400.0
    assert time.monotonic() - began < 1.0


def test_sleepers_wake_in_the_order_of_their_time():
    clock, woken = FakeClock(0.0), []

    async def sleeper(duration):
        await clock.sleep(duration)
        woken.append((duration, clock.monotonic()))

    async def all_of_them():
        await asyncio.gather(sleeper(3.0), sleeper(1.0), sleeper(2.0))

    asyncio.run(all_of_them())
    assert woken == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]


def test_a_cancelled_sleep_does_not_move_the_clock():
    clock = FakeClock(0.0)

    async def cancel_one():
        long = asyncio.create_task(clock.sleep(1_000.0))
        await clock.sleep(1.0)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        await clock.sleep(1.0)

    asyncio.run(cancel_one())
    assert clock.monotonic() == 2.0


def test_it_serves_one_loop_after_the_other():
    clock = FakeClock(0.0)
    for _ in range(2):
        asyncio.run(clock.sleep(5.0))
    assert clock.monotonic() == 10.0


def test_a_step_of_the_wall_clock_is_no_passing_of_time():
    clock = FakeClock(wall=100.0)
    clock.step_wall(-50.0)
    assert (clock.wall(), clock.monotonic()) == (50.0, 100.0)
