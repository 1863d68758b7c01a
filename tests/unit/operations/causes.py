"""What may go wrong outside, as acts on a world; each names the step it waits for."""

from dataclasses import replace

from provisioner.hardware.inventory import Transport
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import Power, RootDiskRule
from provisioner.testing.store import replace_disks

OTHER = "ffffffff-0000-0000-0000-000000000001"


def at(step, act):
    """The act, once the step has begun."""
    return lambda world: world.when(step, lambda: act(world))


def machine(**fields):
    """A controller or machine that behaves so from now on."""

    def act(world):
        for name, value in fields.items():
            setattr(world.machines["s1"], name, value)

    return act


silent = machine(silent=True)
nonsense = machine(nonsense=True)
wrong_password = machine(password="changed")
misreports = machine(misreports_boot=True)


def other_machine(world):
    one = world.machines["s1"]
    one.identity = replace(one.identity, system_uuid=OTHER)


def deaf(*acts):
    return machine(deaf_to={PowerAct(act) for act in acts})


def never_off(world):
    """On, and no button changes that."""
    machine(power=Power.ON, _pending=None)(world)
    deaf("off", "soft-off")(world)


def trips(world):
    """The machine is off by itself."""
    world.machines["s1"]._move(Power.OFF)


def stuck_port(world):
    world.ports.stuck.add("tap-s1")


def switch_away(world):
    world.ports.away.add("tap-s1")


def agent(**fields):
    def act(world):
        for name, value in fields.items():
            setattr(world.agents["s1"], name, value)

    return act


def agent_fails(kind, code):
    return agent(fails={kind: (code, "as told")})


def agent_lies(kind, change):
    return agent(bends={kind: change})


# --- facts --------------------------------------------------------------------------------------
def facts(change):
    """The agent finds other hardware than the baseline."""

    def act(world):
        world.agents["s1"].facts = change(world.server().baseline)

    return act


def without_disk(found):
    return replace(found, disks=())


def with_disk(transport=Transport.NVME, **fields):
    def change(found):
        more = {"name": "nvme1n1", "serial": "NEW", "transport": transport, **fields}
        return replace(found, disks=(*found.disks, replace(found.disks[0], **more)))

    return change


def smaller_disk(found):
    return replace_disks(found, bytes=found.disks[0].bytes - 512)


def swapped_disk(found):
    return replace_disks(found, serial="ANOTHER")


def other_uuid(found):
    return replace(found, system=replace(found.system, uuid=OTHER))


def other_serial(found):
    return replace(found, system=replace(found.system, serial="S2"))


def without_card(found):
    return replace(found, nics=())


def other_firmware(found):
    return replace(found, firmware=replace(found.firmware, mode="bios"))


# --- records --------------------------------------------------------------------------------------
def root_rule(**fields):
    def act(world):
        world.database.servers.change("s1", root_disk=RootDiskRule(**fields))

    return act


def baseline(change):
    def act(world):
        world.database.servers.change("s1", baseline=change(world.server().baseline))

    return act


def no_image_files(world):
    catalogue = world.database.catalogue
    catalogue.put_image(replace(catalogue.image("tiny"), folder=world.folder / "gone"))


def no_ramdisk(world):
    world.ramdisk = None


def no_seed(world):
    world.database.seeds.drop_seed(world.open_now().id)


def offers_break(world):
    async def fail(*_):
        raise OSError(28, "No space left on device")

    world.offers.withdraw = fail
