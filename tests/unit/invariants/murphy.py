"""A world in which everything happens at any time, and what must hold at every moment."""

import asyncio
import random
import re
from contextlib import suppress
from dataclasses import replace

from provisioner.errors import RackwrightError
from provisioner.operations import desk, desk_records, desk_servers
from provisioner.operations.lists import follow
from provisioner.operations.power_loop import PowerLoop
from provisioner.operations.quarantine import QUARANTINE
from provisioner.operations.release import RELEASE
from provisioner.operations.steps import new_operation
from provisioner.ports.controllers import BootDevice, PowerAct
from provisioner.ports.machines import as_it_is
from provisioner.servers.allocation import Phase
from provisioner.servers.model import ControllerDriver, Placement, Power, State
from provisioner.servers.states import Intent
from provisioner.servers.turns import HOUR_S, Pace
from provisioner.testing import store
from tests.unit.operations.changing import LOGIN, Asking
from tests.unit.operations.world import ONE, REQUEST

ANN = desk.Operator(name="ann", role="admin", by="uid 0")
INSTANCES = [REQUEST, *(store.instance_request(f"{n}" * 8 + ONE[8:]) for n in "23")]
SERVERS = ("s1", "s2")
RACES = 0.03
LATE = "starts from its disk and is nobody's"
"""A button takes time; whoever had the server when it was pressed may have left since."""
CUT_OFF = Placement.SHUT
"""What is left where nobody can switch it off; the power loop goes on looking."""
AT_REST = {State.AVAILABLE, State.RESERVED, State.QUARANTINED, State.ACTIVE, State.RESCUE}
KINDS = ["write_image", "write_seed", "rescue", "erase", "verify", "mark"]


