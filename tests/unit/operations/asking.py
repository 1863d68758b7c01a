"""Verbs as tests ask them, and the phases that an instance may be in."""

from dataclasses import replace

from provisioner.errors import RackwrightError
from provisioner.operations.quarantine import QUARANTINE
from provisioner.ports.controllers import PowerAct
from provisioner.servers.model import PowerReading
from tests.unit.operations import causes as c
from tests.unit.operations.world import REQUEST


def reserved(world):
    world.do(world.bare_metal.reserve(REQUEST))


def deploying(world):
    world.ask_for_deployment()


def half_deployed(world):
    """Create was answered at its deadline; the first boot is being watched."""
    operation = world.ask_for_deployment()
    world.do(world.walk_step(operation, "first-on"))
    world.database.allocations.mark(world.allocation().id, known_to_caller=True)


def failed(world):
    c.agent(silent_from="hello")(world)
    world.ask_for_deployment()
    world.walk()


def deleted(world):
    world.do(world.bare_metal.release(REQUEST.key, "lab", until=world.clock.wall()))


def unheard(world):
    world.database.allocations.mark(world.allocation().id, known_to_caller=False)


def quarantined(world):
    world.open(QUARANTINE)
    world.walk()


def still_running(world):
    """Quarantined, and nobody knows whether it is off."""
    c.silent(world)
    quarantined(world)


def released(world):
    deleted(world)
    world.walk()


PHASES = {
    "unknown": ("world", lambda _: None),
    "reserved": ("world", reserved),
    "deploying": ("world", deploying),
    "half-deployed": ("world", half_deployed),
    "failed": ("world", failed),
    "never created": ("world", deleted),
    "active": ("active", lambda _: None),
    "unheard of": ("active", unheard),
    "quarantined": ("active", quarantined),
    "still running": ("active", still_running),
    "deleted": ("active", deleted),
    "released": ("active", released),
}


def ask(world, verb, request=REQUEST, within=0.0):
    """The verb's coroutine; `within` is what is left until its deadline."""
    until, bare_metal = world.within(within), world.bare_metal
    match verb:
        case "prepare":
            return bare_metal.reserve(request)
        case "create":
            return bare_metal.deploy(request, until=until)
        case "start":
            return bare_metal.power(request, PowerAct.ON, until=until)
        case "stop":
            return bare_metal.power(request, PowerAct.OFF, until=until)
        case "reboot":
            return bare_metal.power(request, PowerAct.CYCLE, until=until)
        case "delete":
            return bare_metal.release(request.key, request.who, until=until)


def said(answer):
    return getattr(answer, "text", None) or answer.server


def outcome(world, verb, **more):
    """What a verb answers, or its error's code."""
    try:
        return said(world.do(ask(world, verb, **more)))
    except RackwrightError as error:
        return str(error.code)


def grow_old(world, seconds):
    """Time passes, and housekeeping looks."""
    world.pass_time(seconds)
    world.do(world.housekeeping.round())


def note(world, power, name="s1"):
    reading = PowerReading(power=power, at=world.clock.wall(), source="loop")
    world.database.servers.note_readings({name: reading})


def with_networks(count):
    network = REQUEST.networks[0]
    networks = tuple(replace(network, nic_uuid=str(n)) for n in range(count))
    return replace(REQUEST, networks=networks)
