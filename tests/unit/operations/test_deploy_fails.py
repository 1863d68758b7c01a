"""Each step of a deployment fails in turn: how it ends, and where everything is then."""

import pytest

from provisioner.errors import ErrorCode
from provisioner.hardware.inventory import Transport
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, State
from provisioner.servers.operation import Status
from provisioner.servers.quarantine_reason import is_in_doubt, without_doubt
from tests.unit.operations import causes as c
from tests.unit.operations.world import REQUEST

FREE, SICK = State.AVAILABLE, State.QUARANTINED
NOWHERE, SHUT, TENANT = Placement.QUARANTINE, Placement.SHUT, Placement.TENANT
LATE = "on-to-network-for-tenant"
FABRIC = c.with_disk(Transport.FC, wwn="naa.1")


# cause, code, state at the end, what followed, where the port leads
BEFORE_POWER = {
    "rule matches no disk": (c.root_rule(serial="none"), "DISK_NOT_FOUND"),
    "rule matches two disks": (c.baseline(c.with_disk()), "DISK_AMBIGUOUS"),
    "image larger than the disk": (
        c.baseline(lambda f: c.replace_disks(f, bytes=2**20)),
        "DISK_TOO_SMALL",
    ),
    "image for other sectors": (
        c.baseline(lambda f: c.replace_disks(f, logical_sector_bytes=4096)),
        "DISK_SECTOR_SIZE",
    ),
    "fabric disk in the baseline": (c.baseline(FABRIC), "DISK_FABRIC"),
    "seed is gone": (c.no_seed, "SEED_INVALID"),
    "the image's files are gone": (c.no_image_files, "IMAGE_MISSING"),
    "no ramdisk was built": (c.no_ramdisk, "RAMDISK_MISSING"),
}


@pytest.mark.parametrize("name", BEFORE_POWER)
def test_what_is_wrong_before_power_leaves_the_server_free_and_untouched(world, name):
    cause, code = BEFORE_POWER[name]
    operation = world.ask_for_deployment()
    cause(world)
    world.walk()
    ended = world.operation(operation)
    assert (ended.code, ended.ending) == (ErrorCode(code), "input")
    assert (world.state(), world.server().dirty) == (State.AVAILABLE, False)
    assert world.kinds()[3:] == ["deploy"]
    assert world.machines["s1"].calls == []
    assert world.ports.moves == []
    assert world.allocation().phase is Phase.ENDED
    assert world.database.seeds.seed(operation) is None


MACHINE = {
    "off: controller silent": (c.silent, "CONTROLLER_BREAKER", SHUT),
    "off: password changed": (c.wrong_password, "CONTROLLER_PASSWORD", SHUT),
    "port-to-provisioning: stays": (c.stuck_port, "PORT_NOT_SET", NOWHERE),
    "network-first: another device is reported": (
        c.misreports,
        "BOOT_DEVICE_NOT_SET",
        NOWHERE,
    ),
    "on: never": (c.deaf("on"), "POWER_NOT_REACHED", NOWHERE),
    "on: controller falls silent": (c.at(LATE, c.silent), "CONTROLLER_BREAKER", SHUT),
    "agent-called-in: never": (c.agent(silent_from="hello"), "AGENT_SILENT", NOWHERE),
    "agent-called-in: too late": (c.agent(boots_s=150.0), "AGENT_SILENT", NOWHERE),
    "same-machine: disk missing": (c.facts(c.without_disk), "FACTS_DIFFER", NOWHERE),
    "same-machine: fabric disk": (c.facts(FABRIC), "DISK_FABRIC", NOWHERE),
    "same-machine: another nonce": (
        c.agent_lies("read_nonce", lambda _: {"nonce": "00"}),
        "OTHER_MACHINE",
        NOWHERE,
    ),
    "write-image: disk fails": (
        c.agent_fails("write_image", "DISK_FAILED"),
        "DISK_FAILED",
        NOWHERE,
    ),
    "write-image: disk gone": (
        c.agent_fails("write_image", "DISK_NOT_FOUND"),
        "DISK_NOT_FOUND",
        NOWHERE,
    ),
    "write-image: agent dies": (c.agent(silent_from="write_image"), "AGENT_LOST", NOWHERE),
    "write-seed: disk fails": (c.agent_fails("write_seed", "DISK_FAILED"), "DISK_FAILED", NOWHERE),
    "boot-order: refused": (
        c.agent_fails("set_boot_order", "AGENT_FAILED"),
        "AGENT_FAILED",
        NOWHERE,
    ),
    "withdraw: cannot be written": (c.offers_break, "CANNOT_TELL", NOWHERE),
    "agent-off: stays on": (c.at("agent-off", c.never_off), "POWER_NOT_REACHED", SHUT),
    "port-to-tenant: stays": (c.at("port-to-tenant", c.stuck_port), "PORT_NOT_SET", None),
    "disk-first: another device is reported": (
        c.at("disk-first", c.misreports),
        "BOOT_DEVICE_NOT_SET",
        NOWHERE,
    ),
    "first-on: never": (c.at("first-on", c.deaf("on")), "POWER_NOT_REACHED", NOWHERE),
    "alive: goes off": (
        c.at("alive", lambda world: (c.machine(power=Power.OFF)(world), mute(world))),
        "PROOF_OF_LIFE_MISSING",
        NOWHERE,
    ),
    "alive: nobody can tell": (
        c.at("alive", lambda world: (c.silent(world), mute(world))),
        "PROOF_OF_LIFE_MISSING",
        SHUT,
    ),
}


