"""`health-check`: power, network, and how old what is known is. No controller is asked."""

from collections.abc import Iterator

from cloudstack_ext.actions import words
from cloudstack_ext.actions.asked import Asked, Row
from provisioner.ports.tenant_desk import Port, Story
from provisioner.servers.allocation import Phase
from provisioner.servers.model import Placement, Power, PowerReading
from provisioner.units import MonotonicSeconds

PORTS = {
    Placement.TENANT: ("ok", "connected to the instance's networks"),
    Placement.PROVISIONING: ("ok", "connected to the installation's network"),
    Placement.QUARANTINE: ("cut off", "connected to nothing, as while it is stopped"),
    Placement.SHUT: ("cut off", "shut"),
    Placement.UNKNOWN: ("unknown", "set by hand: nobody here can see where it leads"),
}


async def health_check(asked: Asked) -> tuple[Row, ...]:
    """As far as it is remembered."""
    return tuple(rows_of(await asked.desk.story(asked.key)))


def rows_of(story: Story) -> Iterator[Row]:
    """As the tenant reads it."""
    view = story.view
    lives = view.phase not in {None, Phase.ENDED}
    healthy = lives and not view.quarantined and not view.held
    yield _row("instance", "ok" if healthy else "look", words.situation(view))
    if story.reading is None:
        return
    yield _power(story)
    yield _remote_control(story.reading, story.now, fresh=view.fresh)
    yield _network(story.port)


def _row(check: str, result: str, meaning: str) -> Row:
    return {"check": check, "result": result, "meaning": meaning}


def _power(story: Story) -> Row:
    view = story.view
    if view.commanding:
        return _row("power", "unknown", "a command goes on: ask for progress")
    if view.on_confirmed:
        if view.phase is Phase.ACTIVE and view.wanted is Power.OFF:
            return _row("power", "look", "on, although it was stopped: an operator must look")
        return _row("power", "ok", "on")
    if view.off_confirmed:
        if view.phase is Phase.ACTIVE and view.wanted is Power.ON:
            return _row("power", "look", "off, although it was started: start it again")
        return _row("power", "ok", "off")
    return _row("power", "unknown", "not confirmed")


def _remote_control(reading: PowerReading, now: MonotonicSeconds, *, fresh: bool) -> Row:
    """Whether the machine answers when its power is asked for, and when it did so last."""
    age = f"last asked {max(0.0, now - reading.at):.0f} s ago"
    if reading.power is Power.UNKNOWN:
        return _row("remote control", "silent", f"it gives no answer; {age}")
    if not fresh:
        return _row("remote control", "unknown", f"not read since the last command; {age}")
    return _row("remote control", "ok", f"it answers; {age}")


def _network(port: Port | None) -> Row:
    if port is None:
        return _row("network", "unknown", "not connected by this instance yet")
    result, meaning = PORTS[port.placement]
    return _row("network", result, f"{meaning}, since {words.moment(port.at)}")
