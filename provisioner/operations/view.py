"""From what is remembered to what `status` may look at. Pure."""

from collections.abc import Sequence

from provisioner.servers.allocation import Allocation, InstanceView, Phase, Remembered
from provisioner.servers.model import Power, PowerReading
from provisioner.units import MonotonicSeconds

OFF_READINGS = 3
OFF_SPAN_S = 30.0
"""A controller that flickers, or a reset that passes through off, is no power-off: CloudStack
answers one with a stop, and a wrong one costs the tenant its system."""


def view_of(
    known: Remembered, *, held: bool, now: MonotonicSeconds, too_old_s: float
) -> InstanceView:
    """What is known of an instance at this moment.

    Args:
        known: As the store remembers it.
        held: The service is held (invariant 16).
        now: For the age of readings.
        too_old_s: A reading that is older says nothing.
    """
    allocation = known.allocation
    after = [r for r in known.readings if r.at > (allocation.commanded_at or 0.0)]
    newest = after[-1] if after else None
    fresh = newest is not None and now - newest.at <= too_old_s
    return InstanceView(
        phase=allocation.phase,
        known_to_caller=allocation.known_to_caller,
        wanted=allocation.wanted,
        on_confirmed=fresh and newest is not None and newest.power is Power.ON,
        off_confirmed=_off(allocation, after),
        fresh=fresh,
        commanding=known.commanding,
        rescue=known.rescue,
        needs_reinstall=allocation.needs_reinstall and allocation.phase is not Phase.ENDED,
        quarantined=known.quarantined,
        held=held,
        failed=known.failed and allocation.phase is Phase.ENDED,
        size=allocation.size,
    )


def _off(allocation: Allocation, after: Sequence[PowerReading]) -> bool:
    if allocation.phase is Phase.ENDED:
        return allocation.off_confirmed
    last: list[PowerReading] = []
    for reading in reversed(after):
        if reading.power is not Power.OFF:
            break
        last.append(reading)
    return len(last) >= OFF_READINGS and last[0].at - last[-1].at >= OFF_SPAN_S
