"""The process that test_durable_kill starts, kills and starts again.

It has the product's store and its door to the durable engine. The world is a file of lines:
each act leaves one, on disk before the act returns. Every act takes a moment on either side
of its line, so that whoever watches the file can end the process there; nothing in here
knows that it will be.

Requests are files in the folder: NAME.create (a deployment of instance NAME), NAME.agent (its
agent called in), NAME.delete (its release).
"""

import asyncio
import os
import signal
import sys
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from provisioner.adapters.clock import SystemClock
from provisioner.durable import Durable
from provisioner.errors import ErrorCode, RackwrightError
from provisioner.servers.operation import Outcome, Status
from provisioner.servers.states import Ending, Intent
from provisioner.store.engine import url_of
from provisioner.store.waiting import stored
from provisioner.testing import store
from provisioner.units import OperationId, WallSeconds

MOMENT_S = 0.12
AGENT_WAIT_S = 600.0
LISTS = {
    "deploy/1": ("off", "network", "on", "agent", "image", "proof"),
    "deploy/2": ("off", "identity", "network", "on", "agent", "image", "proof"),
    "release/1": ("fence", "wipe"),
    "quarantine/1": ("off", "shut"),
}
ONCE = frozenset({"image", "wipe"})
"""Not to be done twice: a run that finds a beginning without an end looks at the world."""


class World:
    """What was done, in order, by whatever process did it."""

    def __init__(self, path):
        self.path = path

    def note(self, line):
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, f"{line}\n".encode())
        os.fsync(descriptor)
        os.close(descriptor)
        time.sleep(MOMENT_S)

    def lines(self):
        return self.path.read_text().splitlines() if self.path.exists() else []


class Steps:
    """A runner in small: fence, effect record, act, record, end."""

    def __init__(self, database, world):
        self.database, self.world = database, world
        self.clock = SystemClock()

    async def steps_of(self, identifier):
        record = await stored(self.database.operations.operation, OperationId(identifier))
        return list(record.steps)

    async def run(self, identifier, step):
        try:
            return await self._run(OperationId(identifier), step)
        except RackwrightError as error:
            if error.code is ErrorCode.SUPERSEDED:
                return "failed"
            raise

    async def _run(self, operation, step):
        now = self.clock.wall()
        begin = partial(self.database.effects.begin, operation, step, now=now, dirties=step == "on")
        effect = await stored(begin)
        record = await stored(self.database.operations.operation, operation)
        if effect.done is None:
            if step == "agent":
                await self._agent(record)
            elif not (effect.again and step in ONCE and self._seen(record, step)):
                await self._act(record, step)
            await stored(self.database.effects.finish, operation, step, {}, now=now)
            await asyncio.to_thread(self.world.note, f"{record.who} {step} recorded")
        if step == record.steps[-1]:
            await stored(close, self.database, record.id, Outcome(ending=Ending.DONE))
            await asyncio.to_thread(self.world.note, f"{record.who} {record.kind} closed")
        return "done"

    async def _act(self, record, step):
        await asyncio.to_thread(self.world.note, f"{record.who} {step} begins")
        if step == "wipe":
            append = self.database.evidence.append_and_clean
            await stored(append, record.id, {"server": record.server})
        await asyncio.to_thread(self.world.note, f"{record.who} {step} done")

    def _seen(self, record, step):
        return f"{record.who} {step} done" in self.world.lines()

    async def _agent(self, record):
        key = (record.id, "agent")
        until = self.clock.wall() + AGENT_WAIT_S
        while self.clock.wall() < until:
            if key in await stored(self.database.effects.arrivals):
                return
            now = await stored(self.database.operations.operation, record.id)
            if now.status is not Status.OPEN:
                return  # the next beginning says by whom it was superseded
            await asyncio.sleep(0.1)


def close(database, identifier, outcome):
    record = database.operations.operation(identifier)
    follow = store.follow(record, outcome)
    listed = follow and (lambda server: with_list(follow(server), "1"))
    database.operations.close(identifier, outcome, listed, now=SystemClock().wall())


def with_list(new, number):
    name = f"{new.kind}/{number}"
    return replace(new, steps_name=name, steps=LISTS[name])


def serve(folder, database, world, number, stop):
    """Until stopped; a request's file goes when its move is committed."""
    while not stop.wait(0.03):
        for path in sorted(folder.glob("*.create")):
            new = with_list(store.operation(Intent.DEPLOY, who=path.stem), number)
            request = store.instance_request(path.stem)
            allocate = database.allocations.allocate_and_open
            allocate(request, "tiny", new, now=SystemClock().wall())
            world.note(f"{path.stem} create committed")
            path.unlink()
        for path in sorted(folder.glob("*.agent")):
            allocation = database.allocations.allocation(store.instance_request(path.stem).key)
            if allocation is not None:
                database.effects.arrived(allocation.operation, "agent")
                path.unlink()
        for path in sorted(folder.glob("*.delete")):
            new = with_list(store.operation(Intent.RELEASE, who=path.stem), "1")
            key = store.instance_request(path.stem).key
            end = database.allocations.end_and_open
            end(key, "deleted", new, tombstone=True, now=SystemClock().wall())
            path.unlink()


def main(folder, number):
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    world = World(folder / "world")
    durable = Durable(url_of(folder / "rackwright.db"), site="lab")

    def hand_over(connection, operation, server):
        durable.enqueue(connection, operation, server)
        world.note(f"{server} handed over")  # not yet committed

    database = store.open_store(folder, SystemClock(), hand_over)
    steps = Steps(database, world)
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    launched = durable.launch(steps_of=steps.steps_of, run_step=steps.run)
    asyncio.run_coroutine_threadsafe(launched, loop).result()
    still_open = [each.id for each in database.operations.operations(open_only=True)]
    for identifier, how in durable.lost(still_open).items():
        outcome = Outcome(ending=Ending.MACHINE, code=ErrorCode.OPERATION_LOST, brief=how)
        close(database, identifier, outcome)
    (folder / "ready").touch()
    serve(folder, database, world, number, stop)
    forgotten = durable.forget(WallSeconds(SystemClock().wall() + 1)) if number == "forget" else 0
    durable.stop()
    (folder / "stopped").write_text(str(forgotten))
    os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
