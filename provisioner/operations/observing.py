"""How instances are, as far as it is remembered: no controller is asked."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from provisioner.about import learned
from provisioner.config import Times
from provisioner.errors import ErrorCode, OperatorError
from provisioner.operations.doors import Records
from provisioner.operations.view import view_of
from provisioner.ports.clock import Clock
from provisioner.servers.allocation import (
    Allocation,
    InstanceKey,
    InstanceView,
    Phase,
    Remembered,
)
from provisioner.store.waiting import stored
from provisioner.units import HostLabel, MonotonicSeconds, SiteName, WallSeconds

READINGS_OF = 3
"""Times the age at which a reading says nothing: enough for three that confirm an off."""
FORGOTTEN_S = 86400.0
"""An installation that failed so long ago and that its caller never had is none of its any more:
its jobs end within the hour, and an instance that never came up is not looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observer:
    """Answers for one instance, and for all of a host."""

    records: Records
    clock: Clock
    times: Times
    held: str

    async def instance(self, key: InstanceKey) -> InstanceView:
        """One of them; who is told that it runs has it from then on."""
        known = await stored(self.records.observations.of_instance, key, self._since())
        if known is None:
            return InstanceView(phase=None, held=bool(self.held))
        learned(server=known.allocation.server)
        return await self._seen(known)

    async def host(self, site: SiteName, host: HostLabel) -> Mapping[str, InstanceView]:
        """Every instance that the caller may see there, by its name.

        Raises:
            OperatorError: SERVICE_HELD; CANNOT_TELL: one may be missing, and whoever is
                missing would be taken for stopped.
        """
        if self.held:
            raise OperatorError(ErrorCode.SERVICE_HELD, f"the service is held: {self.held}")
        known = await stored(self.records.observations.of_site, site, self._since())
        now = self.clock.wall()
        counted = [each for each in known if not _is_forgotten(each.allocation, now)]
        homeless = sum(not each.allocation.host for each in counted)
        if homeless:
            raise OperatorError(
                ErrorCode.CANNOT_TELL,
                f"{homeless} instances of {site} have not said their host yet: ask one by one",
            )
        here = [each for each in counted if each.allocation.host == host]
        return {each.allocation.name: await self._seen(each) for each in here}

    async def _seen(self, known: Remembered) -> InstanceView:
        now, too_old_s = self.clock.monotonic(), self.times.reading_too_old_s
        view = view_of(known, held=bool(self.held), now=now, too_old_s=too_old_s)
        if view.says_on() and not known.allocation.known_to_caller:
            # from here on a stop is a stop, and none that came before it counts
            mark = partial(
                self.records.allocations.mark,
                known.allocation.id,
                known_to_caller=True,
                stop_grace_until=None,
            )
            await stored(mark)
        return view

    def _since(self) -> MonotonicSeconds:
        age_s = READINGS_OF * self.times.reading_too_old_s
        return MonotonicSeconds(self.clock.monotonic() - age_s)


def _is_forgotten(allocation: Allocation, now: WallSeconds) -> bool:
    ended = allocation.ended_at
    return (
        allocation.phase is Phase.ENDED
        and not allocation.known_to_caller
        and ended is not None
        and now - ended > FORGOTTEN_S
    )
