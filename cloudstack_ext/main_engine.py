"""The loop of operations: steps, power loop, housekeeping and consoles share it."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from cloudstack_ext.main_outside import MakeOutside
from cloudstack_ext.main_parts import Parts
from provisioner.operations.bell import EVERY
from provisioner.operations.consoles import Consoles
from provisioner.operations.conversation import Conversations
from provisioner.operations.doors import Doors
from provisioner.operations.housekeeping import Housekeeping, Kept, close_lost
from provisioner.operations.lists import STEPS, follow
from provisioner.operations.power_loop import PowerLoop
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.runner import Runner
from provisioner.operations.steps import new_operation
from provisioner.servers.model import ServerRecord
from provisioner.store.waiting import stored
from provisioner.units import Seconds, ServerName, WallSeconds

log = logging.getLogger(__name__)


class Engine:
    """The loop of operations, in a thread of its own.

    Attributes:
        failure: What ended it, other than `stop`: half a service is none, so it ends whole.
    """

    def __init__(self, parts: Parts, make_outside: MakeOutside) -> None:
        self._parts, self._make_outside = parts, make_outside
        self._ready = threading.Event()
        self.failure: BaseException | None = None
        self._tell: Callable[[], object] = lambda: None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)
        self.conversations: Conversations | None = None

    def start(self) -> None:
        """Return when what was in flight goes on and what was lost is closed.

        Raises:
            RackwrightError: It cannot start.
        """
        self._thread.start()
        self._ready.wait()
        if self.failure is not None:
            raise self.failure

    def when_it_fails(self, tell: Callable[[], object]) -> None:
        """Told from the engine's thread, or at once where it has failed already."""
        self._tell = tell
        if self.failure is not None:
            tell()

    def stop(self) -> None:
        """Let go of everything; what is open goes on at the next start."""
        self._tell = lambda: None
        if self._loop is not None and self._stopping is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself, and its loop with it
                self._loop.call_soon_threadsafe(self._stopping.set)
            self._thread.join(timeout=10.0)

    def left_alone(self) -> tuple[ServerName, ...]:
        """Servers whose controller nobody asks for a while."""
        if self.conversations is None:
            return ()
        addresses = self.conversations.left_alone()
        return tuple(
            each.name
            for each in self._parts.records.servers.servers()
            if f"{each.controller.host}:{each.controller.port}" in addresses
        )

    def _run(self) -> None:
        try:
            asyncio.run(self._live())
        except BaseException as error:
            self.failure = error
            log.exception("the engine ended")
            self._tell()
        finally:
            self._ready.set()

    async def _live(self) -> None:
        parts = self._parts
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        doors = self._doors()
        self.conversations = doors.conversations
        if not parts.held:
            await self._launch(doors)
        self._ready.set()
        loops = [parts.bell.run(), self._power_loop(doors).run()]
        if not parts.held:
            housekeeping = Housekeeping(
                records=parts.records,
                machines=parts.machines,
                clock=parts.clock,
                forget=parts.durable.forget,
                kept=_kept(parts),
            )
            loops += [housekeeping.run(), parts.reconciler.run(), parts.explainer.run()]
        try:
            await self._live_on(loops)
        finally:
            # steps first: what they wait for goes away with the durable engine's threads
            await _let_go()
            if not parts.held:
                await asyncio.to_thread(parts.durable.stop)

    async def _live_on(self, loops: list[Coroutine[Any, Any, None]]) -> None:
        """Until stopped; raises what ends one of the loops, none of which ends by itself."""
        assert self._stopping is not None
        stopped = asyncio.ensure_future(self._stopping.wait())
        running = [asyncio.ensure_future(each) for each in loops]
        await asyncio.wait([stopped, *running], return_when=asyncio.FIRST_COMPLETED)
        ended = [each for each in running if each.done()]
        for each in running:
            each.cancel()
        for each in ended:
            await each

    async def _launch(self, doors: Doors) -> None:
        """What was in flight goes on, in this loop; a held service only looks (invariant 16)."""
        parts = self._parts
        runner = Runner(
            doors=doors,
            steps=STEPS,
            follow=follow,
            started=parts.clock.monotonic(),
            watch=parts.metrics,
        )
        await parts.durable.launch(steps_of=runner.steps_of, run_step=runner.run)
        # in a thread: the engine refuses to be asked from a running loop
        closed = await asyncio.to_thread(
            close_lost, parts.records, parts.durable.lost, follow, parts.clock
        )
        if closed:
            log.warning("%d operations were lost and are closed", closed)

    def _doors(self) -> Doors:
        parts = self._parts
        outside = self._make_outside(parts.settings)
        return Doors(
            records=parts.records,
            conversations=Conversations(outside.controllers, parts.clock, parts.database.calls),
            ports=outside.ports,
            offers=outside.offers,
            clock=parts.clock,
            bell=parts.bell,
            consoles=Consoles(kept=parts.files),
            site=parts.site,
        )

    def _power_loop(self, doors: Doors) -> PowerLoop:
        held = self._parts.held
        times, records, clock = self._parts.settings.times, self._parts.records, self._parts.clock

        async def quarantine(server: ServerRecord) -> None:
            log.warning("dirty, without an owner, and on", extra={"server": server.name})
            if held:
                return
            new = new_operation(QUARANTINE, "power loop")
            await stored(partial(records.operations.open, server.name, new, now=clock.wall()))

        return PowerLoop(
            servers=records.servers,
            operations=records.operations,
            conversations=doors.conversations,
            clock=clock,
            every=Seconds(times.power_read_s),
            every_moving=Seconds(times.power_read_moving_s),
            on_stray=quarantine,
        )


def _kept(parts: Parts) -> tuple[Kept, ...]:
    """What goes when it is old: the rest is history."""
    days, open_now = parts.settings.retention, parts.records.operations.operations

    def forget_files(before: WallSeconds) -> int:
        running = [each.id for each in open_now(open_only=True, most=EVERY)]
        return parts.files.forget(before, running)

    return (
        Kept(what="calls", days=days.calls_days, forget=parts.database.calls.forget),
        Kept(what="operations' files", days=days.operation_files_days, forget=forget_files),
    )


LET_GO_S = 5.0


async def _let_go() -> None:
    """End every other task of this loop; an open step stays open and goes on at the next start."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for each in others:
        each.cancel()
    if others:
        await asyncio.wait(others, timeout=LET_GO_S)
