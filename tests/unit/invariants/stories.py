"""Stories of Murphy's with more in them, and the walk through as many seeds as one likes."""

from provisioner.operations import desk, desk_servers
from provisioner.operations.inspect import VERIFY
from provisioner.servers.allocation import Protection
from provisioner.servers.model import Power, State
from provisioner.servers.turns import Pace
from provisioner.testing import store
from tests.unit.invariants.murphy import ANN, INSTANCES, SERVERS, Murphy


class Impatient(Murphy):
    """The same where wipes wait: few an hour, instances that are protected, words that let go."""

    pace = Pace(at_most_per_hour=1, protected_hold_s=600.0)

    def __init__(self, world, seed):
        super().__init__(world, seed)
        self.acts += [self.protect, self.protect, self.delete, self.delete, self.let_go]

    def protect(self):
        """As CloudStack's list says it of an instance."""
        owner, word = (
            self.world.owner(self.dice.choice(self.servers)),
            self.dice.choice([*Protection]),
        )
        if owner is not None:
            self.tell(owner.server, word)
            self.world.database.allocations.mark(owner.id, protection=word)

    def delete(self):
        name = self.dice.choice(self.servers)
        self.tell(name, "deleted")
        self._delete(name)

    def let_go(self):
        for each in self.world.database.turns.waiting():
            self.tell(each.server, "let go")
            self.world.database.turns.let_go(each.operation, "ann")


class Workshop(Murphy):
    """A server that ran before we came, whoever gets it; disks that are replaced."""

    servers = (*SERVERS, "s3")

    def __init__(self, world, seed):
        self.found_running(world)
        super().__init__(world, seed)
        self.baselines = {name: {} for name in self.servers}
        self.acts += [self.adopt, self.adopt, self.repair, self.repair, self.provide]

    def found_running(self, world):
        store.enrol(world.database, "s3")
        identity = store.ControllerIdentity(system_uuid="aaaaaaaa-0000-0000-0000-000000000003")
        world.put_in_rack("s3", identity=identity, power=Power.ON, started=True)
        facts = store.inventory(identity.system_uuid, world.server("s3").nics[0].mac)
        world.agents["s3"].facts = store.replace_disks(facts, has_partition_table=True)
        world.open(VERIFY, "s3")
        world.walk()
        self.foreign = {"s3"}
        self.adopted = False

    def ask(self, name, act):
        self.tell(name, act)
        world = self.world
        servers = desk_servers.Servers(
            records=world.records,
            audit=world.database.audit,
            clock=world.clock,
            rehearse=None,
            ramdisk=world.site.ramdisk,
            pace=world.site.pace,
            sites=frozenset({"lab"}),
        )
        world.do(servers.act(name, act, ANN, dry_run=False))

    def adopt(self):
        instance = self.dice.choice(INSTANCES).key.instance
        self.ask(self.dice.choice(self.servers), desk.Adopt(site="lab", instance=instance))
        self.adopted = True  # nobody else can be

    def repair(self):
        """Another disk in a machine that is off, and an operator who says so, or forgets."""
        name = self.dice.choice(self.servers)
        server, agent = self.world.server(name), self.world.agents[name]
        if server.state is not State.QUARANTINED or self.world.open_now(name) is not None:
            return
        facts, serial = agent.facts or server.baseline, f"N{len(self.told)}"
        if facts is not None and self.dice.random() < 0.7:
            agent.facts = store.replace_disks(facts, serial=serial)
        words = self.dice.choice([(), (serial,)])
        self.ask(name, desk.Rebaseline(reason="a repair", erase=words))

    def provide(self):
        name = self.dice.choice(self.servers)
        agent, server = self.world.agents[name], self.world.server(name)
        facts = agent.facts or server.baseline
        serials = tuple(disk.serial for disk in facts.disks) if facts else ()
        self.ask(name, desk.Provide(erase=serials))

    def look(self, when):
        super().look(when)
        for name in self.servers:
            self.look_for_lost_disks(name)
        if self.adopted and "verify" not in self.world.agents["s3"].done:
            assert self.world.server("s3").dirty, when

    def look_for_lost_disks(self, name):
        """What was in a baseline is in it still, or is named: in evidence, or to be named there."""
        server, records = self.world.server(name), self.world.database.evidence.records()
        here = {disk.serial for disk in server.baseline.disks} if server.baseline else set()
        named = " ".join(str(each["document"].get("rebaselines")) for each in records)
        pending = " ".join(gone for new in server.rebaselines for gone in new.gone)
        for serial in self.baselines[name].keys() - here:
            assert serial in named + pending, (name, serial)
        self.baselines[name] |= dict.fromkeys(here)

    def has_data(self, name):
        wiped = "verify" in self.world.agents[name].done
        return super().has_data(name) or (name in self.foreign and not wiped)


def walk(seeds, acts, kinds=(Murphy, Impatient, Workshop)):
    """Stories of these seeds on copies of one world; prints those that found something."""
    import logging
    import shutil
    import tempfile
    from pathlib import Path

    from provisioner.testing.clock import FakeClock
    from tests.unit.operations.world import World, image

    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        first = Path(folder) / "first"
        (first / "image").mkdir(parents=True)
        database = store.open_store(first, FakeClock())
        database.catalogue.put_image(image(first / "image"))
        database.catalogue.put_pool(store.pool("a"))
        for name in SERVERS:
            store.make_available(database, name)
        database.close()
        begun = World(first)
        begun.ask_for_deployment()
        begun.walk()
        begun.database.allocations.mark(begun.allocation().id, known_to_caller=True)
        begun.close()
        for seed in seeds:
            copy = Path(shutil.copytree(first, Path(folder) / str(seed)))
            world = World(copy)
            story = kinds[seed % len(kinds)](world, seed)
            try:
                story.live(acts)
                story.settle()
            except AssertionError as found:
                print(f"seed {seed}: {found}\n  {story.told}", flush=True)
            finally:
                world.close()
                shutil.rmtree(copy)


if __name__ == "__main__":
    import sys

    walk(range(int(sys.argv[1]), int(sys.argv[2])), int(sys.argv[3]))
