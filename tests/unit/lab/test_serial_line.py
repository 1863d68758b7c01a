import asyncio
import time

from provisioner.lab.serial_line import BYTES_A_SECOND, KEPT, PART, SerialLine


class End:
    """What one end of the line has heard."""

    def __init__(self):
        self.heard, self.longest = b"", 0

    def write(self, part):
        self.heard += part
        self.longest = max(self.longest, len(part))

    def close(self):
        pass


async def says(serve, end, content):
    """One end comes, says something, and goes."""
    reader = asyncio.StreamReader()
    reader.feed_data(content)
    reader.feed_eof()
    await serve(reader, end)


def staying():
    """An end that says nothing."""
    return asyncio.StreamReader()


def test_all_of_it_arrives_in_order_in_small_parts_and_no_faster_than_the_line():
    content, controller = b"0123456789" * 60, End()

    async def carried():
        line = SerialLine()
        tasks = [
            asyncio.create_task(line.controller(staying(), controller)),
            asyncio.create_task(line.carry()),
        ]
        began = time.monotonic()
        await says(line.machine, End(), content[:300])
        await says(line.machine, End(), content[300:])  # the machine went off and on
        while len(controller.heard) < len(content):
            await asyncio.sleep(0.001)
        took = time.monotonic() - began
        for task in tasks:
            task.cancel()
        return took

    took = asyncio.run(carried())

    assert controller.heard == content
    assert controller.longest == PART
    assert took > 0.9 * (len(content) - PART) / BYTES_A_SECOND


def test_what_the_controller_says_reaches_the_machine_and_the_newest_controller_has_the_line():
    machine, old, new = End(), End(), End()

    async def carried():
        line = SerialLine()
        for end in (old, new):
            asyncio.get_running_loop().create_task(line.controller(staying(), end))
            await asyncio.sleep(0)
        stays = staying()
        tasks = [asyncio.create_task(each) for each in (line.machine(stays, machine), line.carry())]
        stays.feed_data(b"up")
        while not new.heard:
            await asyncio.sleep(0.001)
        await says(line.controller, End(), b"key")
        for task in tasks:
            task.cancel()

    asyncio.run(carried())

    assert (old.heard, new.heard, machine.heard) == (b"", b"up", b"key")


def test_a_server_that_is_much_quicker_than_the_line_fills_no_memory():
    async def kept():
        line = SerialLine()
        await says(line.machine, End(), bytes(KEPT + PART))
        return len(line._waiting)

    assert asyncio.run(kept()) == KEPT
