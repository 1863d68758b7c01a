"""One site in memory: the real store, operations and runner; machines, ports and agents that
are fakes; and time that is the tests'.

Operations are walked by the runner in the durable engine's order: one a server at a time, the
next when the act of the one before has ended, all steps again after a crash.
"""

import asyncio
import dataclasses
import pickle
from collections import defaultdict

import sqlalchemy as sa

from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.alarms import AlarmBell
from provisioner.operations.bell import Bell
from provisioner.operations.consoles import Consoles
from provisioner.operations.conversation import Conversations
from provisioner.operations.doors import Doors, Records, Site
from provisioner.operations.housekeeping import Housekeeping
from provisioner.operations.lists import STEPS, follow
from provisioner.operations.machines import BareMetal
from provisioner.operations.runner import Runner
from provisioner.operations.steps import new_operation
from provisioner.ports.controllers import BootDevice, PowerAct
from provisioner.servers.allocation import InstanceRequest
from provisioner.servers.model import Placement, Power
from provisioner.testing import store
from provisioner.testing.agent import FakeAgent
from provisioner.testing.controller import FakeControllers, FakeMachine
from provisioner.testing.loop import VirtualClock, VirtualLoop
from provisioner.testing.ports import FakeOffers
from tests.unit.operations.doubles import (
    ONE,
    PACE,
    RAMDISK,
    REQUEST,
    TIMES,
    Calls,
    Effects,
    Kept,
    Killed,
    WatchedPorts,
    image,
    make_seed,
    placed,
    tenant,
)
from tests.unit.store.fast import fast

__all__ = ["ONE", "RAMDISK", "REQUEST", "Killed", "World", "image", "make_seed", "placed", "tenant"]