def mute(world):
    """What the console said is forgotten."""
    world.kept.read = lambda *_: b""


BEGIN_AT = {
    "on": "network-first",
    "agent-called-in": "network-first",
    "same-machine": LATE,
    **dict.fromkeys(
        ("write-image", "write-seed", "boot-order", "withdraw", "agent-off"), "agent-called-in"
    ),
    **dict.fromkeys(("port-to-tenant", "disk-first", "first-on", "alive"), "agent-off"),
}
"""The step before which nothing may go wrong, so it need not be walked each time."""


def begin(reach, name):
    """A world in which a deployment comes to the step that is named first."""
    return reach("deploy", BEGIN_AT.get(name.partition(":")[0], "input"))


@pytest.mark.parametrize("name", MACHINE)
def test_a_fault_of_the_machine_quarantines_it_and_ends_the_allocation(reach, name):
    cause, code, placement = MACHINE[name]
    world = begin(reach, name)
    operation = world.open_now().id
    cause(world)
    world.walk()
    ended, server = world.operation(operation), world.server()
    assert (ended.status, ended.code, ended.ending) == (
        Status.FAILED,
        ErrorCode(code),
        "machine",
    )
    assert (server.state, without_doubt(server.reason)) == (State.QUARANTINED, ended.brief)
    sure = placement is NOWHERE and not name.startswith("withdraw")
    assert is_in_doubt(server.reason) is not sure
    assert world.kinds()[3:] == ["deploy", "quarantine"]
    assert placement is None or world.placement() is placement
    off = world.power_of() is Power.OFF
    assert off == world.allocation().off_confirmed or placement is SHUT
    assert world.placement() is not TENANT
    begun = {each.step for each in world.database.effects.effects(operation)}
    assert server.dirty == bool(begun & {LATE})
    assert world.allocation().phase is Phase.ENDED
    assert world.allocation().end_reason == f"{code}: {ended.brief}"
    failure = world.database.allocations.failure(REQUEST.key)
    assert failure.code is ErrorCode(code)
    assert world.database.seeds.seed(operation) is None


OURS = {
    "network-first: no ramdisk": (c.no_ramdisk, "RAMDISK_MISSING", SICK),
    "write-image: blobs away": (
        c.agent_fails("write_image", "BLOBS_UNREACHABLE"),
        "BLOBS_UNREACHABLE",
        FREE,
    ),
    "write-image: too slow": (c.agent(takes_s=5 * 3600.0), "DEADLINE", None),
}


@pytest.mark.parametrize("name", OURS)
def test_a_fault_of_ours_ends_the_allocation_and_wipes_the_server(reach, name):
    cause, code, state = OURS[name]
    world = begin(reach, name)
    operation = world.open_now().id
    cause(world)
    if state is None:
        keep_alive(world)
        world.do(world.walk_one(operation))
        assert world.open_now().kind == "release"
    else:
        world.walk()
        assert world.state() is state
    ended = world.operation(operation)
    assert (ended.code, ended.ending) == (ErrorCode(code), "ours")
    assert world.kinds()[3:5] == ["deploy", "release"]
    assert world.allocation().phase is Phase.ENDED
    if state is FREE:
        assert not world.server().dirty
        assert world.placement() is NOWHERE
        assert world.power_of() is Power.OFF


def keep_alive(world):
    """The agent goes on saying that it lives."""

    async def beat():
        while True:
            for operation in list(world.bell.heard_at):
                world.bell.heard(operation)
            await world.clock.sleep(60.0)

    world.tasks.append(world.loop.create_task(beat()))


def test_the_consoles_last_lines_stand_in_the_detail(world):
    lines = [f"line {number}\r\n".encode() for number in range(30)]
    world.machines["s1"].console = (b"\x1b[1mPanic\x1b[0m\r\n", *lines)
    c.agent(silent_from="hello")(world)
    operation = world.ask_for_deployment()
    world.walk()
    detail = world.operation(operation).detail
    assert detail.split("\n")[-20:] == [f"line {number}" for number in range(10, 30)]
    assert "Panic" not in detail


def test_a_console_that_cannot_be_read_keeps_no_failure_from_its_end(world):
    def fail(*_):
        raise OSError(5, "Input/output error")

    operation = world.ask_for_deployment()
    world.when("write-image", lambda: setattr(world.kept, "read", fail))
    c.agent_fails("write_image", "DISK_FAILED")(world)
    world.walk()
    assert world.operation(operation).code is ErrorCode.DISK_FAILED
    assert world.state() is State.QUARANTINED


def test_a_controller_that_is_away_for_a_moment_is_waited_for(world):
    machine = world.machines["s1"]

    async def comes_back():
        await world.clock.sleep(8.0)
        machine.silent = False

    def falls_silent():
        machine.silent = True
        world.tasks.append(world.loop.create_task(comes_back()))

    world.when(LATE, falls_silent)
    world.ask_for_deployment()
    world.walk()
    assert world.state() is State.ACTIVE


def test_a_busy_controller_is_asked_again(world):
    world.machines["s1"].busy = 3
    world.ask_for_deployment()
    world.walk()
    assert world.state() is State.ACTIVE