class Murphy:
    """One seed's story."""

    pace, servers = Pace(), SERVERS
    foreign = frozenset()
    """Found running: what they carry is nobody's of ours before they are adopted."""

    def __init__(self, world, seed):
        self.world, self.dice, self.told = world, random.Random(seed), []
        for name in self.servers:
            world.database.servers.change(name, driver=ControllerDriver.SUSHY)
        world.pace = self.pace
        world.crash()
        self.by_hand, self.racing = set(), True
        self.acts = [
            *[self.verb] * 8,
            *[self.desk] * 3,
            *[self.fault] * 3,
            self.mend,
            self.mend,
            self.hand,
            self.crash,
            self.rounds,
            self.alarm,
        ]
        self.races = [
            ("deleted", self._delete),
            ("deleted", self._delete),
            ("quarantined", lambda name: self._open(name, QUARANTINE)),
            ("cancelled", self._cancel),
            ("off by hand", lambda name: self._at_once(name, PowerAct.OFF)),
            ("silent", lambda name: setattr(self.world.machines[name], "silent", True)),
        ]
        self.pressed, self.opens = [], world.controllers.open
        world.controllers.open = self.open_controller
        self.begin_of_step = world.effects.begin
        world.effects.begin = self.begin_step

    def live(self, acts):
        """So many acts, each followed by some time; what must hold is looked at after each."""
        for _ in range(acts):
            act = self.dice.choice(self.acts)
            with suppress(RackwrightError):
                act()
            self.pass_time(self.dice.choice([0.1, 1.0, 5.0, 20.0, 60.0]))
            self.look(str(self.told[-1:]))

    def settle(self):
        """Everything is mended, and time passes: what then stays must be at rest or in use."""
        self.racing = False
        for name in self.servers:
            self._mend(name)
        for _ in range(4):
            self.pass_time(400.0)
            self.rounds()
        for _ in self.servers:  # one of them may wait for the other's hour
            self.pass_time(HOUR_S)
            self.rounds()
        self.pass_time(400.0)
        self.look("at the end")
        self.look_at_rest()

    # --- what happens
    def tell(self, *words):
        self.told.append(" ".join(map(str, words)))

    def pass_time(self, seconds):
        self.world.live(self.world.clock.sleep(seconds))

    def verb(self):
        machines, until = self.world.bare_metal, self.world.within(self.dice.choice([0.5, 20.0]))
        one = self.dice.choice(INSTANCES)
        name, call = self.dice.choice(
            [
                ("prepare", lambda: machines.reserve(one)),
                ("create", lambda: machines.deploy(one, until=until)),
                ("create", lambda: machines.deploy(one, until=until)),
                ("create", lambda: machines.deploy(one, until=until)),
                ("start", lambda: machines.power(one, PowerAct.ON, until=until)),
                ("stop", lambda: machines.power(one, PowerAct.OFF, until=until)),
                ("reboot", lambda: machines.power(one, PowerAct.CYCLE, until=until)),
                ("delete", lambda: machines.release(one.key, "lab", until=until)),
                ("status", lambda: machines.observe(one.key)),
                ("reinstall", lambda: self.change("reinstall", one, until)),
                ("reseed", lambda: self.change("reseed", one, until)),
                ("rescue", lambda: self.change("rescue", one, until)),
            ]
        )
        if name == "delete" and self.dice.random() < 0.5:
            return
        if name in {"reinstall", "reseed", "rescue"}:
            self.rounds()  # none begins on a machine whose power was not read just now
        self.tell(name, one.key.instance[0])
        self.begin(call())

    async def change(self, name, one, until):
        """As an action asks, in whichever state CloudStack holds the instance."""
        action = replace(one, pool=None, image=None, networks=(), ssh_keys=(LOGIN,))
        asking = Asking(self.world)
        ends = self.dice.choice([Power.ON, Power.ON, Power.OFF])
        if name == "rescue":
            return await asking.changes.rescue(action, until=until)
        act = getattr(asking.changes, name)
        return await act(action, ends=ends, certify=as_it_is, until=until)

    def begin(self, call):
        """In the background, as a caller who may go away."""

        async def quietly():
            with suppress(RackwrightError, asyncio.CancelledError):
                await call

        self.world.tasks.append(self.world.loop.create_task(quietly()))

    def desk(self):
        name = self.dice.choice(self.servers)
        baseline = self.world.server(name).baseline
        serials = tuple(disk.serial for disk in baseline.disks) if baseline else ()
        act = self.dice.choice(
            [
                desk.Quarantine(reason="x"),
                desk.Provide(erase=serials),
                desk.Provide(),
                desk.Inspect(),
                desk.Verify(),
                "cancel",
                "retry",
            ]
        )
        self.tell(name, act)
        parts = {"records": self.world.records, "audit": self.world.database.audit}
        if act in {"cancel", "retry"}:
            operations = desk_records.Operations(
                **parts,
                clock=self.world.clock,
                bell=self.world.bell,
                kept=self.world.kept,
                rehearse=None,
            )
            last = self.world.database.operations.operations(server=name)[0].id
            self.world.do(getattr(operations, act)(last, ANN, dry_run=False))
            return
        servers = desk_servers.Servers(
            **parts,
            clock=self.world.clock,
            rehearse=None,
            ramdisk=self.world.site.ramdisk,
            pace=self.world.site.pace,
        )
        self.world.do(servers.act(name, act, ANN, dry_run=False))

    def fault(self):
        name = self.dice.choice(self.servers)
        machine, agent = self.world.machines[name], self.world.agents[name]
        port, kind = f"tap-{name}", self.dice.choice(KINDS)
        faults = {
            "silent": lambda: setattr(machine, "silent", True),
            "nonsense": lambda: setattr(machine, "nonsense", True),
            "misreports": lambda: setattr(machine, "misreports_boot", True),
            "busy": lambda: setattr(machine, "busy", 3),
            "deaf": lambda: machine.deaf_to.add(self.dice.choice(list(PowerAct))),
            "agent never calls": lambda: setattr(agent, "silent_from", "hello"),
            "agent dies": lambda: setattr(agent, "silent_from", kind),
            "agent fails": lambda: agent.fails.update({kind: ("AGENT_FAILED", "as told")}),
            "switch away": lambda: self.world.ports.away.add(port),
            "port stuck": lambda: self.world.ports.stuck.add(port),
        }
        what = self.dice.choice(list(faults))
        self.tell(name, what)
        faults[what]()

    def mend(self):
        name = self.dice.choice(self.servers)
        self.tell(name, "mended")
        self._mend(name)

    def _mend(self, name):
        machine, agent = self.world.machines[name], self.world.agents[name]
        machine.silent = machine.nonsense = machine.misreports_boot = False
        machine.busy, machine.deaf_to = 0, set()
        agent.silent_from, agent.fails = "", {}
        self.world.ports.away.discard(f"tap-{name}")
        self.world.ports.stuck.discard(f"tap-{name}")

    def hand(self):
        """Somebody at the machine, or mains."""
        name, act = self.dice.choice(self.servers), self.dice.choice([PowerAct.ON, PowerAct.OFF])
        self.tell(name, "by hand", act)
        machine = self.world.machines[name]
        before, takes = len(self.world.trespasses), machine.power_takes_s
        machine.power_takes_s = 0.0
        self.world.do(self._pressed(machine, act))
        machine.power_takes_s = takes
        if len(self.world.trespasses) > before or act is PowerAct.ON:
            self.by_hand.add(name)
        del self.world.trespasses[before:]

    async def _pressed(self, machine, act):
        machine.press(act)
        machine.settled()

    def crash(self):
        self.tell("crash")
        self.world.crash()

    def alarm(self):
        name = self.dice.choice(self.servers)
        running = self.world.open_now(name)
        if running is not None:
            self.tell(name, "alarm")
            self.world.alarms.ring(running.id, "alarm:token")

    def begin_step(self, operation, step, **more):
        """Now and then something happens to a server right when a step on it has begun."""
        effect = self.begin_of_step(operation, step, **more)
        if self.racing and self.dice.random() < RACES:
            name = self.world.operation(operation).server
            what, act = self.dice.choice(self.races)
            self.tell("at", step, what, name)
            with suppress(RackwrightError):
                act(name)
        return effect

    def _cancel(self, name):
        running, now = self.world.open_now(name), self.world.clock.wall()
        if running is not None and running.kind != "quarantine":  # the desk refuses that
            self.world.database.operations.cancel(running.id, "ann", follow, now=now)

    def _delete(self, name):
        owner, release = self.world.owner(name), new_operation(RELEASE, "lab")
        if owner is None:
            return
        self.world.database.allocations.end_and_open(
            owner.key,
            "deleted",
            release,
            tombstone=self.dice.random() < 0.2,
            now=self.world.clock.wall(),
        )

    def _open(self, name, steps):
        new = new_operation(steps, "ann")
        self.world.database.operations.open(name, new, now=self.world.clock.wall())

    def _at_once(self, name, act):
        machine = self.world.machines[name]
        machine.power_takes_s, takes = 0.0, machine.power_takes_s
        machine.press(act)
        machine.settled()
        machine.power_takes_s = takes

    def rounds(self):
        """Power loop and housekeeping."""
        self.tell("rounds")

        async def stray(server):
            new = new_operation(QUARANTINE, "power loop")
            self.world.database.operations.open(server.name, new, now=self.world.clock.wall())

        loop = PowerLoop(
            servers=self.world.records.servers,
            operations=self.world.records.operations,
            conversations=self.world.doors.conversations,
            clock=self.world.clock,
            every=15.0,
            every_moving=5.0,
            on_stray=stray,
        )
        self.world.live(loop.round())
        self.world.live(self.world.housekeeping.round())

    # --- what must hold
    def open_controller(self, address, *given, **more):
        """One whose buttons are watched: what counts is who has the server when it is pressed."""
        controller = self.opens(address, *given, **more)
        press = controller.press

        async def watched(act):
            name = next(
                n for n in self.servers if self.world.server(n).controller.host == address.host
            )
            from_disk = self.world.machines[name].boot.device is not BootDevice.NETWORK
            if act is PowerAct.ON and from_disk and self.world.owner(name) is None:
                self.pressed.append(f"{name} is told to start from its disk and is nobody's")
            await press(act)

        controller.press = watched
        return controller

    def look(self, when):
        world = self.world
        found = [each for each in world.trespasses if not each.endswith(LATE)]
        found = [each for each in found if not self.by_hand & set(re.findall(r"s\d", each))]
        assert found == [], when
        world.trespasses.clear()
        assert self.pressed == [], (when, self.pressed)
        self.look_at_turns()
        for name in self.servers:
            server, owner = world.server(name), world.owner(name)
            machine, leads = world.machines[name], world.placement(name)
            where = (when, name, server.state, machine.power, leads)
            if server.state is State.ENROLLED and server.found_on:
                continue  # somebody's that nobody has given us
            if server.state is State.AVAILABLE:
                assert not server.dirty, where
                assert owner is None, where
                assert not self.has_data(name), where
                assert leads is not Placement.TENANT, where
            if owner is None and not server.dirty and name not in self.foreign:
                assert not self.has_data(name), where
            started = machine.booted_from[-1:] or [None]
            on = machine.power is Power.ON and name not in self.by_hand
            stays = leads is CUT_OFF or f"tap-{name}" in world.ports.stuck | world.ports.away
            if on and owner is None and world.open_now(name) is None and not stays:
                assert started == [BootDevice.NETWORK], where
            if on and owner is not None and owner.phase is Phase.ACTIVE:
                self.look_at_its_system(name, owner, where)
            if machine.power is Power.OFF:
                self.by_hand.discard(name)

    def look_at_its_system(self, name, owner, where):
        """No half written disk is started, and no agent of ours runs in a tenant's network."""
        running = self.world.open_now(name)
        (started,) = self.world.machines[name].booted_from[-1:] or [None]
        reinstalls = running is not None and running.kind is Intent.REINSTALL
        if started is BootDevice.DISK and owner.needs_reinstall and not reinstalls:
            raise AssertionError(("half written", *where))
        if started is BootDevice.NETWORK and self.world.placement(name) is Placement.TENANT:
            assert self.world.agents[name].done[-1:] == ["rescue"], where

    def look_at_turns(self):
        """Nothing is wiped before its turn, and no faster than the pool's pace."""
        query = "SELECT * FROM turn ORDER BY begun_at"
        with self.world.database.engine.connect() as connection:
            turns = connection.exec_driver_sql(query).mappings().all()
        for each in turns:
            begun = {effect.step for effect in self.world.effects.effects(each["operation"])}
            assert each["begun_at"] is not None or "on-to-network" not in begun, each
            if each["held"] and each["begun_at"] and not each["let_go_by"]:
                assert each["begun_at"] - each["asked_at"] >= self.pace.protected_hold_s, each
        counted = [e for e in turns if e["counted"] and not e["let_go_by"]]
        by_themselves = [each["begun_at"] for each in counted if each["begun_at"]]
        most = self.pace.most(len(self.servers))
        for earlier, later in zip(by_themselves, by_themselves[most:], strict=False):
            assert later - earlier >= HOUR_S, by_themselves

    def look_at_rest(self):
        """Whoever has no operation and no owner is off, cut off, and known for what it is."""
        for name in self.servers:
            server, owner = self.world.server(name), self.world.owner(name)
            where = (name, server.state, server.reason, self.world.placement(name))
            assert self.world.open_now(name) is None, where
            if server.state is State.ENROLLED and server.found_on:
                continue
            assert server.state in AT_REST, where
            if owner is None:
                assert self.world.placement(name) in {Placement.QUARANTINE, Placement.SHUT}, where
                if server.dirty:
                    assert self.world.machines[name].power is Power.OFF, where

    def has_data(self, name):
        """Something of a tenant was written since the last wipe that was read back."""
        done = self.world.agents[name].done
        last = {kind: n for n, kind in enumerate(done)}
        return last.get("write_image", -1) > last.get("verify", -1)