class World:
    """What there is, and the service in it.

    `trespasses` has what must never happen and did; a test's end looks at it. A world that is
    closed goes on where another one is made of (a copy of) its folder.
    """

    def __init__(self, folder, *, times=TIMES, pace=PACE):
        rack = _rack_in(folder)
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop, rack["wall"] + 1.0)
        self.times, self.pace = times, pace
        self.trespasses = []
        self.waiting, self.told = defaultdict(list), asyncio.Event()
        self.folder = folder
        self.database = fast(store.open_store(folder, self.clock, self._handed_over))
        self.controllers = FakeControllers(self.clock)
        self.ports = WatchedPorts(self._moved)
        self.offers = FakeOffers()
        self.kept = Kept()
        self.machines, self.agents = {}, {}
        self.held, self.round_s = "", 10.0
        self.ramdisk = RAMDISK
        self.running = {}
        self.calls = Calls(self.running)
        self.effects = Effects(self.database.effects)
        self._begin_service()
        for record in self.database.servers.servers():
            self.put_in_rack(record.name)
        self._goes_on_as(rack)

    # --- the rack
    def put_in_rack(self, name, **behaviour):
        """The machine and the port behind a record, as the record says that they are."""
        record = self.server(name)
        usual = {
            "identity": record.identity,
            "password": f"password of {name}",
            "console": (b"boot\r\n", b"login: "),
        }
        machine = FakeMachine(clock=self.clock, **{**usual, **behaviour})
        self.controllers.add(record.controller.host, machine, record.controller.port)
        agent = FakeAgent(
            machine=machine,
            record=lambda: self.server(name),
            boots=self.database.boots,
            orders=self.database.orders,
            seed_store=self.database.seeds,
            bell=self.bell,
            ports=self.ports,
            offers=self.offers,
            boots_s=5.0,
        )
        machine.on_power += [lambda power: self._powered(name, power), agent.on_power]
        self.machines[name], self.agents[name] = machine, agent

    def _goes_on_as(self, rack):
        self.ports._places.update(rack["places"])
        self.offers.offered.update(rack["offered"])
        for name, (fields, done) in rack["machines"].items():
            machine, agent = self.machines[name], self.agents[name]
            for field, value in fields.items():
                setattr(machine, field, value)
            if self.open_now(name) is None:  # what was is history
                machine.booted_from = []
                continue
            agent.done += done
            if machine.power is Power.ON and machine.booted_from[-1:] == [BootDevice.NETWORK]:
                self.do(agent.go_on())
        self._hand_over_what_is_open()

        # the engine has these checkpoints; after a crash it may have lost them
        self.checkpointed = {
            (each, effect.step)
            for of in self.waiting.values()
            for each in of
            for effect in self.database.effects.effects(each)
            if effect.done
        }

    def _hand_over_what_is_open(self):
        for each in reversed(self.database.operations.operations(open_only=True, most=1000)):
            self._handed_over(None, each.id, each.server)

    def _leave_rack(self):
        kept = ("power", "boot", "nonce", "booted_from")
        machines = {
            name: (
                {field: getattr(machine, field) for field in kept},
                self.agents[name].done,
            )
            for name, machine in self.machines.items()
            if machine.settled()
        }
        rack = {
            "wall": self.clock.wall(),
            "machines": machines,
            "places": dict(self.ports._places),
            "offered": self.offers.offered,
        }
        (self.folder / "rack").write_bytes(pickle.dumps(rack))

    def _powered(self, name, power):
        if power is Power.OFF:
            return
        server, owner = self.server(name), self.owner(name)
        device = self.machines[name].booted_from[-1]
        leads = self.ports.leads(f"tap-{name}").placement
        if device is not BootDevice.NETWORK and owner is None:
            self.trespasses.append(f"{name} starts from its disk and is nobody's")
        if device is BootDevice.NETWORK and leads is Placement.TENANT:
            self.trespasses.append(f"{name} starts the agent in a tenant's network")
        if device is BootDevice.DISK and leads is Placement.PROVISIONING:
            self.trespasses.append(f"{name} starts from its disk in the provisioning network")
        if device is BootDevice.DISK and not server.dirty:
            self.trespasses.append(f"{name} starts for a tenant and counts as clean")

    def _moved(self, port, wanted):
        name = port.removeprefix("tap-")
        if name not in self.machines:
            return
        is_on = self.machines[name].settled() is Power.ON
        if wanted.placement is Placement.TENANT and self.owner(name) is None:
            self.trespasses.append(f"{port} leads to a tenant and {name} is nobody's")
        if wanted.placement is Placement.PROVISIONING and is_on:
            self.trespasses.append(f"{port} leads to us and {name} is on")

    def owner(self, name):
        living = self.database.allocations.living()
        return next((each for each in living if each.server == name), None)

    # --- the service
    def _begin_service(self):
        database = self.database
        self.records = Records(
            servers=database.servers,
            observations=database.observations,
            allocations=database.allocations,
            operations=database.operations,
            effects=self.effects,
            boots=database.boots,
            orders=database.orders,
            seeds=database.seeds,
            evidence=database.evidence,
            catalogue=database.catalogue,
            calls=self.calls,
            turns=database.turns,
        )
        self.bell = Bell(
            effects=self.records.effects, operations=self.records.operations, clock=self.clock
        )
        self.site = Site(
            name="lab",
            blobs_url="http://rack.example.org/blobs",
            agent_url="https://rack.example.org",
            ramdisk=self._ramdisk,
            site_initrd_sha256="s" * 64,
            times=self.times,
            pace=self.pace,
        )
        self.doors = Doors(
            records=self.records,
            conversations=Conversations(
                self.controllers, self.clock, self.calls, jitter=lambda: 0.5
            ),
            ports=self.ports,
            offers=self.offers,
            clock=self.clock,
            bell=self.bell,
            consoles=Consoles(kept=self.kept),
            site=self.site,
        )
        self.runner = Runner(
            doors=self.doors, steps=STEPS, follow=follow, started=self.clock.monotonic()
        )
        self.bare_metal = BareMetal(
            records=self.records,
            bell=self.bell,
            clock=self.clock,
            times=self.times,
            make_seed=make_seed,
            check_seed=lambda request: None,
            held=self.held,
        )
        self.housekeeping = Housekeeping(
            records=self.records,
            machines=self.bare_metal,
            clock=self.clock,
            forget=lambda _before: 0,
        )
        self.alarms = AlarmBell(
            bell=self.bell, records=self.records, follow=follow, clock=self.clock
        )
        self.tasks = [self.loop.create_task(self._rounds())]
        self.walkers = {}

    async def _rounds(self):
        """The bell's rounds, less often than in the service: a test pays for each."""
        while True:
            await self.bell.round()
            await self.clock.sleep(self.round_s)

    def _ramdisk(self):
        if self.ramdisk is None:
            raise OperatorError(ErrorCode.RAMDISK_MISSING, "no ramdisk was built")
        return self.ramdisk

    def crash(self):
        """The process is gone and another one begins; what was in flight goes on."""

        async def end():
            for task in self.tasks:
                task.cancel()
            await asyncio.gather(*self.tasks, return_exceptions=True)

        self.loop.run_until_complete(end())
        self.calls.die_at = None
        self._begin_service()
        for agent in self.agents.values():
            agent.bell = self.bell
        self.waiting.clear()
        self.checkpointed = set()
        self._hand_over_what_is_open()

    def _handed_over(self, _connection, operation, server):
        self.waiting[server].append(operation)
        self.told.set()

    async def walk_all(self):
        """Every operation that was handed over, and what follows it, each server on its own."""
        while any(self.waiting.values()):
            await asyncio.gather(*(self._walk(name) for name in list(self.waiting)))

    async def _walk(self, server):
        while self.waiting[server]:
            await self.walk_one(self.waiting[server].pop(0))

    async def walk_one(self, operation):
        self.running[self.operation(operation).server] = operation
        for step in await self.runner.steps_of(operation):
            if (operation, step) in self.checkpointed:
                continue
            if await self.runner.run(operation, step) != "done":
                return

    async def walk_step(self, operation, last):
        """The first steps of an operation, this one included."""
        self.running[self.operation(operation).server] = operation
        for step in await self.runner.steps_of(operation):
            assert await self.runner.run(operation, step) == "done"
            if step == last:
                return

    async def _walk_for_ever(self):
        while True:
            for server in list(self.waiting):
                if server not in self.walkers or self.walkers[server].done():
                    self.walkers[server] = self.loop.create_task(self._walk(server))
                    self.tasks.append(self.walkers[server])
            await self.told.wait()
            self.told.clear()

    # --- what tests do
    def when(self, step, act):
        """Let something happen outside once this step has begun."""
        self.effects.at_begin[step] = act

    def do(self, act):
        """Run one act to its end; nothing else goes on but bells and agents."""
        return self.loop.run_until_complete(act)

    def walk(self):
        """All operations to their end."""
        self.do(self.walk_all())

    def live(self, act):
        """Run an act to its end while operations are walked, as in the service."""

        async def both():
            walking = self.loop.create_task(self._walk_for_ever())
            self.tasks.append(walking)
            try:
                return await act
            finally:
                walking.cancel()

        return self.loop.run_until_complete(both())

    def until(self, is_so, within=3600.0):
        """Let the service live until something is so."""

        async def wait():
            by = self.clock.monotonic() + within
            while not is_so():
                assert self.clock.monotonic() < by, "it never came"
                await self.clock.sleep(1.0)

        self.live(wait())

    def pass_time(self, seconds):
        self.live(self.clock.sleep(seconds))

    def within(self, seconds):
        return self.clock.monotonic() + seconds

    def open(self, steps, name="s1", **parameters):
        """An operator's operation."""
        new = dataclasses.replace(new_operation(steps, "ann"), parameters=parameters)
        return self.database.operations.open(name, new, now=self.clock.wall()).id

    def ask_for_deployment(self, request: InstanceRequest = REQUEST):
        """As `create` does, without waiting for its end; answers the operation."""
        allocation = self.do(self.bare_metal._open_deployment(request))
        return allocation.operation

    def ask_for_release(self, request: InstanceRequest = REQUEST):
        self.do(self.bare_metal.release(request.key, "lab: delete", until=self.clock.monotonic()))
        return self.open_now("s1").id

    def power(self, act, request=REQUEST, within=1800.0):
        act = self.bare_metal.power(request, PowerAct(act), until=self.within(within))
        return self.live(act)

    # --- what tests look at
    def server(self, name="s1"):
        return self.database.servers.server(name)

    def state(self, name="s1"):
        return self.server(name).state

    def allocation(self, request=REQUEST):
        return self.database.allocations.allocation(request.key)

    def operation(self, identifier):
        return self.database.operations.operation(identifier)

    def history(self, name="s1"):
        """Kinds and ends, oldest first, without those that made the server available."""
        found = self.database.operations.operations(server=name)
        return [(str(each.kind), each.status) for each in reversed(found)][3:]

    def kinds(self, name="s1"):
        found = self.database.operations.operations(server=name)
        return [str(each.kind) for each in reversed(found)]

    def open_now(self, name="s1"):
        found = self.database.operations.operations(open_only=True, server=name)
        return found[0] if found else None

    def journal(self, operation=None, name="s1"):
        """Calls in order, the same again and again once; `door: text`."""
        lines = [
            text
            for server, of, text, _ in self.calls.made
            if server == name and operation in {None, of}
        ]
        return [b for a, b in zip(["", *lines], lines, strict=False) if a != b]

    def results(self, operation):
        return {each.step: each.result for each in self.database.effects.effects(operation)}

    def seeds(self):
        """Of which operations a seed is kept."""
        query = sa.text("SELECT operation FROM seed")
        with self.database.engine.connect() as connection:
            return list(connection.scalars(query))

    def leads(self, name="s1"):
        return self.ports.leads(f"tap-{name}")

    def placement(self, name="s1"):
        return self.leads(name).placement

    def power_of(self, name="s1"):
        return self.machines[name].settled()

    def close(self):
        async def end():
            mine = asyncio.current_task()
            others = [task for task in asyncio.all_tasks() if task is not mine]
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.loop.run_until_complete(end())
        self._leave_rack()
        self.loop.close()
        self.database.close()


def _rack_in(folder):
    new = {"wall": 1_800_000_000.0, "machines": {}, "places": {}, "offered": {}}
    path = folder / "rack"
    return pickle.loads(path.read_bytes()) if path.exists() else new
